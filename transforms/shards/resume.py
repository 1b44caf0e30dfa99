"""What is left to do: manifests against what is wanted and what is there.

Sizes and times decide, those of the outputs from one listing. Content is read where a time changed and the size did not
(a copy of the corpus, a `touch`), and where everything is to be verified.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, describe, file_digest, input_digest, join_url, remove
from respace.storage.listing import FileSet, Listed, walk_files
from respace.storage.parallel import in_parallel
from transforms.shards.contract import Fingerprint
from transforms.shards.ledger import LEDGER, Digest, Ledger, read_ledger
from transforms.shards.manifests import (
    INPUT_SIZE,
    INPUT_VERSION,
    MANIFESTS,
    REVIEW,
    Manifest,
    changed_settings,
    each_manifest,
    read_manifest,
    remove_manifest,
    write_manifest,
)

NEW = "new"
CHANGED_INPUT = "its input has changed"
CHANGED_REVIEW = "its review has changed"
_DONE = "done, and nothing it depends on has changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePlan:
    """Which shards to do. ``to_do`` and ``done`` give the reason for every name.

    Args:
        to_do: what needs work.
        done: what does not.
        gone: shards that were done once and whose input is no longer there.
        damaged: those of ``to_do`` whose published files are not what they were.
        renewed: shards whose manifests are to be written again because times changed and contents did not, each with
            the versions of what it published.
        ledger: what is known of shards that are done without having read their manifests.
    """

    to_do: Mapping[str, str]
    done: Mapping[str, str]
    gone: Sequence[str] = ()
    damaged: Sequence[str] = ()
    renewed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def names(self) -> list[str]:
        return list(self.to_do)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Why a shard needs work, or nothing; how its settings differ; versions that its manifest does not have yet."""

    reason: str = ""
    damaged: bool = False
    difference: str = ""
    renewed: Mapping[str, str] | None = None


def plan_resume(
    output: str,
    fingerprints: Mapping[str, Fingerprint],
    *,
    inputs: Mapping[str, InputFile] | None = None,
    overwrite: bool = False,
    verify: bool = False,
    limit: int | None = None,
    folder: str = "",
    digest: Digest | None = None,
) -> ResumePlan:
    """Compares what is wanted with what is there: one listing, the ledger, and the manifests that it does not have.

    Args:
        output: output directory.
        fingerprints: of every shard of the job, by name; they may be made when they are asked for.
        inputs: of shards that are a file each and are replaced one by one: those whose input changed are done again by
            themselves, and ``overwrite`` redoes only what was done with other settings. Without, a changed input is
            refused like a changed setting, because the shards of a job may depend on each other.
        overwrite: do again what is done.
        verify: read all outputs, and do again those that are not what was published.
        limit: do at most this many shards.
        folder: of the names of all shards.
        digest: what is wanted of all shards; with it, the ledger is believed.

    Raises:
        UserError: a shard was written with different settings; the message names the difference.
    """
    if overwrite and inputs is None:
        return ResumePlan(to_do=dict(list(dict.fromkeys(fingerprints, "--overwrite").items())[:limit]), done={})
    there, gone, pages = _look(output, folder, fingerprints)
    ledger = Ledger(stale=[join_url(output, page) for page in pages])
    if digest is not None and inputs is not None and not verify:
        ledger = read_ledger(output, pages, there, fingerprints, digest)
    judge = _Judge(output, there, fingerprints, inputs, overwrite, verify)
    to_do: dict[str, str] = {}
    differences: dict[str, str] = {}
    damaged: list[str] = []
    renewed: dict[str, Mapping[str, str]] = {}
    read = [name for name in fingerprints if name not in ledger and f"{MANIFESTS}/{name}.json" in there]
    verdicts = dict(zip(read, in_parallel(judge, read), strict=True))
    done: dict[str, str] = {}
    for name in fingerprints:
        verdict = _AS_IT_IS if name in ledger else verdicts.get(name, _NOT_DONE)
        if verdict.difference:
            differences[name] = verdict.difference
        elif verdict.reason:
            to_do[name] = verdict.reason
        else:
            done[name] = _DONE
        if verdict.damaged:
            damaged.append(name)
        if verdict.renewed is not None:
            renewed[name] = verdict.renewed
    _refuse(output, differences)
    if limit is not None:
        to_do = dict(list(to_do.items())[:limit])
    return ResumePlan(to_do=to_do, done=done, gone=sorted(gone), damaged=damaged, renewed=renewed, ledger=ledger)


