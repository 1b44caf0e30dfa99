"""Formats by the names of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from respace.storage.compression import COMPRESSION_SUFFIXES, compression_of
from respace.storage.errors import BadFile, BadOption
from respace.storage.inputs import shown_suffixes
from transforms.formats.arrow_file import ArrowFile
from transforms.formats.contract import FormatOptions, ShardFormat
from transforms.formats.copied import Copied
from transforms.formats.csv_file import CsvFile
from transforms.formats.json_file import JsonFile
from transforms.formats.json_lines import JsonLines
from transforms.formats.lines import LineFormat
from transforms.formats.parquet import ParquetFormat
from transforms.formats.text_lines import TextLines
from transforms.formats.whole_file import WholeFile


def _text(options: FormatOptions) -> ShardFormat:
    return LineFormat(options, TextLines(options)) if options.text_unit == "line" else WholeFile(options)


# Formats by suffix. Parquet and Arrow compress inside the file; all others may be compressed as a whole.
_PLAIN: dict[str, Callable[[FormatOptions], ShardFormat]] = {".parquet": ParquetFormat, ".arrow": ArrowFile}
_COMPRESSIBLE: dict[str, Callable[[FormatOptions], ShardFormat]] = {
    ".jsonl": lambda options: LineFormat(options, JsonLines(options)),
    ".ndjson": lambda options: LineFormat(options, JsonLines(options)),
    ".json": lambda options: LineFormat(options, JsonFile(options)),
    ".csv": lambda options: LineFormat(options, CsvFile(options)),
    ".tsv": lambda options: LineFormat(options, CsvFile(options, ("\t",))),
    ".txt": _text,
    ".text": _text,
}


def suffixes(text_suffixes: Sequence[str] = ()) -> tuple[str, ...]:
    """How the names of files end that can be read; with others that are text, such as ``.md``."""
    compressible = (*_COMPRESSIBLE, *text_suffixes)
    return (*_PLAIN, *(plain + packed for plain in compressible for packed in ("", *COMPRESSION_SUFFIXES)))


SUFFIXES = suffixes()


def check_text_suffixes(given: Sequence[str]) -> None:
    """
    Raises:
        BadOption: one of them is no suffix, or that of another format.
    """
    for one in given:
        if not one.startswith(".") or one != one.lower() or one in (*SUFFIXES, *COMPRESSION_SUFFIXES):
            raise BadOption(
                f"--text_suffix {one}: expected a suffix such as .md, in lower case, that no other format has. "
                f"These are known: {', '.join((*_PLAIN, *_COMPRESSIBLE))}"
            )


def format_of(name: str, options: FormatOptions) -> ShardFormat:
    """The format of a file.

    >>> type(format_of("a/b.JSONL.gz", FormatOptions())).__name__
    'LineFormat'

    Raises:
        BadFile: none is known by that name.
    """
    if name in options.copied:
        return Copied()
    lowered = name.lower()
    plain = lowered.removesuffix(compression_of(name))
    for suffix, make in _PLAIN.items():
        if lowered.endswith(suffix):
            return make(options)
    for suffix, make in {**_COMPRESSIBLE, **dict.fromkeys(options.text_suffixes, _text)}.items():
        if plain.endswith(suffix):
            return make(options)
    if options.copy_others:
        return Copied()
    known = shown_suffixes(suffixes(options.text_suffixes))
    raise BadFile(f"{name}: unknown kind of file. Expected a name ending in {known}")
