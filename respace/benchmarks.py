"""The paper's benchmarks: their names and order, their public layout, reading and making them. Nobody else reads them.

A benchmark is a directory of files with one sequence a line: as it is given (``corrupt.txt``), with correct spaces
(``correct.txt``), and, where characters are wrong too, with correct spelling (``spelling.txt``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from respace import gaps
from respace.gaps import Bits
from respace.judgement import Judgement, LineJudge
from respace.laid_texts import LaidTexts
from respace.method import GivenSequence, without_spaces
from respace.noise import Recipe, corrupt, given_texts, true_texts
from respace.noise.typos import Typo, codespell_typos, in_half, read_typos
from respace.storage.errors import BadFile
from respace.storage.files import file_size, filesystem, is_local, join_url, read_bytes

ACL, ARXIV_OCR, ARXIV_PDF = "ACL", "arXiv.OCR", "arXiv.pdftotext"
WIKI, WIKI_PLUS, WIKI_PLUS_NO_SPACES = "Wiki", "Wiki.typos", "Wiki.typos.no_spaces"
FROM_PAIRS = (ARXIV_OCR, ARXIV_PDF)
FROM_CLEAN_TEXT = (WIKI, WIKI_PLUS, WIKI_PLUS_NO_SPACES)
NAMES = (ACL, *FROM_PAIRS, *FROM_CLEAN_TEXT)  # in the paper's order
CORRUPT, CORRECT, SPELLING = "corrupt.txt", "correct.txt", "spelling.txt"
PREDICTIONS = "predictions"


@dataclass(frozen=True)
class Sequences:
    """The three texts of every sequence; ``spelling`` is None where the characters are correct."""

    corrupt: Sequence[str]
    correct: Sequence[str]
    spelling: Sequence[str] | None = None


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

    def with_all_spaces_lost(self) -> Benchmark:
        """The correct text without any space as input, as in the benchmark of Doval and Gómez-Rodríguez."""
        nothing = [np.zeros_like(bits) for bits in self.true]
        given = [
            GivenSequence(one.characters, bits, without_spaces(bits))
            for one, bits in zip(self.given, nothing, strict=True)
        ]
        return Benchmark(name=f"{self.name} correct, no spaces", given=given, true=self.true)

    def judged(self, judge: LineJudge) -> Benchmark:
        """The same sequences as a `Repairer` gives them to a method: guarded, and their lines judged."""
        return Benchmark(name=self.name, given=[judged(one, judge) for one in self.given], true=self.true)


def judged(one: GivenSequence, judge: LineJudge) -> GivenSequence:
    """A sequence of one line with the judgement of it."""
    text = gaps.join(gaps.from_code_points(one.characters), one.bits)
    judgement = Judgement.of(LaidTexts.of([text]), judge)
    return GivenSequence(one.characters, one.bits, judgement.lost, judgement.caution)


def find_benchmarks(inputs: Sequence[str]) -> dict[str, str]:
    """The benchmarks that directories are or hold: their URLs by name, in the paper's order.

    Raises:
        BadFile: a directory is missing or holds none, or two benchmarks have the same name.
    """
    found: dict[str, str] = {}
    for one in inputs:
        store, path = filesystem(one)
        path = path.rstrip("/")
        directories = [path] if store.exists(f"{path}/{CORRUPT}") else []
        if not directories and store.isdir(path):
            directories = [match.rpartition("/")[0] for match in sorted(store.glob(f"{path}/*/{CORRUPT}"))]
        if not directories:
            raise BadFile(
                f"{one}: no {CORRUPT} there, nor in a directory there. Expected benchmarks in the public layout, "
                "see docs/data.md"
            )
        for directory in directories:
            name = directory.rpartition("/")[2]
            url = directory if is_local(one) else store.unstrip_protocol(directory)
            if found.setdefault(name, url) != url:
                raise BadFile(f"{found[name]} and {url} have the same name. Take them one after the other")
    order = {name: place for place, name in enumerate(NAMES)}
    return dict(sorted(found.items(), key=lambda one: (order.get(one[0], len(order)), one[0])))


def find_predictions(directory: str) -> dict[str, str]:
    """What ``predictions/<method>.txt`` of a benchmark there is: URLs by method, sorted."""
    store, path = filesystem(join_url(directory, PREDICTIONS))
    found = {}
    for match in sorted(store.glob(f"{path}/*.txt")):
        name = match.rpartition("/")[2].removesuffix(".txt")
        found[name] = join_url(directory, PREDICTIONS, f"{name}.txt")
    return found


def read_lines(url: str, limit: int | None = None) -> list[str]:
    """Lines as the public files separate them: by newlines alone.

    Raises:
        BadFile: there is no such file, or it is not UTF-8.
    """
    try:
        lines = read_bytes(url).decode("utf-8").split("\n")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadFile(f"{url} is missing: expected a benchmark to hold {CORRUPT} and {CORRECT}") from error
    except UnicodeDecodeError as error:
        raise BadFile(f"{url} is not valid UTF-8: {error}") from error
    return (lines[:-1] if not lines[-1] else lines)[:limit]


def read_sequences(directory: str, limit: int | None = None) -> Sequences:
    """All texts of a benchmark, or of the first sequences.

    Raises:
        BadFile: a file is missing, or the files do not belong together.
    """
    corrupted, correct = (read_lines(join_url(directory, file), limit) for file in (CORRUPT, CORRECT))
    spelling = None
    if file_size(join_url(directory, SPELLING)) is not None:
        spelling = read_lines(join_url(directory, SPELLING), limit)
        if len(spelling) != len(correct):
            raise BadFile(f"{directory}: {len(spelling)} lines in {SPELLING}, {len(correct)} in {CORRECT}")
    try:
        pairs = from_pairs(corrupted, correct)
    except ValueError as error:
        raise BadFile(f"{directory}: {error}") from error
    return Sequences(pairs.corrupt, pairs.correct, spelling)


def read_benchmarks(directory: str | Path, limit: int | None = None) -> list[Benchmark]:
    """All benchmarks below a directory, in the paper's order, each with at most ``limit`` sequences."""
    found = []
    for name, url in find_benchmarks([str(directory)]).items():
        sequences = read_sequences(url, limit)
        found.append(make_benchmark(name, sequences.corrupt, sequences.correct))
    return found


