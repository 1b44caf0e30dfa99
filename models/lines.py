"""The judgement of lines: which are no English prose and better left as they are, and which lost all their spaces.

A line is judged by how much its characters look like English prose (`models.prose`), and a little by what stands
around it. The less it does, the more evidence an edit needs: errors that are evident are repaired everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.files import load_model
from models.prose import LINE_BREAK, PROSE_MODEL, ProseModel, load_prose_model, odds_of_prose
from models.words.counts import WordCounts, load_word_counts, word_hashes
from models.words.cutting import LONGEST_RUN, cut_into_words
from respace.gaps import Bits, Codes
from respace.judgement import LineVerdicts
from respace.laid_texts import LaidTexts
from respace.loops import compiled

# Long lines are judged piece by piece.
PIECE = 256
# So many characters before and after a piece count for it too, with this weight; but what looks like a table among
# prose is a table: they do not lift it by more than this.
AROUND, AROUND_WEIGHT, MOST_LIFT = 200, 0.35, 1.5
# Below these odds of prose every edit needs more evidence: so much for each unit, and never more than this.
DOUBTFUL, EVIDENCE_PER_ODDS, MOST_EVIDENCE = -0.5, 1.0, 12.0

_HIGHEST = 0x3000
_IS_UPPER = np.array([chr(code).isupper() for code in range(_HIGHEST)] + [False])

# Signs between fields of tables; so many of them without a space behind are fields, not a slip.
_SEPARATORS = np.zeros(128, dtype=bool)
_SEPARATORS[[ord(sign) for sign in ",;|"]] = True
_MANY_FIELDS, _MOSTLY = 3, 0.75
# Where a whole text has so many, one in a line is enough.
_FIELDS_OF_A_TEXT = 8
# Such a share of digits is a table, a score or a list of moves.
_NUMBERS, _NUMBERS_LESS = 0.45, 2.0
# In formulas commas and numbers stand so too.
_FIRST_GREEK = 0x370

# A line lost its spaces if it is longer than a word can be, may be prose, and known words make up most of it.
LONGEST_WORD = 20
_LOST_ODDS = -1.0
_LOST_WORDS, _LOST_SHARE = 2, 0.4
# Of those that begin with a capital in the middle of a word, this share must be known to stand there.
_LOST_NAMES = 0.3
# At least one of them is common: of all words, this share. Each frequent one is as good as a unit of odds.
_COMMON, _FREQUENT = np.log(2e-5), np.log(1e-3)
# Whether it did is read from so many characters.
_READ = 2 * LONGEST_RUN
# Signs that plain text does not have, and code does.
_SIGNS_APART = 40
_CODE_SIGNS = np.zeros(128, dtype=bool)
_CODE_SIGNS[[ord(sign) for sign in "_\\@#<>{}|=~`"]] = True


@dataclass(frozen=True)
class _Pieces:
    """Lines, the long ones in pieces: characters ``starts:stops``, and the number of the line."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    lines: NDArray[np.int64]

    @classmethod
    def of(cls, line_breaks: Bits) -> _Pieces:
        most = np.count_nonzero(line_breaks) + len(line_breaks) // PIECE + 1
        starts, stops, lines = np.empty((3, most), dtype=np.int64)
        count = _cut_into_pieces(line_breaks, starts, stops, lines)
        return cls(starts[:count], stops[:count], lines[:count])

    def within(self, some: slice) -> _Pieces:
        """Those of one text, counted from its beginning."""
        start, line = self.starts[some][0], self.lines[some][0]
        return _Pieces(self.starts[some] - start, self.stops[some] - start, self.lines[some] - line)


