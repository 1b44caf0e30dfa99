"""`python -m pipelines.evaluate_spelling`: the paper's Table 4, how much more a spelling corrector rights after repair.

    python -m pipelines.evaluate_spelling --input $RESPACE_DATA/benchmarks/dev --output runs/spelling \\
        --methods fast --correctors symspell,hunspell --sequences 500

Each corrector is run alone, after the repair of each method, and after perfect spaces. Benchmarks need `spelling.txt`;
the misspelled Wikipedia ones find theirs in `correct.txt` of the benchmark `Wiki` beside them. Prints and writes share
of spelling and mixed errors corrected / F-score of all errors, the published figures with Google Docs, and the errors
of each class (Table 2).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from respace.storage.errors import BadFile, BadOption, UserError

if TYPE_CHECKING:
    from respace.benchmarks import Sequences
    from respace.correctors import Corrector
    from respace.method import Method
    from respace.tables import Table

_CELL = "Share of spelling and mixed errors corrected / F-score of all errors"


@dataclass(frozen=True, kw_only=True)
class EvaluateSpellingOptions(JobOptions):
    """Evaluates spelling correction after repair. Runs in this process; a shard is a benchmark."""

    methods: str = option("fast", "methods that repair first (default: fast)", metavar="A,B")
    correctors: str = option("symspell,hunspell", "spelling correctors (default: both)", metavar="A,B")
    sequences: int | None = option(None, "only the first N sequences of each benchmark", metavar="N", least=1)


def job(options: EvaluateSpellingOptions) -> int:
    from respace import tables
    from respace.benchmarks import find_benchmarks
    from respace.correctors import load_corrector
    from respace.storage.files import join_url
    from respace.storage.publish import check_writable, publish_bytes

    try:
        urls = find_benchmarks(options.input)
        texts = {name: one for name in urls if (one := _with_spelling(name, urls, options.sequences)) is not None}
    except BadFile as error:
        raise UserError(f"--input {error}") from error
    if not texts:
        raise UserError(f"--input {options.input}: no benchmark there has a spelling.txt. See docs/reproduce.md")
    texts = dict(list(texts.items())[: options.limit])
    correctors = {name: load_corrector(name) for name in options.correctors.split(",")}
    methods = {name: _loaded(name) for name in options.methods.split(",") if name}
    if options.dry_run:
        print(f"would correct {', '.join(texts)} with {', '.join(correctors)}, alone and after {', '.join(methods)}")
        return 0
    check_writable(options.output)
    found = [_errors_table(texts), _table(texts, methods, correctors)]
    print("\n\n".join(map(tables.markdown, found)))
    contents = {
        "md": "\n\n".join(map(tables.markdown, found)) + "\n",
        "csv": tables.comma_separated(found),
        "tex": "\n\n".join(map(tables.latex, found)) + "\n",
        "html": tables.html_page("Spelling after repair", found),
    }
    for suffix, content in contents.items():
        publish_bytes(join_url(options.output, f"spelling.{suffix}"), content.encode())
    return 0


def _with_spelling(name: str, urls: Mapping[str, str], limit: int | None) -> Sequences | None:
    """The three texts of a benchmark, or None where nobody knows the correct spelling."""
    from respace.benchmarks import WIKI, WIKI_PLUS, WIKI_PLUS_NO_SPACES, Sequences, read_sequences

    texts = read_sequences(urls[name], limit)
    if texts.spelling is None and name in (WIKI_PLUS, WIKI_PLUS_NO_SPACES) and WIKI in urls:
        clean = read_sequences(urls[WIKI], limit).correct
        if [len(one.split()) for one in clean] == [len(one.split()) for one in texts.correct]:
            return Sequences(texts.corrupt, texts.correct, clean)
    return texts if texts.spelling is not None else None


def _loaded(name: str) -> Method:
    from models.methods import load_method

    try:
        return load_method(name)
    except (ValueError, ImportError, AttributeError, OSError) as error:
        raise BadOption(f"--methods {name}: {error}") from error


def _repaired(texts: Sequences, method: Method) -> list[str]:
    from respace import gaps
    from respace.benchmarks import make_benchmark

    decisions = method.decide(make_benchmark("", texts.corrupt, texts.correct).given)
    return [gaps.apply(line, decision.bits) for line, decision in zip(texts.corrupt, decisions, strict=True)]


def _table(
    all_texts: Mapping[str, Sequences], methods: Mapping[str, Method], correctors: Mapping[str, Corrector]
) -> Table:
    from respace.correctors import correct_text, without_inner_punctuation
    from respace.published import REMARK, published
    from respace.spelling import score_spelling
    from respace.tables import Table

    cells: dict[str, list[str]] = {}
    for texts in all_texts.values():
        inputs: dict[str, Sequence[str]] = {"": texts.corrupt}
        inputs |= {f"{one} then ": _repaired(texts, method) for one, method in methods.items()}
        inputs["perfect spaces then "] = texts.correct
        for corrector, correct in correctors.items():
            for first, lines in inputs.items():
                pairs = zip(texts.corrupt, lines, strict=True)
                done = [correct_text(without_inner_punctuation(*pair), correct) for pair in pairs]
                score = score_spelling(texts.corrupt, texts.correct, texts.spelling or texts.correct, done)
                cell = f"{100 * score.misspelled_corrected:.1f} / {100 * score.f_score:.1f}"
                cells.setdefault(f"{first}{corrector}", []).append(cell)
    rows = [[name, *found] for name, found in cells.items()]
    for system, there in published("spelling").items():
        known = [there.get(name) for name in all_texts]
        shown = [f"{one['corrected']:.1f} / {one['f_score']:.1f}" if one else "" for one in known]
        rows.append([f"{system} (published)", *shown])
    return Table("Spelling after repair", ["method", *all_texts], rows, f"{_CELL}. {REMARK}")


def _errors_table(all_texts: Mapping[str, Sequences]) -> Table:
    from respace.benchmark_statistics import count
    from respace.tables import Table

    rows = []
    for name, texts in all_texts.items():
        found = count(texts)
        numbers = (found.tokens, found.tokenization_errors, found.spelling_errors, found.mixed_errors)
        rows.append([name, *(f"{one:,}" for one in numbers)])
    head = ["benchmark", "tokens", "tokenization errors", "spelling errors", "mixed errors"]
    return Table("Erroneous tokens", head, rows)


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, EvaluateSpellingOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
