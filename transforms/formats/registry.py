"""Kinds of shards, by their names."""

from __future__ import annotations

from respace.storage.compression import compression_of
from respace.storage.errors import BadFile
from transforms.formats.contract import JSONL_SUFFIXES, SUFFIXES, TEXT_SUFFIXES, FormatOptions, ShardFormat
from transforms.formats.lines import DocumentFormat, LineFormat
from transforms.formats.parquet import ParquetFormat


def format_of(name: str, options: FormatOptions) -> ShardFormat:
    """The kind of a shard, by its name."""
    plain = name.lower().removesuffix(compression_of(name))
    if plain.endswith(".parquet"):
        return ParquetFormat(options)
    if plain.endswith(JSONL_SUFFIXES):
        return LineFormat(options, json=True)
    if plain.endswith(TEXT_SUFFIXES):
        return LineFormat(options, json=False) if options.text_unit == "line" else DocumentFormat(options)
    raise BadFile(f"{name}: unknown kind of file. Expected a name ending in {', '.join(SUFFIXES)}")


def has_sidecar(name: str, options: FormatOptions) -> bool:
    """Text files have no columns: what is added goes to a Parquet file of its own."""
    return bool(options.added) and name.lower().removesuffix(compression_of(name)).endswith(TEXT_SUFFIXES)
