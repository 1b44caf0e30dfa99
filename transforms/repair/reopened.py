"""The output of a repair, opened again: its files, each in the format in which it was written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from respace.storage.compression import compression_of
from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, absolute, describe, is_within, join_url
from respace.storage.listing import walk_files
from transforms.formats.contract import EditedDocument, FormatOptions, ShardFormat
from transforms.formats.copied import Copied
from transforms.formats.registry import SUFFIXES, format_of
from transforms.repair.report import unreadable_files
from transforms.repair.work import TAKEN_FOR, TEXT_COLUMN, TEXT_UNIT
from transforms.shards.manifests import MANIFESTS, Manifest, read_manifest


@dataclass(frozen=True)
class RepairedFile:
    """One file of an output with provenance."""

    file: InputFile
    form: ShardFormat

    def edits(self) -> Iterator[EditedDocument]:
        """Its documents, and what was changed in each. Raises BadFile if that is not known."""
        return self.form.edits(self.file)


def finished_files(output: str) -> list[str]:
    """The names of all files that are done: those that have a manifest, but for what the report calls unreadable.

    A file that cannot be read any more keeps what was made of it, which is not about the input of now.
    """
    manifests = walk_files(join_url(output, MANIFESTS))
    names = {one.name.removesuffix(".json") for one in manifests if one.name.endswith(".json")}
    return sorted(names - unreadable_files(output))


def reopened(output: str, name: str) -> RepairedFile:
    """A file that is done.

    Raises:
        BadFile: it is gone, damaged, of another job, or a link that leads out of the output.
    """
    try:
        manifest = read_manifest(output, name)
    except UserError as error:
        raise BadFile(str(error)) from error
    if manifest is None or TAKEN_FOR not in manifest.fingerprint:
        raise BadFile(f"{name}: its manifest is not one of pipelines.repair_corpus. Is it the output of another job?")
    return RepairedFile(file_inside(output, name), written_format(name, manifest))


def file_inside(output: str, name: str) -> InputFile:
    """A file of an output.

    Raises:
        BadFile: it is gone, or the name leads out of the output.
    """
    url = join_url(output, name)
    if ".." in name.split("/") or not is_within(absolute(url), absolute(output)):
        raise BadFile(f"{name}: leads out of the output, and is not opened")
    try:
        return describe(url, name)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadFile(f"{name}: its manifest is there, and the file is gone. Run repair_corpus again") from error


def written_format(name: str, manifest: Manifest) -> ShardFormat:
    """The format of a file, as its manifest has the options that decided it."""
    made_of = manifest.fingerprint
    if made_of[TAKEN_FOR] == Copied.title:
        return Copied()
    plain = name.lower().removesuffix(compression_of(name))
    suffix = os.path.splitext(plain)[1]
    options = FormatOptions(
        text_column=str(made_of.get(TEXT_COLUMN, "text")),
        text_unit=str(made_of.get(TEXT_UNIT, "document")),
        text_suffixes=() if suffix in SUFFIXES else (suffix,),  # what is no other format was read as text
        provenance=True,
        refuse_repaired=False,
    )
    return format_of(name, options)
