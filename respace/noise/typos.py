"""Misspellings by people: collections of (correct word, misspelling, count), their files and their two halves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

from respace.hashing import text_hash

Half = Literal["train", "test", "all"]


class Typo(NamedTuple):
    correct: str
    misspelled: str
    frequency: int = 1


def half_of(misspelled: str) -> Literal["train", "test"]:
    """The half of a misspelling, whatever it is meant to be and however it is capitalised.

    So no misspelling of a test was ever trained on, while most words are misspelled in either half.
    """
    return "train" if text_hash(f"typo half {misspelled.lower()}") % 2 == 0 else "test"


def in_half(typos: Iterable[Typo], half: Half) -> Iterator[Typo]:
    return (typo for typo in typos if half == "all" or half_of(typo.misspelled) == half)


def read_typos(path: str | Path) -> list[Typo]:
    """Reads a file of tab-separated lines: correct, misspelled, and optionally a count and sources.

    Pairs with whitespace on either side are left out: they are space errors, which have a noise of their own.
    """
    typos = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip("\r"):
            continue
        fields = line.rstrip("\r").split("\t")
        if len(fields) < 2 or not (fields[2:3] == [] or fields[2].isdecimal()):
            raise ValueError(f"{path}, line {number}: {line!r}: expected correct, misspelled, count, separated by tabs")
        typo = Typo(fields[0], fields[1], int(fields[2]) if len(fields) > 2 else 1)
        if _is_single_words(typo):
            typos.append(typo)
    if not typos:
        raise ValueError(
            f"{path}: no pair of single words. Expected lines of correct, misspelled, count (tabs between)"
        )
    return typos


@lru_cache(maxsize=1)
def codespell_typos() -> tuple[Typo, ...]:
    """The dictionary of the codespell package: the default, which needs no file."""
    text = (resources.files("codespell_lib") / "data" / "dictionary.txt").read_text(encoding="utf-8")
    return tuple(parse_codespell(text))


def parse_codespell(text: str) -> Iterator[Typo]:
    """Lines such as ``wich->which, witch,``; after the last comma may stand a remark.

    >>> list(parse_codespell("wich->which, witch,\\nalot->a lot"))
    [Typo(correct='which', misspelled='wich', frequency=1), Typo(correct='witch', misspelled='wich', frequency=1)]
    """
    for line in text.splitlines():
        misspelled, arrow, corrections = line.partition("->")
        if not arrow:
            continue
        candidates = corrections.split(",")
        for correct in candidates[:-1] if len(candidates) > 1 else candidates:
            typo = Typo(correct.strip(), misspelled.strip())
            if _is_single_words(typo):
                yield typo


def _is_single_words(typo: Typo) -> bool:
    words = (typo.correct, typo.misspelled)
    return typo.correct != typo.misspelled and typo.frequency > 0 and all(len(word.split()) == 1 for word in words)


class TypoTable:
    """Misspellings of a word, drawn by their counts."""

    def __init__(self, typos: Iterable[Typo]) -> None:
        grouped: dict[str, dict[str, int]] = {}
        for correct, misspelled, count in typos:
            group = grouped.setdefault(correct, {})
            group[misspelled] = group.get(misspelled, 0) + count
        self._by_word = {word: (list(group), list(accumulate(group.values()))) for word, group in grouped.items()}

    def __len__(self) -> int:
        return len(self._by_word)

    def misspell(self, word: str, draw: float) -> str | None:
        """A misspelling of the word chosen by ``draw`` in [0, 1), or None if the table has none."""
        entry = self._by_word.get(word)
        if entry is not None:
            return self._pick(entry, draw)
        lowered = word.lower()
        entry = self._by_word.get(lowered)
        if entry is None or lowered == word:
            return None
        misspelled = self._pick(entry, draw)
        return misspelled.upper() if word.isupper() and len(word) > 1 else misspelled[0].upper() + misspelled[1:]

    @staticmethod
    def _pick(entry: tuple[list[str], list[int]], draw: float) -> str:
        choices, limits = entry
        if len(choices) == 1:
            return choices[0]
        wanted = draw * limits[-1]
        return next(choice for choice, limit in zip(choices, limits, strict=True) if wanted < limit)


@lru_cache(maxsize=8)
def typo_table(path: str | None, half: Half) -> TypoTable:
    """The table of a file, or of codespell if there is none; cached."""
    return TypoTable(in_half(codespell_typos() if path is None else read_typos(path), half))
