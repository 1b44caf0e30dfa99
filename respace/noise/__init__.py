"""Noise: correct text in, text with the errors of OCR, of PDF extraction and of people out.

>>> noisy = corrupt(["The cat sat on the mat."], ["row 1"], Recipe.no_spaces(misspelling_rate=0.0), seed=1)
>>> given_texts(noisy), true_texts(noisy)
(['Thecatsatonthemat.'], ['The cat sat on the mat.'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits, Codes
from respace.hashing import text_hash
from respace.noise import characters, draws, spaces
from respace.noise.recipe import CHARACTER_KINDS, NOISE_KINDS, Recipe
from respace.noise.rows import Rows

__all__ = ["NOISE_KINDS", "Corrupted", "Recipe", "corrupt", "given_texts", "held_out", "true_texts"]


@dataclass(frozen=True, kw_only=True)
class Corrupted:
    """Many rows, flat: row i is ``offsets[i]:offsets[i + 1]`` of the other arrays.

    Attributes:
        characters: code points, with the character noise in them.
        true_bits: the correct spacing of these characters.
        given_bits: the spacing as given to the model.
        offsets: where the rows begin, and where the last one ends.
        kinds: the space noise of each row, an index into `NOISE_KINDS`.
    """

    characters: Codes
    true_bits: Bits
    given_bits: Bits
    offsets: NDArray[np.int64]
    kinds: NDArray[np.uint8]


def corrupt(texts: Sequence[str], keys: Sequence[str], recipe: Recipe, seed: int) -> Corrupted:
    """Injects noise. What becomes of a row depends on its text, its key, the recipe and the seed, and nothing else.

    Args:
        texts: correct text, one or more words a row.
        keys: one key a row, such as its file and number; rows of one key get the same random numbers.
        recipe: which noise, and how much.
        seed: another seed is another noise.
    """
    rows = Rows.of(texts, keys, seed)
    kinds = draws.choose(rows.hashes, "space kind", recipe.space_weights)
    character_kinds = draws.choose(rows.hashes, "character kind", recipe.character_weights)
    mixed = character_kinds == CHARACTER_KINDS.index("mixed")
    ocr = mixed | (character_kinds == CHARACTER_KINDS.index("ocr"))
    human = mixed | (character_kinds == CHARACTER_KINDS.index("human"))
    spans = characters.find_spans(rows, ocr | (kinds == spaces.SPANS), recipe)
    text = characters.corrupt_characters(rows, ocr, human, spans, recipe)
    return Corrupted(
        characters=text.rows.characters,
        true_bits=text.rows.bits,
        given_bits=spaces.given_bits(text, kinds, recipe),
        offsets=text.rows.offsets,
        kinds=kinds,
    )


def true_texts(noisy: Corrupted) -> list[str]:
    """The rows with correct spacing (and the wrong characters)."""
    return _texts(noisy, noisy.true_bits)


def given_texts(noisy: Corrupted) -> list[str]:
    """The rows as the model is given them."""
    return _texts(noisy, noisy.given_bits)


def held_out(line: str) -> bool:
    """Is this correct line among the 20 % from which nothing is estimated or trained, and on which one may score?

    It goes by the characters alone, so that the correct line and the corrupt one are always on the same side.
    """
    return text_hash("held out " + gaps.split(line)[0]) % 5 == 0


def _texts(noisy: Corrupted, bits: Bits) -> list[str]:
    bounds = noisy.offsets.tolist()
    return [
        gaps.join(gaps.from_code_points(noisy.characters[start:end]), bits[start:end])
        for start, end in pairwise(bounds)
    ]
