"""Formats by the names of files."""

from __future__ import annotations

from collections.abc import Callable

from respace.storage.compression import COMPRESSION_SUFFIXES, compression_of
from respace.storage.errors import BadFile
from transforms.formats.contract import FormatOptions, ShardFormat
from transforms.formats.copied import Copied
from transforms.formats.json_lines import JsonLines
from transforms.formats.lines import LineFormat
from transforms.formats.parquet import ParquetFormat
from transforms.formats.text_lines import TextLines
from transforms.formats.whole_file import WholeFile


def _json_lines(options: FormatOptions) -> ShardFormat:
    return LineFormat(options, JsonLines(options))


def _text(options: FormatOptions) -> ShardFormat:
    return LineFormat(options, TextLines(options)) if options.text_unit == "line" else WholeFile(options)


# Formats by suffix. Parquet compresses inside the file; all others may be compressed as a whole.
_PLAIN: dict[str, Callable[[FormatOptions], ShardFormat]] = {".parquet": ParquetFormat}
_COMPRESSIBLE: dict[str, Callable[[FormatOptions], ShardFormat]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".txt": _text,
    ".text": _text,
}
SUFFIXES = (*_PLAIN, *(plain + packed for plain in _COMPRESSIBLE for packed in ("", *COMPRESSION_SUFFIXES)))


def format_of(name: str, options: FormatOptions) -> ShardFormat:
    """The format of a file.

    >>> type(format_of("a/b.JSONL.gz", FormatOptions())).__name__
    'LineFormat'

    Raises:
        BadFile: none is known by that name.
    """
    lowered = name.lower()
    plain = lowered.removesuffix(compression_of(name))
    for suffix, make in _PLAIN.items():
        if lowered.endswith(suffix):
            return make(options)
    for suffix, make in _COMPRESSIBLE.items():
        if plain.endswith(suffix):
            return make(options)
    if options.copy_others:
        return Copied()
    raise BadFile(f"{name}: unknown kind of file. Expected a name ending in {', '.join(SUFFIXES)}")
