"""Rows that running text lacks and documents are full of: tables, number columns, references, headings, names.

A model that has only seen prose merges the columns of a table and the words of a foreign title. These rows are made up
from the words of real text, so that it learns to leave such things alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from training.data.corpora import Row

_WORD = re.compile(r"^[^\W\d_]{2,}$")
Random = np.random.Generator
Words = Sequence[str]


def layout_rows(texts: Sequence[str], share: float, seed: int, number: int) -> list[Row]:
    """Made-up rows, so many as the share says, from the words of these texts; every second one stays as it is."""
    random = np.random.default_rng([seed, 2, number])
    words = [word for text in texts[:: max(1, len(texts) // 100)] for word in text.split() if _WORD.match(word)]
    if not words:
        return []
    count = round(len(texts) * share)
    return [
        Row(f"layout/{number}/{at}", _KINDS[int(random.integers(len(_KINDS)))](random, words), at % 2 == 1)
        for at in range(count)
    ]


def _pick(random: Random, words: Words, low: int, high: int) -> list[str]:
    return [words[int(random.integers(len(words)))] for _ in range(int(random.integers(low, high + 1)))]


def _number(random: Random) -> str:
    size = float(10 ** random.uniform(0, 5))
    return str(
        random.choice(
            [
                f"{size:.0f}",
                f"{size:.0f}",
                f"{size:.1f}",
                f"{random.random():.2f}",
                f"{random.random() * 100:.1f}%",
                f"{size:,.0f}",
                f"-{size:.1f}",
                f"({size:.0f})",
                f"{random.random():.3f}",
                f"{random.integers(1, 10)}",
                f"{random.integers(1700, 2030)}",
                "-",
                "–",
            ]
        )
    )


def _numbers(random: Random, words: Words) -> str:
    one_kind = random.random() < 0.5
    digits = int(random.integers(0, 4))
    size = float(10 ** random.uniform(0, 4))
    same = [f"{random.random() * size:.{digits}f}" for _ in range(int(random.integers(2, 15)))]
    return " ".join(same if one_kind else [_number(random) for _ in same])


def _table_row(random: Random, words: Words) -> str:
    cells = [_number(random) for _ in range(int(random.integers(1, 9)))]
    return " ".join(_pick(random, words, 1, 4) + cells)


def _table_text(random: Random, words: Words) -> str:
    cells = [
        " ".join(_pick(random, words, 1, 2)) if random.random() < 0.5 else _number(random)
        for _ in range(int(random.integers(3, 12)))
    ]
    return " ".join(cells)


def _heading(random: Random, words: Words) -> str:
    title = [word if random.random() < 0.4 else word.capitalize() for word in _pick(random, words, 1, 6)]
    if random.random() < 0.2:
        title = [word.upper() for word in title]
    section = ".".join(str(random.integers(1, 10)) for _ in range(int(random.integers(1, 4))))
    prefix = str(
        random.choice(["", "", section, f"{section}.", f"Chapter {random.integers(1, 20)}", "Table 1:", "Figure 2."])
    )
    return " ".join(([prefix] if prefix else []) + title)


def _initials(random: Random) -> str:
    letters = "ABCDEFGHIJKLMNOPRSTUVW"
    return " ".join(f"{letters[int(random.integers(len(letters)))]}." for _ in range(int(random.integers(1, 4))))


def _name(random: Random, words: Words) -> str:
    family = (
        _strange(random, words).capitalize() if random.random() < 0.5 else _pick(random, words, 1, 1)[0].capitalize()
    )
    given = _initials(random) if random.random() < 0.6 else _pick(random, words, 1, 1)[0].capitalize()
    return str(random.choice([f"{given} {family}", f"{family}, {given}"]))


def _names(random: Random, words: Words) -> str:
    return str(random.choice([", ", "; ", " and "])).join(
        _name(random, words) for _ in range(int(random.integers(1, 5)))
    )


def _reference(random: Random, words: Words) -> str:
    title = " ".join(_pick(random, words, 3, 10)).capitalize()
    journal = " ".join(word.capitalize() for word in _pick(random, words, 1, 4))
    volume, year, page = random.integers(1, 90), random.integers(1950, 2026), random.integers(1, 900)
    issue = f"{volume}({random.integers(1, 12)})"
    pages = f"{page}{random.choice(['-', '–', '--'])}{page + random.integers(1, 40)}"
    return str(
        random.choice(
            [
                f"[{random.integers(1, 90)}] {_names(random, words)}. {title}. {journal}, {issue}:{pages}, {year}.",
                f"{_names(random, words)} ({year}). {title}. {journal}, {volume}, {pages}.",
                f"{_names(random, words)}. {year}. {title}. In {journal}, pages {pages}.",
                f"{_names(random, words)}, {journal} {volume}, {page} ({year}).",
            ]
        )
    )


def _strange(random: Random, words: Words) -> str:
    """A word that nobody has seen: the beginning of one and the end of another."""
    first, second = _pick(random, words, 2, 2)
    return (first[: 1 + len(first) // 2] + second[len(second) // 2 :]).lower()


def _strange_words(random: Random, words: Words) -> str:
    title = [_strange(random, words) for _ in range(int(random.integers(1, 7)))]
    mixed = title + _pick(random, words, 0, 4)
    random.shuffle(mixed)
    return " ".join(word.capitalize() if random.random() < 0.3 else word for word in mixed)


_KINDS: list[Callable[[Random, Words], str]] = [
    _numbers,
    _table_row,
    _table_text,
    _heading,
    _names,
    _reference,
    _strange_words,
]
