"""What is left to do: manifests against what is wanted and what is there.

Sizes and times decide, those of the outputs from one listing. Content is read where a time changed and the size did not
(a copy of the corpus, a `touch`), and where everything is to be verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, file_digest, input_digest, join_url, list_files, remove
from transforms.shards.contract import Fingerprint
from transforms.shards.manifests import (
    INPUT_SIZE,
    INPUT_VERSION,
    MANIFESTS,
    Manifest,
    changed_settings,
    read_manifest,
    read_manifests,
    remove_manifest,
)

NEW = "new"
CHANGED_INPUT = "its input has changed"
_DONE = "done, and nothing it depends on has changed"
_PARALLEL_READS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePlan:
    """Which shards to do. ``to_do`` and ``done`` give the reason for every name.

    Args:
        to_do: what needs work.
        done: what does not.
        gone: shards that were done once and whose input is no longer there.
        damaged: those of ``to_do`` whose published files are not what they were.
        renewed: manifests to be written again because times changed and contents did not.
    """

    to_do: Mapping[str, str]
    done: Mapping[str, str]
    gone: Sequence[str] = ()
    damaged: Sequence[str] = ()
    renewed: Mapping[str, Manifest] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return list(self.to_do)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Why a shard needs work, or nothing; how its settings differ; its manifest, if that has to be written again."""

    reason: str = ""
    damaged: bool = False
    difference: str = ""
    renewed: Manifest | None = None


def plan_resume(
    output: str,
    fingerprints: Mapping[str, Fingerprint],
    *,
    inputs: Mapping[str, InputFile] | None = None,
    overwrite: bool = False,
    verify: bool = False,
    limit: int | None = None,
) -> ResumePlan:
    """Compares what is wanted with what is there.

    Args:
        output: output directory.
        fingerprints: of every shard of the job, by name.
        inputs: of shards that are a file each and are replaced one by one: those whose input changed are done again by
            themselves, and ``overwrite`` redoes only what was done with other settings. Without, a changed input is
            refused like a changed setting, because the shards of a job may depend on each other.
        overwrite: do again what is done.
        verify: read all outputs, and do again those that are not what was published.
        limit: do at most this many shards.

    Raises:
        UserError: a shard was written with different settings; the message names the difference.
    """
    if overwrite and inputs is None:
        return ResumePlan(to_do=dict(list(dict.fromkeys(fingerprints, "--overwrite").items())[:limit]), done={})
    judge = _Judge(output, list_files(output), read_manifests(output, fingerprints), inputs, overwrite, verify)
    with ThreadPoolExecutor(_PARALLEL_READS) as pool:
        verdicts = dict(zip(fingerprints, pool.map(judge, fingerprints, fingerprints.values()), strict=True))
    _refuse(output, {name: one.difference for name, one in verdicts.items() if one.difference})
    to_do = {name: one.reason for name, one in verdicts.items() if one.reason}
    return ResumePlan(
        to_do=dict(list(to_do.items())[:limit]),
        done={name: _DONE for name, one in verdicts.items() if not one.reason},
        damaged=[name for name, one in verdicts.items() if one.damaged],
        renewed={name: one.renewed for name, one in verdicts.items() if one.renewed is not None},
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    output: str
    there: Mapping[str, InputFile]
    known: Mapping[str, Manifest]
    inputs: Mapping[str, InputFile] | None
    overwrite: bool
    verify: bool

    def __call__(self, name: str, wanted: Fingerprint) -> _Verdict:
        manifest = self.known.get(name)
        if manifest is None:
            return _Verdict(NEW)
        file = self.inputs.get(name) if self.inputs is not None else None
        ignored = (INPUT_SIZE, INPUT_VERSION) if file is not None else ()
        different = changed_settings(
            *(
                {key: value for key, value in one.items() if key not in ignored}
                for one in (manifest.fingerprint, wanted)
            )
        )
        if different:
            words = "; ".join(different)
            return _Verdict(f"--overwrite: {words}") if self.overwrite else _Verdict(difference=words)
        if file is not None and not _same_input(manifest, file):
            return _Verdict(CHANGED_INPUT)
        damaged = next((one for one in manifest.outputs if not self._is_whole(manifest, one)), None)
        if damaged is not None:
            return _Verdict(f"its manifest is there, but {damaged} is missing or was changed", damaged=True)
        versions = {one: self.there[one].version for one in manifest.outputs}
        renewed = replace(manifest, fingerprint=dict(wanted), versions=versions)
        return _Verdict(renewed=renewed if renewed != manifest else None)

    def _is_whole(self, manifest: Manifest, name: str) -> bool:
        """Whether a published file is what it was. Without a time it is, unless all is verified."""
        file = self.there.get(name)
        if file is None or file.size != manifest.outputs[name]:
            return False
        version, digest = manifest.versions.get(name), manifest.digests.get(name)
        if not digest or (version in (None, "", file.version) and not self.verify):
            return True
        return file_digest(join_url(self.output, name)) == digest


def _same_input(manifest: Manifest, file: InputFile) -> bool:
    was = manifest.fingerprint
    if was.get(INPUT_SIZE) != file.size:
        return False
    if was.get(INPUT_VERSION) == file.version:
        return True
    try:
        return bool(manifest.input_digest) and input_digest(file) == manifest.input_digest
    except (BadFile, OSError):  # who works on it will say why it cannot be read
        return False


def _refuse(output: str, differences: Mapping[str, str]) -> None:
    for name, difference in differences.items():
        more = f" ({len(differences) - 1:,} more shards differ, too)" if len(differences) > 1 else ""
        raise UserError(
            f"{join_url(output, name)} was written with different settings: {difference}{more}. "
            "Give --overwrite to write it again, or another --output to keep both"
        )


def known_shards(output: str, folder: str = "") -> list[str]:
    """Every shard in a folder of manifests, by name."""
    root = join_url(output, MANIFESTS)
    found = list_files(join_url(root, folder) if folder else root)
    prefix = f"{folder}/" if folder else ""
    return [f"{prefix}{name}".removesuffix(".json") for name in found if name.endswith(".json")]


def forget_shard(output: str, name: str) -> None:
    """Marks a shard as not done, then removes what it published."""
    manifest = read_manifest(output, name)
    remove_manifest(output, name)
    for published in manifest.outputs if manifest is not None else ():
        remove(join_url(output, published))
