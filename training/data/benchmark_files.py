"""Benchmarks in the public layout: a directory for each, with ``corrupt.txt`` and ``correct.txt``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from respace import gaps
from respace.gaps import Bits
from respace.judgement import Judgement, LineJudge
from respace.repairer import GivenSequence, without_spaces

ORDER = ("ACL", "arXiv.OCR", "arXiv.pdftotext", "Wiki", "Wiki.typos", "Wiki.typos.no_spaces")


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Sequences as a method is given them, and their true gap bits."""

    name: str
    given: list[GivenSequence]
    true: list[Bits]

    def clean(self) -> Benchmark:
        """The correct text as input: what a method changes in it is harm."""
        given = [GivenSequence(one.characters, bits) for one, bits in zip(self.given, self.true, strict=True)]
        return Benchmark(name=self.name, given=given, true=self.true)

    def judged(self, judge: LineJudge) -> Benchmark:
        """The same sequences as a `Repairer` gives them to a method: guarded, and their lines judged."""
        return Benchmark(name=self.name, given=[judged(one, judge) for one in self.given], true=self.true)


def judged(one: GivenSequence, judge: LineJudge) -> GivenSequence:
    """A sequence of one line with the judgement of it."""
    text = gaps.join(gaps.from_code_points(one.characters), one.bits)
    judgement = Judgement.of(text, one.characters, one.bits, np.zeros_like(one.bits), judge)
    return GivenSequence(one.characters, one.bits, judgement.lost, judgement.caution)


def read_lines(path: Path, limit: int | None = None) -> list[str]:
    """Lines as the public files separate them: by newlines alone."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines[:limit]


def make_benchmark(name: str, corrupt: Sequence[str], correct: Sequence[str]) -> Benchmark:
    given, true = [], []
    for number, (bad, good) in enumerate(zip(corrupt, correct, strict=True), start=1):
        characters, bits = gaps.split(bad)
        true_characters, true_bits = gaps.split(good)
        if characters != true_characters:
            raise ValueError(f"{name}, line {number}: corrupt and correct text differ in more than their spaces")
        given.append(GivenSequence(gaps.code_points(characters), bits, without_spaces(bits)))
        true.append(true_bits)
    return Benchmark(name=name, given=given, true=true)


def read_benchmarks(directory: str | Path, limit: int | None = None) -> list[Benchmark]:
    """All benchmarks below a directory, in the paper's order, each with at most ``limit`` sequences."""
    found = [path.parent for path in Path(directory).glob("*/corrupt.txt")]
    if not found:
        raise FileNotFoundError(f"{directory} holds no */corrupt.txt: expected benchmarks in the public layout")
    found.sort(key=lambda path: (ORDER.index(path.name) if path.name in ORDER else len(ORDER), path.name))
    return [
        make_benchmark(path.name, read_lines(path / "corrupt.txt", limit), read_lines(path / "correct.txt", limit))
        for path in found
    ]
