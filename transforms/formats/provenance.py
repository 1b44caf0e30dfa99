"""Provenance: what was changed in a document, precisely enough to change it back.

>>> from respace.gaps import Edit
>>> kept = with_whitespace("a\\tb cd", [Edit(1, "deletion", 0.9), Edit(3, "insertion", 0.8)])
>>> [(edit.gap, edit.kind, edit.whitespace) for edit in kept]
[(1, 'deletion', '\\t'), (3, 'insertion', ' ')]
>>> revert_text("ab c d", kept)
'a\\tb cd'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Edit
from respace.storage.errors import BadFile

EDITS, INSERTIONS, DELETIONS, MODEL, ORIGINAL = (
    "respace_edits",
    "respace_insertions",
    "respace_deletions",
    "respace_model",
    "respace_original",
)
PLAIN_COLUMNS = (INSERTIONS, DELETIONS, MODEL)  # one value each, where edits are a list of structures
PROVENANCE_COLUMNS = (EDITS, *PLAIN_COLUMNS)
ADDED_COLUMNS = (*PROVENANCE_COLUMNS, ORIGINAL)
KINDS = ("insertion", "deletion")

_EDIT = pa.struct(
    [("gap", pa.int64()), ("kind", pa.string()), ("confidence", pa.float32()), ("whitespace", pa.string())]
)
# The text as it was; where a row has a list of texts, all of them.
ORIGINAL_TEXT = pa.large_string()
ORIGINALS = pa.list_(pa.field("element", ORIGINAL_TEXT))
_TYPES = {
    EDITS: pa.list_(pa.field("element", _EDIT)),  # the name that Parquet gives it
    INSERTIONS: pa.int64(),
    DELETIONS: pa.int64(),
    MODEL: pa.string(),
}


@dataclass(frozen=True, slots=True)
class KeptEdit:
    """An edit and the whitespace that it inserted or deleted."""

    gap: int
    kind: str
    confidence: float
    whitespace: str


def character_positions(text: str) -> NDArray[np.intp]:
    """Where the characters of a text stand."""
    return np.flatnonzero(~gaps.is_space(gaps.code_points(text)))


def with_whitespace(text: str, edits: Sequence[Edit]) -> list[KeptEdit]:
    """The edits of a text together with the whitespace they concern."""
    if not edits:
        return []
    positions = character_positions(text)
    kept = []
    for edit in edits:
        between = text[int(positions[edit.gap - 1]) + 1 : int(positions[edit.gap])]
        kept.append(KeptEdit(edit.gap, edit.kind, edit.confidence, between if edit.kind == "deletion" else " "))
    return kept


def replace_gaps(units: Sequence[str], positions: NDArray[np.intp], replacements: Iterable[tuple[int, str]]) -> str:
    """Puts other whitespace into some gaps.

    Args:
        units: the text, one item per code point; a text is such a sequence, and so are the escapes of a JSON string.
        positions: where the characters stand among them.
        replacements: gaps in ascending order, each with its new whitespace.
    """
    pieces: list[str] = []
    start = 0
    for gap, whitespace in replacements:
        pieces += ["".join(units[start : int(positions[gap - 1]) + 1]), whitespace]
        start = int(positions[gap])
    pieces.append("".join(units[start:]))
    return "".join(pieces)


def revert_text(repaired: str, edits: Sequence[KeptEdit]) -> str:
    """The text as it was before these edits.

    Raises:
        ValueError: the edits are not those of this text.
    """
    if not edits:
        return repaired
    positions = character_positions(repaired)
    check_revertible(repaired, positions, edits)
    back = [(edit.gap, "" if edit.kind == "insertion" else edit.whitespace) for edit in edits]
    return replace_gaps(repaired, positions, back)


def check_revertible(repaired: str, positions: NDArray[np.intp], edits: Sequence[KeptEdit]) -> None:
    for edit in edits:
        if not 0 < edit.gap < len(positions):
            raise ValueError(f"edit at gap {edit.gap}: the text has {len(positions)} characters. Was it changed since?")
        between = repaired[int(positions[edit.gap - 1]) + 1 : int(positions[edit.gap])]
        if between != (" " if edit.kind == "insertion" else ""):
            raise ValueError(f"{edit.kind} at gap {edit.gap}: found {between!r} there. Was the text changed since?")


def provenance_arrays(
    edits: Sequence[Sequence[KeptEdit]],
    originals: Sequence[Any],
    model: str,
    wanted: Sequence[str],
    original_type: pa.DataType = ORIGINAL_TEXT,
) -> dict[str, pa.Array]:
    """The columns that are added to documents, by name.

    Args:
        edits: of each document.
        originals: text, or texts, of each document before repair; only looked at if its column is wanted.
        model: identity of the model.
        wanted: names of columns, of `ADDED_COLUMNS`.
        original_type: `ORIGINAL_TEXT` or `ORIGINALS`.
    """
    flat = [edit for document in edits for edit in document]
    insertions = [sum(edit.kind == "insertion" for edit in document) for document in edits]
    lengths = np.array([len(document) for document in edits], dtype=np.int64)
    columns: dict[str, pa.Array] = {}
    if EDITS in wanted:
        parts = [
            pa.array([edit.gap for edit in flat], pa.int64()),
            pa.array([edit.kind for edit in flat], pa.string()),
            pa.array([edit.confidence for edit in flat], pa.float32()),
            pa.array([edit.whitespace for edit in flat], pa.string()),
        ]
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        values = pa.StructArray.from_arrays(parts, fields=list(_EDIT))
        columns[EDITS] = pa.ListArray.from_arrays(offsets, values, type=_TYPES[EDITS])
        columns[INSERTIONS] = pa.array(insertions, pa.int64())
        columns[DELETIONS] = pa.array((lengths - np.array(insertions, dtype=np.int64)), pa.int64())
        columns[MODEL] = pa.array([model] * len(edits), pa.string())
    if ORIGINAL in wanted:
        columns[ORIGINAL] = _original_array(originals, original_type)
    return columns


def _original_array(originals: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if kind == ORIGINAL_TEXT:
        return text_array(originals, kind)
    offsets = np.concatenate([[0], np.cumsum([len(texts) for texts in originals])]).astype(np.int32)
    values = text_array([text for texts in originals for text in texts], ORIGINAL_TEXT)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind)


def added_fields(wanted: Sequence[str], original_type: pa.DataType = ORIGINAL_TEXT) -> list[pa.Field]:
    types = {**_TYPES, ORIGINAL: original_type}
    return [pa.field(name, types[name]) for name in ADDED_COLUMNS if name in wanted]


def edits_from_python(values: Iterable[dict[str, Any]] | None) -> list[KeptEdit]:
    """Edits as a Parquet column or a JSON member holds them.

    Raises:
        ValueError: they are no edits.
    """
    try:
        edits = [
            KeptEdit(int(value["gap"]), str(value["kind"]), float(value["confidence"]), str(value["whitespace"]))
            for value in values or ()
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"what should be edits is something else ({error!r}). Was it changed since?") from error
    for edit in edits:
        if edit.kind not in KINDS or not math.isfinite(edit.confidence):
            raise ValueError(f"{edit}: expected an insertion or a deletion, and a confidence. Was it changed since?")
    return edits


def fitting_edits(text: str | None, values: Iterable[dict[str, Any]] | None, where: str) -> list[KeptEdit]:
    """The edits that made a text, as a Parquet column or a JSON member holds them.

    Raises:
        BadFile: they are no edits, or not those of this text.
    """
    try:
        edits = edits_from_python(values)
        if edits:
            check_revertible(text or "", character_positions(text or ""), edits)
    except ValueError as error:
        raise BadFile(f"{where}: {error}") from error
    return edits


def text_array(values: Sequence[str | bytes | None], kind: pa.DataType) -> pa.Array:
    """A string column; bytes among the values are kept as they are, even where they are not valid UTF-8."""
    if not any(isinstance(value, bytes) for value in values):
        return pa.array(values, kind)
    raw = [value.encode() if isinstance(value, str) else value for value in values]
    if pa.types.is_large_string(kind):
        return pa.array(raw, pa.large_binary()).view(kind)
    return pa.array(raw, pa.binary()).view(pa.string())
