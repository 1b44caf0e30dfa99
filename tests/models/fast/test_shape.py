"""The shape of the network, and what is said of one that does not fit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from models.fast.shape import FastConfig, dense_shapes, front_parts
from tests.models.tiny import TINY


def test_it_is_written_and_read() -> None:
    assert FastConfig.from_json(json.loads(json.dumps(TINY.to_json()))) == TINY


def test_a_shape_of_another_version_is_named() -> None:
    older = TINY.to_json() | {"normalised": False}
    del older["exits"]
    with pytest.raises(ValueError, match=r"differs in exits, normalised: it was written by another version of Respace"):
        FastConfig.from_json(older)


@pytest.mark.parametrize("exits", [(1, 0), (0, 0), (-1,), (3,)])
def test_exits_lie_before_layers(exits: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected rising numbers below 3"):
        replace(TINY, exits=exits)


def test_the_first_product_reads_every_ngram_that_touches_the_gap() -> None:
    parts = front_parts(TINY)
    assert [name for name, _ in parts] == ["ngram3"] * 4 + ["ngram4"] * 5 + ["straddle2"] + ["word"] * 3 + ["near"] * 5
    assert dense_shapes(TINY)["front/kernel"] == (sum(width for _, width in parts), TINY.hidden)
