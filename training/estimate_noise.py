"""Estimates the parameters of the noise from pairs of corrupt and correct text.

The default parameters of the package were written by

    python -m training.estimate_noise --pairs ../shared/benchmarks/dev/ACL \\
        --gap_pairs ../shared/benchmarks/dev/arXiv.pdftotext --confusions ../shared/noise/ocr_confusions.tsv \\
        --text ../shared/benchmarks/dev/Wiki/correct.txt --output respace/noise/defaults

A directory of pairs has ``corrupt.txt`` and ``correct.txt``, line by line the same characters, and may have
``spelling.txt`` with correct characters too. To inject what was estimated, name the output directory in
``Recipe(parameters=...)``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from respace import gaps
from respace.noise import held_out
from respace.noise.confusions import Confusion, read_confusions
from respace.noise.errors import ErrorCounts, count_errors
from respace.noise.estimate import fit_gap_model, ocr_parameters
from respace.noise.parameters import GAP_MODEL_FILE, OCR_FILE, write_json


def read_lines(path: Path) -> list[str]:
    """Lines end at line feeds only: other separators may stand inside a sequence."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def read_pairs(directory: Path, correct_name: str) -> list[tuple[str, str]]:
    """(corrupt line, correct line) of one directory.

    Raises:
        ValueError: the two files do not have the same number of lines, or not the same characters where they should.
    """
    corrupt, correct = read_lines(directory / "corrupt.txt"), read_lines(directory / correct_name)
    if len(corrupt) != len(correct):
        raise ValueError(
            f"{directory}: corrupt.txt has {len(corrupt)} lines, {correct_name} {len(correct)}: "
            "expected one correct line for each corrupt one"
        )
    if correct_name == "correct.txt":
        for number, (wrong, right) in enumerate(zip(corrupt, correct, strict=True), start=1):
            if gaps.split(wrong)[0] != gaps.split(right)[0]:
                raise ValueError(
                    f"{directory}, line {number}: corrupt.txt and correct.txt differ in more than spaces. "
                    "Put text with corrected characters into spelling.txt"
                )
    return list(zip(corrupt, correct, strict=True))


def summary(counts: ErrorCounts) -> str:
    """What was counted, for a person to read."""
    total = counts.total()
    lengths = Counter(span.tokens for span in counts.spans)
    forms = ", ".join(f"{form!r} {count}" for form, count in counts.hyphens.most_common())
    return "\n".join(
        [
            f"sequences {counts.sequences}, tokens {counts.tokens}, of which {counts.hyphenable_tokens} hyphenable",
            f"spurious hyphens {sum(counts.hyphens.values())} ({forms}), rate {counts.hyphenation_rate:.4f}",
            f"erroneous spans {len(counts.spans)}, start rate {counts.span_start_rate:.4f}",
            f"lengths of spans in tokens {dict(sorted(lengths.items()))}",
            f"space insertions {total.insertions}, space deletions {total.deletions}, "
            f"character replacements {total.replacements}",
        ]
    )


def estimate(options: argparse.Namespace) -> None:
    options.output.mkdir(parents=True, exist_ok=True)
    texts = [line for path in options.text for line in read_lines(path)]
    pairs: list[tuple[str, str]] = []
    for directory in options.pairs:
        read_pairs(directory, "correct.txt")
        has_spelling = (directory / "spelling.txt").is_file()
        pairs += read_pairs(directory, "spelling.txt" if has_spelling else "correct.txt")
    gap_pairs: list[tuple[str, str]] = []
    for directory in options.gap_pairs:
        found = read_pairs(directory, "correct.txt")
        used = [pair for pair in found if options.all_lines or not held_out(pair[1])]
        print(f"{directory}: {len(used)} of {len(found)} lines for the gap model, the others are held out for scoring")
        gap_pairs += used
    texts += [correct for _, correct in pairs + gap_pairs]
    if pairs:
        counts = count_errors(pairs)
        print(summary(counts))
        more: list[Confusion] = [confusion for path in options.confusions for confusion in read_confusions(path)]
        parameters = ocr_parameters(counts, more, texts, most_frequent=options.most_frequent)
        written = write_json(options.output, OCR_FILE, parameters.to_json())
        print(f"{written}: {len(parameters.confusions)} confusions, {written.stat().st_size / 1000:.0f} KB")
    if gap_pairs:
        model = fit_gap_model(gap_pairs)
        written = write_json(options.output, GAP_MODEL_FILE, model.to_json())
        contexts = sum(map(len, model.keys))
        print(f"{written}: {contexts} contexts, {written.stat().st_size / 1000:.0f} KB")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    description, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m training.estimate_noise",
        description=description,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pairs", type=Path, nargs="+", default=[], help="directories of pairs for the OCR model")
    parser.add_argument("--gap_pairs", type=Path, nargs="+", default=[], help="directories of pairs for the gap model")
    parser.add_argument("--confusions", type=Path, nargs="+", default=[], help="files of confusions to add")
    parser.add_argument(
        "--text", type=Path, nargs="+", default=[], help="more correct text, for frequencies of letters"
    )
    parser.add_argument("--most_frequent", type=int, default=4000, help="confusions to keep (default: 4000)")
    parser.add_argument("--all_lines", action="store_true", help="use the held-out 20 %% of the gap pairs too")
    parser.add_argument("--output", type=Path, required=True, help="directory to write to")
    options = parser.parse_args(arguments)
    if not options.pairs and not options.gap_pairs:
        parser.error("nothing to estimate from: give --pairs, --gap_pairs or both")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        estimate(options)
    except (OSError, ValueError) as error:
        print(f"estimate_noise: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