def make_benchmark(name: str, corrupted: Sequence[str], correct: Sequence[str], first: int = 0) -> Benchmark:
    """Lines as sequences; ``first`` is the number of lines before them.

    Raises:
        BadFile: a pair that differs in more than spaces.
    """
    given, true = [], []
    for number, (bad, good) in enumerate(zip(corrupted, correct, strict=True), start=first + 1):
        characters, bits = gaps.split(bad)
        true_characters, true_bits = gaps.split(good)
        if characters != true_characters:
            raise BadFile(f"{name}, line {number}: corrupt and correct text differ in more than their spaces")
        given.append(GivenSequence(gaps.code_points(characters), bits, without_spaces(bits)))
        true.append(true_bits)
    return Benchmark(name=name, given=given, true=true)


def recipe(name: str, typos: str | None = None, confusions: str | None = None) -> Recipe:
    """The noise of a benchmark that is made from correct text."""
    if name == ARXIV_OCR:
        return Recipe.ocr(confusions=confusions)
    if name == WIKI:
        return Recipe.wiki()
    if name == WIKI_PLUS:
        return Recipe.wiki_plus(typos=typos)
    if name == WIKI_PLUS_NO_SPACES:
        return Recipe.no_spaces(typos=typos)
    raise ValueError(f"{name}: no noise is injected for it. Expected {', '.join([ARXIV_OCR, *FROM_CLEAN_TEXT])}")


def inject(texts: Sequence[str], noise: Recipe, seed: int) -> Sequences:
    """Sequences from correct text. A text is its own key: the same text gets the same errors in every collection."""
    noisy = corrupt(texts, texts, noise, seed)
    keeps_characters = noise.characters_clean == sum(noise.character_weights)
    return Sequences(given_texts(noisy), true_texts(noisy), None if keeps_characters else list(texts))


def from_pairs(extracted: Sequence[str], truth: Sequence[str]) -> Sequences:
    """Sequences from real errors.

    Raises:
        ValueError: a pair that differs in more than spaces.
    """
    if len(extracted) != len(truth):
        raise ValueError(f"{len(extracted)} lines of corrupt text, {len(truth)} of correct text: expected as many")
    for number, (one, other) in enumerate(zip(extracted, truth, strict=True), start=1):
        if gaps.split(one)[0] != gaps.split(other)[0]:
            raise ValueError(f"line {number}: corrupt and correct text differ in more than their spaces")
    return Sequences(extracted, truth)


def check_halves(typos: str | None) -> tuple[int, int]:
    """Checks that no misspelling of the benchmarks can have been trained on.

    Returns:
        How many misspellings there are for training, and for benchmarks.

    Raises:
        ValueError: some can.
    """
    collection: Sequence[Typo] = codespell_typos() if typos is None else read_typos(typos)
    train = {typo.misspelled.lower() for typo in in_half(collection, "train")}
    test = {typo.misspelled.lower() for typo in in_half(collection, "test")}
    if train & test:
        raise ValueError(
            f"{sorted(train & test)[:3]} are in both halves: benchmarks would be made of what was trained on"
        )
    return len(train), len(test)
