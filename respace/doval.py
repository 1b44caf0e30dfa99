"""The benchmark of Doval and Gómez-Rodríguez (2018) in their own format, turned into the public layout.

    python -m respace.doval results.txt benchmarks/Doval

Their data are logs of their system, one sentence after the other: perhaps the sentence without spaces, then what was
predicted, right (``Acierto!``) or wrong (``Fallo!``, then the prediction, "vs" and the truth), perhaps a line more. So
a file holds the benchmark and the predictions of one system.

>>> one, = parse(["thecatsat", "Fallo! the catsat vs the cat sat", ""])
>>> one.given, one.correct, one.predicted
('thecatsat', 'the cat sat', 'the catsat')
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from respace.benchmarks import CORRECT, CORRUPT, PREDICTIONS, read_lines
from respace.storage.errors import BadFile
from respace.storage.files import join_url
from respace.storage.publish import publish_bytes

_RIGHT, _WRONG, _VERSUS = "Acierto!", "Fallo!", "vs"


@dataclass(frozen=True)
class Segmented:
    """One sentence: without its spaces, with them, and as their system segmented it."""

    correct: str
    predicted: str

    @property
    def given(self) -> str:
        return "".join(self.correct.split())


def parse(lines: Iterable[str], name: str = "results") -> list[Segmented]:
    """
    Raises:
        BadFile: a result that cannot be understood, with its line; or none at all.
    """
    found = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words[:1] == [_RIGHT]:
            text = " ".join(words[1:])
            found.append(Segmented(text, text))
        elif words[:1] == [_WRONG]:
            found.append(_wrong(words[1:], f"{name}, line {number}"))
    if not found:
        raise BadFile(
            f"{name}: no line begins with {_RIGHT} or {_WRONG}. Expected results of Doval and Gómez-Rodríguez"
        )
    return found


def _wrong(words: Sequence[str], where: str) -> Segmented:
    """The two texts around "vs", which is a word of the texts, too: around the right one both have the same letters."""
    for place, word in enumerate(words):
        predicted, correct = words[:place], words[place + 1 :]
        if word == _VERSUS and "".join(predicted) == "".join(correct):
            return Segmented(" ".join(correct), " ".join(predicted))
    raise BadFile(f"{where}: expected the prediction, {_VERSUS!r} and the truth, with the same letters")


def write(sentences: Sequence[Segmented], directory: str, system: str) -> None:
    """Writes the public layout, with the predictions of their system."""
    files = {
        CORRUPT: [one.given for one in sentences],
        CORRECT: [one.correct for one in sentences],
        f"{PREDICTIONS}/{system}.txt": [one.predicted for one in sentences],
    }
    for file, lines in files.items():
        publish_bytes(join_url(directory, file), "".join(line + "\n" for line in lines).encode())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m respace.doval", description=__doc__.split("\n")[0])
    parser.add_argument("results", help="a file of results")
    parser.add_argument("directory", help="the benchmark to write")
    parser.add_argument("--system", default="doval", metavar="NAME", help="name of the predictions (default: doval)")
    options = parser.parse_args(argv)
    try:
        sentences = parse(read_lines(options.results), options.results)
    except BadFile as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write(sentences, options.directory, options.system)
    right = sum(one.correct == one.predicted for one in sentences)
    print(f"{len(sentences):,} sentences in {options.directory}; {options.system} has {right:,} of them right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