def _look(output: str, folder: str, wanted: Container[str] = ()) -> tuple[FileSet, list[str], list[str]]:
    """What an output holds, from one listing: all files, shards of a folder that are not wanted, the ledger's pages."""
    others: list[str] = []
    pages: list[str] = []
    prefix = f"{MANIFESTS}/{folder}/" if folder else f"{MANIFESTS}/"

    def files() -> Iterator[Listed]:
        for file in walk_files(output):
            if file.name.startswith(prefix) and file.name.endswith(".json"):
                name = file.name[len(MANIFESTS) + 1 : -len(".json")]
                if name not in wanted:
                    others.append(name)
            elif file.name.startswith(f"{LEDGER}/"):
                pages.append(file.name)
            yield file

    return FileSet(files()), others, pages


_NOT_DONE = _Verdict(NEW)
_AS_IT_IS = _Verdict()


@dataclass(frozen=True, slots=True)
class _Judge:
    """What is to be done with a shard that has a manifest."""

    output: str
    there: FileSet
    wanted: Mapping[str, Fingerprint]
    inputs: Mapping[str, InputFile] | None
    overwrite: bool
    verify: bool

    def __call__(self, name: str) -> _Verdict:
        manifest, wanted = read_manifest(self.output, name), self.wanted[name]
        if manifest is None:
            return _NOT_DONE
        file = self.inputs.get(name) if self.inputs is not None else None
        ignored = (INPUT_SIZE, INPUT_VERSION, REVIEW) if file is not None else ()
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
        if manifest.fingerprint.get(REVIEW) != wanted.get(REVIEW):
            return _Verdict(CHANGED_REVIEW)
        damaged = next((one for one in manifest.outputs if not self._is_whole(manifest, one)), None)
        if damaged is not None:
            return _Verdict(f"its manifest is there, but {damaged} is missing or was changed", damaged=True)
        versions = self._versions(manifest)
        as_it_is = manifest.versions == versions and manifest.fingerprint == wanted
        return _AS_IT_IS if as_it_is else _Verdict(renewed=versions)

    def _versions(self, manifest: Manifest) -> dict[str, str]:
        """Those of now; files that the listing has as they were need no question."""
        return {
            name: version if self.there.has(Listed(name, size, version)) else self._describe(name).version
            for name, size in manifest.outputs.items()
            for version in [manifest.versions.get(name, "")]
        }

    def _describe(self, name: str) -> InputFile:
        return describe(join_url(self.output, name), name)

    def _is_whole(self, manifest: Manifest, name: str) -> bool:
        """Whether a published file is what it was. Without a time it is, unless all is verified."""
        version, digest = manifest.versions.get(name), manifest.digests.get(name)
        as_it_was = self.there.has(Listed(name, manifest.outputs[name], version or ""))
        if not as_it_was:
            if name not in self.there or self._describe(name).size != manifest.outputs[name]:
                return False
            as_it_was = not version
        if not digest or (as_it_was and not self.verify):
            return True
        return file_digest(join_url(self.output, name)) == digest


def renamed_shards(
    output: str,
    fingerprints: Mapping[str, Fingerprint],
    inputs: Mapping[str, InputFile],
    new: Sequence[str],
    gone: Sequence[str],
) -> dict[str, str]:
    """The new shards whose content was done under a name that is gone, and that name. Only the same SHA-256 counts.

    Args:
        output: output directory.
        fingerprints: of every shard of the job, by name.
        inputs: the file of every shard.
        new: names of shards that were never done.
        gone: names of shards that were, and whose input is not there any more.
    """
    known = {}
    for manifest in each_manifest(output, gone if new else ()):
        if manifest.input_digest:
            known[manifest.fingerprint.get(INPUT_SIZE), manifest.input_digest] = manifest
    sizes = {size for size, _ in known}

    def find(name: str) -> tuple[str, str] | None:
        file = inputs[name]
        if file.size not in sizes:
            return None
        try:
            manifest = known.get((file.size, input_digest(file)))
        except (BadFile, OSError):  # who works on it will say why it cannot be read
            return None
        same = manifest is not None and _settings(manifest.fingerprint) == _settings(fingerprints[name])
        return (name, manifest.name) if manifest is not None and same else None

    return dict(one for one in in_parallel(find, new if known else ()) if one is not None)


def _settings(fingerprint: Fingerprint) -> Fingerprint:
    return {key: value for key, value in fingerprint.items() if key not in (INPUT_SIZE, INPUT_VERSION)}


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
    return _look(output, folder)[1]


def renew_manifest(output: str, name: str, fingerprint: Fingerprint, versions: Mapping[str, str]) -> None:
    """Writes down that times changed and contents did not, so that nobody has to look at them again."""
    manifest = read_manifest(output, name)
    if manifest is not None:
        write_manifest(output, replace(manifest, fingerprint=fingerprint, versions=versions))


def forget_shard(output: str, name: str) -> None:
    """Marks a shard as not done, then removes what it published."""
    manifest = read_manifest(output, name)
    remove_manifest(output, name)
    for published in manifest.outputs if manifest is not None else ():
        remove(join_url(output, published))
