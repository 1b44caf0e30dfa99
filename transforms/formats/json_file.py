"""``.json`` files: one array of objects. One that has a single object, or an object a line, is read as that."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from transforms.formats.contract import FormatOptions
from transforms.formats.json_lines import JsonLines
from transforms.formats.lines import Opened, buffered, without_mark
from transforms.formats.records import JsonRecords

_BETWEEN = b" \t\r\n,]"
_OPENING = re.compile(rb"\s*+(?:\[[\s,\]]*+)?")
# How much of a file tells what it is.
_BEGINNING = 1 << 16


@dataclass(frozen=True)
class JsonFile:
    options: FormatOptions

    has_sidecar = False
    can_be_cut = False

    def opened(self, url: str, stream: io.BufferedReader, at_start: bool) -> Opened:
        mark = without_mark(stream)
        # Not `peek`, which gives more or less of the file as it happens to be buffered.
        beginning = stream.read(_BEGINNING)
        whole = buffered(cast(BinaryIO, _From(beginning, stream)))
        if _is_object(beginning.partition(b"\n")[0]):
            lines = JsonLines(self.options).opened(url, whole, at_start=False)
            return Opened(mark, lines.records, lines.kind)
        opening = _OPENING.match(beginning)
        head = whole.read(opening.end() if opening else 0)
        return Opened(mark + head, JsonRecords(whole), JsonLines(self.options, _BETWEEN))


class _From(io.RawIOBase):
    """A stream of which the beginning was read already."""

    def __init__(self, beginning: bytes, stream: io.BufferedReader):
        self._beginning, self._stream = beginning, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._beginning[: len(buffer)] or self._stream.read(len(buffer))
        self._beginning = self._beginning[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
