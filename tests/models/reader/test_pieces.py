from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from models.files import ModelError
from models.reader.pieces import PieceTable, cut_word, spelled

PIECES = [
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "set",
    "back",
    "setback",
    "##s",
    "s",
    "##he",
    "he",
    ",",
    "efficient",
    "##fi",
]


def codes(text: str) -> NDArray[np.int32]:
    return np.array([ord(one) for one in text], dtype=np.int32)


def pieces_of(text: str) -> list[str]:
    table = PieceTable.of(PIECES)
    letters, signs, starts = spelled(codes(text))
    out, places = np.zeros(40, dtype=np.int32), np.zeros(40, dtype=np.int32)
    end = cut_word(letters, signs, 0, starts[-1], table.keys, table.numbers, table.unknown, out, places, 0)
    return [PIECES[number] for number in out[:end]]


def test_the_longest_known_beginning_comes_first() -> None:
    assert pieces_of("setbacks") == ["setback", "##s"]
    assert pieces_of("setbackshe") == ["setback", "##s", "##he"]


def test_signs_are_pieces_of_their_own() -> None:
    assert pieces_of("he,he") == ["he", ",", "he"]


def test_case_accents_and_ligatures_do_not_matter() -> None:
    assert pieces_of("ÉFﬁCIENT") == ["efficient"]
    assert pieces_of("set\u00adback") == ["setback"]


def test_what_no_piece_knows() -> None:
    assert pieces_of("x") == ["[UNK]"]
    assert pieces_of("hexhe") == ["he", "[UNK]", "##he"]


def test_a_table_is_kept_as_weights() -> None:
    table = PieceTable.of(PIECES)
    again = PieceTable.from_weights(table.to_weights() | {"pieces": np.zeros((len(PIECES), 4), dtype=np.int8)})
    assert np.array_equal(again.keys, table.keys)
    assert (again.unknown, again.start, again.stop, again.gap) == (0, 1, 2, 3)


def test_a_table_without_an_empty_slot_is_refused() -> None:
    weights = PieceTable.of(PIECES).to_weights() | {"pieces": np.zeros((len(PIECES), 4), dtype=np.int8)}
    full = np.ones_like(weights["piece_keys"])
    with pytest.raises(ModelError, match="empty"):
        PieceTable.from_weights(weights | {"piece_keys": full})
    with pytest.raises(ModelError, match="numbers up to"):
        PieceTable.from_weights(weights | {"piece_numbers": weights["piece_numbers"] + 100})
    with pytest.raises(ModelError, match="no table"):
        PieceTable.from_weights({})