@compiled
def _cut_into_pieces(line_breaks: Any, starts: Any, stops: Any, lines: Any) -> int:
    found, line, begin = 0, 0, 0
    for at in range(1, len(line_breaks) + 1):
        if at < len(line_breaks) and not line_breaks[at]:
            continue
        length = at - begin
        count = (length + PIECE - 1) // PIECE
        for number in range(count):
            starts[found] = begin + number * length // count
            stops[found] = begin + (number + 1) * length // count
            lines[found] = line
            found += 1
        line, begin = line + 1, at
    return found


class WordsAndLetters:
    """Judges lines by a model of prose and counts of words; those are only read if a line may have lost its spaces."""

    def __init__(self, prose: ProseModel, load_words: Callable[[], WordCounts]):
        self.prose, self._load_words = prose, load_words

    @cached_property
    def words(self) -> WordCounts:
        return self._load_words()

    def __call__(self, laid: LaidTexts) -> LineVerdicts:
        starts = laid.not_empty
        breaks = laid.line_breaks.copy()
        breaks[starts[1:-1]] = True
        pieces = _Pieces.of(breaks)
        odds, own = self._odds(laid, breaks, pieces)
        lost = np.zeros(len(laid.bits), dtype=bool)
        tables, unspaced = np.empty((2, len(starts) - 1), dtype=bool)
        _look_at_texts(laid.characters, laid.bits, breaks, starts, tables, unspaced)
        firsts = pieces.starts.searchsorted(starts)
        for text in np.flatnonzero(tables | unspaced).tolist():
            inside, own_pieces = slice(*starts[text : text + 2]), slice(*firsts[text : text + 2])
            characters, bits, line_breaks = laid.characters[inside], laid.bits[inside], laid.line_breaks[inside]
            its = pieces.within(own_pieces)
            if tables[text]:
                odds[own_pieces] -= _tables(characters, bits, its)
            if unspaced[text]:
                lost[inside] = self._lost(characters, bits, line_breaks, its, own[own_pieces])
        caution = np.clip((DOUBTFUL - odds) * EVIDENCE_PER_ODDS, 0, MOST_EVIDENCE).astype(np.float32)
        return LineVerdicts(np.repeat(caution, pieces.stops - pieces.starts), lost)

    def _odds(self, laid: LaidTexts, breaks: Bits, pieces: _Pieces) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log odds of prose for each piece, with and without what stands around it."""
        starts = laid.not_empty
        lines = np.empty(len(breaks) + np.count_nonzero(laid.line_breaks), dtype=np.uint32)
        _with_line_breaks(laid.characters, laid.line_breaks, lines)
        in_lines = starts + np.append(0, np.cumsum(laid.line_breaks))[starts]
        odds, own = np.empty((2, len(pieces.starts)))
        sums = self.prose.evidence(lines, in_lines)
        first_sums = in_lines + np.arange(len(starts))
        _odds_of_pieces(sums, first_sums, pieces.starts, pieces.stops, pieces.lines, self.prose.bias, odds, own)
        return odds, own

    def _lost(
        self, characters: Codes, bits: Bits, line_breaks: Bits, pieces: _Pieces, odds: NDArray[np.float64]
    ) -> Bits:
        """Gaps of lines that lost all their spaces."""
        out = np.zeros(len(bits), dtype=bool)
        starts, stops, lines = np.empty((3, len(bits) // LONGEST_WORD), dtype=np.int64)
        count, spaces = _lines_without_spaces(bits, line_breaks, starts, stops, lines)
        if not count:
            return out
        starts, stops = starts[:count], stops[:count]
        likely = np.maximum.reduceat(odds, np.flatnonzero(np.diff(pieces.lines, prepend=-1)))[lines[:count]]
        made_of_words = self._made_of_words(characters, starts, stops, likely, alone=not spaces)
        for start, stop in zip(starts[made_of_words].tolist(), stops[made_of_words].tolist(), strict=True):
            out[start:stop] = True
        return out

    def _made_of_words(
        self,
        characters: Codes,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        odds: NDArray[np.float64],
        alone: bool,
    ) -> Bits:
        """Whether each line is several known words of running text, and not a name of a program or a substance.

        Where other lines have their spaces, one without is more often a name: capitals prove nothing there.
        """
        count = len(starts)
        lengths = np.minimum(stops - starts, _READ)
        owner = np.repeat(np.arange(count), lengths)
        first = np.diff(owner, prepend=-1) > 0
        codes = characters[starts[owner] + np.arange(len(owner)) - np.flatnonzero(first)[owner]]
        found = cut_into_words(self.words, codes, first)

        def per_line(chosen: Bits, weights: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
            kept = None if weights is None else weights[chosen]
            return np.bincount(owner[found.starts[chosen]], kept, minlength=count).astype(np.float64)

        words = found.lengths > 1
        common, frequent = (words & (self.words.log_shares[found.words] > limit) for limit in (_COMMON, _FREQUENT))
        # Words that meet without a sign between them: a small letter begins the second, or a capital does, as in names
        # of programs. Names of people and places do too; but those are hardly written otherwise, or stood so before.
        meet = words & np.append(False, found.starts[1:] == (found.starts + found.lengths)[:-1])
        capital = _IS_UPPER[np.minimum(codes[found.starts], _HIGHEST)]
        pair = self.words.pair_keys(np.append(0, found.words[:-1]), found.words)
        seen = meet & (self.words.pair_table.find(pair) >= 0)
        small, humps = per_line(meet & ~capital), per_line(meet & capital)
        proved = small + per_line(capital & (seen | self._is_proper(found.words))) if alone else small
        signs = np.bincount(owner[_signs_of_code(codes)], minlength=count)
        return (
            (odds + per_line(meet & ~capital & frequent) >= _LOST_ODDS)
            & (per_line(words) >= _LOST_WORDS)
            & (per_line(words, found.lengths) >= _LOST_SHARE * lengths)
            & (per_line(common) >= 1)
            & (signs * _SIGNS_APART <= lengths)
            & ((proved >= (1 if alone else 2)) & (proved >= _LOST_NAMES * humps))
        )

    def _is_proper(self, words: NDArray[np.int64]) -> Bits:
        """Whether words are written with a capital more often than without."""
        small = self.words.word_table.find(word_hashes([self.words.words[word].lower() for word in words.tolist()]))
        return np.where(small >= 0, self.words.word_counts[small], 0) < self.words.word_counts[words]


@compiled
def _with_line_breaks(characters: Any, line_breaks: Any, out: Any) -> None:
    place = 0
    for at in range(len(characters)):
        if line_breaks[at]:
            out[place] = LINE_BREAK
            place += 1
        out[place] = characters[at]
        place += 1


@compiled
def _odds_of_pieces(
    sums: Any, first_sums: Any, starts: Any, stops: Any, lines: Any, bias: float, odds: Any, own: Any
) -> None:
    """With and without what stands around a piece in its text; in the sums, every line but the first has one more place
    before it: a break, or the beginning of another text."""
    text = 0
    for piece in range(len(starts)):
        start, stop = starts[piece] + lines[piece], stops[piece] + lines[piece]
        while first_sums[text + 1] <= start:
            text += 1
        evidence, length = sums[stop] - sums[start], stop - start
        first, last = max(start - AROUND, first_sums[text]), min(stop + AROUND, first_sums[text + 1] - 1)
        around = sums[last] - sums[first] - evidence
        own[piece] = odds_of_prose(bias, evidence, float(length))
        together = odds_of_prose(
            bias, evidence + AROUND_WEIGHT * around, length + AROUND_WEIGHT * (last - first - length)
        )
        odds[piece] = min(together, own[piece] + MOST_LIFT)


@compiled
def _lines_without_spaces(bits: Any, line_breaks: Any, starts: Any, stops: Any, lines: Any) -> tuple[int, int]:
    """Writes the lines without a space that are longer than a word; gives their number, and that of all spaces."""
    found, line, begin, spaces, spaces_before = 0, 0, 0, 0, 0
    for at in range(1, len(bits) + 1):
        if at < len(bits) and not line_breaks[at]:
            if bits[at]:
                spaces += 1
            continue
        if spaces == spaces_before and at - begin > LONGEST_WORD:
            starts[found], stops[found], lines[found] = begin, at, line
            found += 1
        line, begin, spaces_before = line + 1, at, spaces
    return found, spaces


@compiled
def _look_at_texts(characters: Any, bits: Any, breaks: Any, starts: Any, tables: Any, unspaced: Any) -> None:
    """Which texts may be tables, or have a line that is longer than a word and has no space: few."""
    for text in range(len(starts) - 1):
        start, stop = starts[text], starts[text + 1]
        tables[text] = not _no_table(characters[start:stop], bits[start:stop])
        unspaced[text] = False
        begin = start
        for at in range(start + 1, stop + 1):
            if at == stop or bits[at]:
                unspaced[text] |= at - begin > LONGEST_WORD
                begin = at


@compiled
def _no_table(characters: Any, bits: Any) -> bool:
    """Whether there are few digits, and hardly a separator without a space behind it: so it is in most texts."""
    digits, tight = 0, 0
    for at in range(len(characters)):
        low = min(characters[at], np.uint32(127))
        if ord("0") <= low <= ord("9"):
            digits += 1
        elif _SEPARATORS[low] and at + 1 < len(bits) and not bits[at + 1]:
            tight += 1
    return 4 * digits < len(characters) and tight < _MANY_FIELDS


def _tables(characters: Codes, bits: Bits, pieces: _Pieces) -> NDArray[np.float64]:
    """How much less a piece is prose because it is mostly numbers, or because its commas have no space behind them."""
    low = np.minimum(characters, 127)
    digits = (low >= ord("0")) & (low <= ord("9"))
    separators = _SEPARATORS[low]
    tight = separators[:-1] & ~bits[1:]
    # A comma between two digits is part of a number.
    separators[1:-1] &= ~(digits[:-2] & digits[2:])
    tight &= separators[:-1]

    def count(chosen: Bits) -> tuple[NDArray[np.int64], int]:
        sums = np.concatenate([[0], np.cumsum(chosen)])
        return sums[pieces.stops] - sums[pieces.starts], int(sums[-1])

    (without_space, all_without), (every, all_separators) = count(np.append(tight, False)), count(separators)
    formula = count((low == ord("=")) | (characters >= _FIRST_GREEK))[0] > 0
    numbers = count(digits)[0] >= _NUMBERS * (pieces.stops - pieces.starts)
    whole_text = all_without >= _FIELDS_OF_A_TEXT and all_without >= _MOSTLY * all_separators
    fields = (without_space >= (1 if whole_text else _MANY_FIELDS)) & (without_space >= _MOSTLY * every)
    less = np.where(fields, np.maximum(without_space, _MANY_FIELDS), 0.0) + np.where(numbers, _NUMBERS_LESS, 0.0)
    return np.where(formula, 0.0, less)


def _signs_of_code(codes: Codes) -> Bits:
    """Signs that plain text hardly has; an underscore before a number is an index."""
    signs = _CODE_SIGNS[np.minimum(codes, 127)] & (codes < 128)
    index = (codes[:-1] == ord("_")) & (codes[1:] >= ord("0")) & (codes[1:] <= ord("9"))
    signs[:-1] &= ~index
    signs[:-1] |= (codes[:-1] == ord("(")) & (codes[1:] == ord(")"))
    return signs


@lru_cache(maxsize=1)
def load_line_judge() -> WordsAndLetters:
    """The judge that ships with Respace; read once per process."""
    return WordsAndLetters(load_prose_model(), load_word_counts)


def judge_identity() -> str:
    """What the shipped judge decides by."""
    return f"{PROSE_MODEL}@{load_model(PROSE_MODEL).sha256[:16]}"
