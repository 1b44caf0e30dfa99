"""Where a document ends in a file of documents: at the end of a line, of a record of CSV, of an element of JSON.

>>> import io
>>> records = CsvRecords(io.BytesIO(b'1,"two\\nlines"\\n2,one\\n'), b",")
>>> records.read(100), records.read(100)
((b'1,"two\\nlines"\\n', True), (b'2,one\\n', True))
>>> elements = JsonRecords(io.BytesIO(b'{"a": "}"},\\n {"b": 1}]'))
>>> elements.read(100), elements.read(100)
((b'{"a": "}"},\\n ', True), (b'{"b": 1}]', True))
"""

from __future__ import annotations

import re
from typing import BinaryIO, Protocol


class Records(Protocol):
    """The records of a stream, one after the other."""

    def read(self, limit: int) -> tuple[bytes, bool]:
        """The next record with what follows it, and whether it is whole; nothing at the end.

        A record of more bytes than ``limit`` comes in pieces, of which at most the last one says that it is whole.
        """


class LineRecords:
    """Every line is a record."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream

    def read(self, limit: int) -> tuple[bytes, bool]:
        line = self._stream.readline(limit + 1)
        return line, len(line) <= limit or line.endswith(b"\n")


class CsvRecords:
    """Records that end with their line, unless the line break is in quotation marks."""

    def __init__(self, stream: BinaryIO, delimiter: bytes):
        self._stream, self._delimiter = stream, delimiter
        self._plain = re.compile(rb"[^\n%s]*+" % re.escape(delimiter))
        self._state = _FIELD_START

    def read(self, limit: int) -> tuple[bytes, bool]:
        pieces: list[bytes] = []
        size = 0
        while True:
            line = self._stream.readline(limit + 1 - size)
            pieces.append(line)
            size += len(line)
            self._pass(line)
            if not line or (line.endswith(b"\n") and self._state != _QUOTED):
                return b"".join(pieces), True
            if size > limit:
                return b"".join(pieces), False

    def _pass(self, line: bytes) -> None:
        """Finds out whether a quoted field is open at the end of what was read."""
        if self._state in (_FIELD_START, _PLAIN) and b'"' not in line:
            self._state = _FIELD_START if line.endswith((b"\n", self._delimiter)) else _PLAIN
            return
        place = 0
        while place < len(line):
            character = line[place : place + 1]
            if self._state == _QUOTED:
                end = line.find(b'"', place)
                self._state, place = (_QUOTED, len(line)) if end < 0 else (_CLOSED, end + 1)
            elif character == b'"' and self._state in (_FIELD_START, _CLOSED):
                self._state, place = _QUOTED, place + 1  # a field begins, or the mark was a doubled one
            elif character in (self._delimiter, b"\n"):
                self._state, place = _FIELD_START, place + 1
            else:
                match = self._plain.match(line, place)
                self._state, place = _PLAIN, match.end() if match else len(line)


_FIELD_START, _PLAIN, _QUOTED, _CLOSED = range(4)


class JsonRecords:
    """Values one after the other, with commas and brackets in between: the elements of an array."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._data = bytearray()
        self._place = self._depth = 0
        self._in_string = self._after_value = False

    def read(self, limit: int) -> tuple[bytes, bool]:
        while True:
            whole = self._scan()
            if whole or self._place > limit:
                return self._take(self._place), whole
            more = self._stream.read(1 << 20)
            if not more:
                return self._take(len(self._data)), True
            self._data += more

    def _take(self, stop: int) -> bytes:
        record = bytes(self._data[:stop])
        del self._data[:stop]
        self._place = 0
        return record

    def _scan(self) -> bool:
        """Goes on to the beginning of the next record; False where more has to be read to find it."""
        data = self._data
        while self._place < len(data):
            here = data[self._place : self._place + 1]
            if self._in_string:
                self._place = _end(_IN_STRING, data, self._place)
                if data[self._place : self._place + 1] != b'"':
                    return False  # also after a backslash, whose second half is not there yet
                self._place += 1
                self._in_string, self._after_value = False, self._depth == 0
            elif self._after_value:
                self._place = _end(_BETWEEN, data, self._place)
                if self._place < len(data):
                    self._after_value = False
                    return True
            elif here == b'"':
                self._in_string = True
                self._place += 1
            elif here in b"{[":
                self._depth += 1
                self._place += 1
            elif here in b"}]" and self._depth:
                self._depth -= 1
                self._after_value = self._depth == 0
                self._place += 1
            else:
                self._place = _end(_INSIDE if self._depth else _SCALAR, data, self._place + 1)
                self._after_value = self._depth == 0 and self._place < len(data)
        return False


_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_INSIDE = re.compile(rb'[^"{}\[\]]*+')
_SCALAR = re.compile(rb'[^\s,\]"{\[]*+')
_BETWEEN = re.compile(rb"[\s,\]]*+")


def _end(pattern: re.Pattern[bytes], data: bytearray, place: int) -> int:
    match = pattern.match(data, place)
    return match.end() if match else place
