"""Estimates the parameters of the noise from pairs of corrupt and correct text.

The default parameters of the package were written by

    python -m training.estimate_noise --pairs $RESPACE_DATA/benchmarks/dev/ACL \\
        --gap_pairs $RESPACE_DATA/benchmarks/dev/arXiv.pdftotext --confusions $RESPACE_DATA/noise/ocr_confusions.tsv \\
        --text $RESPACE_DATA/benchmarks/dev/Wiki/correct.txt --output respace/noise/defaults

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

from respace.benchmarks import read_lines, read_sequences
from respace.noise import held_out
from respace.noise.confusions import Confusion, read_confusions
from respace.noise.errors import ErrorCounts, count_errors
from respace.noise.estimate import estimate_ocr, fit_gap_model
from respace.noise.parameters import GAP_MODEL_FILE, OCR_FILE, write_json


def read_pairs(directory: Path, spelled: bool) -> list[tuple[str, str]]:
    """(corrupt line, correct line) of one directory; with correct characters too, if it has them and they are wanted.

    Raises:
        BadFile: its files do not belong together.
    """
    found = read_sequences(str(directory))
    correct = found.spelling if spelled and found.spelling is not None else found.correct
    return list(zip(found.corrupt, correct, strict=True))


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
    texts = [line for path in options.text for line in read_lines(str(path))]
    pairs: list[tuple[str, str]] = []
    for directory in options.pairs:
        pairs += read_pairs(directory, spelled=True)
    gap_pairs: list[tuple[str, str]] = []
    for directory in options.gap_pairs:
        found = read_pairs(directory, spelled=False)
        used = [pair for pair in found if options.all_lines or not held_out(pair[1])]
        print(f"{directory}: {len(used)} of {len(found)} lines for the gap model, the others are held out for scoring")
        gap_pairs += used
    texts += [correct for _, correct in pairs + gap_pairs]
    if pairs:
        counts = count_errors(pairs)
        print(summary(counts))
        more: list[Confusion] = [confusion for path in options.confusions for confusion in read_confusions(path)]
        parameters = estimate_ocr(counts, more, texts, most_frequent=options.most_frequent)
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
