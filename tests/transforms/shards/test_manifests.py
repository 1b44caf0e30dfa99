from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from respace.storage.errors import UserError
from respace.storage.files import describe, input_digest
from respace.storage.publish import publish_bytes
from tests.transforms.shards.toy import Shard, Shout
from transforms.shards.contract import Fingerprint
from transforms.shards.manifests import (
    Manifest,
    done_manifest,
    finish_shard,
    manifest_url,
    missing_outputs,
    read_manifest,
    read_manifests,
    write_manifest,
)

FINGERPRINT: Fingerprint = {"input size": 5, "model": "fast@1"}


def finish(output: Any, name: Any, fingerprint: Any = FINGERPRINT, content: Any = b"data") -> Any:
    publish_bytes(f"{output}/{name}", content)
    write_manifest(
        output, Manifest(name=name, fingerprint=fingerprint, outputs={name: len(content)}, counts={"documents": 2})
    )


def test_round_trip(tmp_path: Path) -> None:
    finish(str(tmp_path), "a/b.jsonl")
    manifest = read_manifest(str(tmp_path), "a/b.jsonl")
    assert manifest is not None
    assert manifest.counts == {"documents": 2}
    assert done_manifest(str(tmp_path), "a/b.jsonl", FINGERPRINT) == manifest
    assert done_manifest(str(tmp_path), "a/b.jsonl", {**FINGERPRINT, "model": "fast@2"}) is None
    assert read_manifest(str(tmp_path), "other") is None


def test_a_manifest_that_is_none(tmp_path: Path) -> None:
    publish_bytes(manifest_url(str(tmp_path), "a"), b"{broken")
    with pytest.raises(UserError, match=r"is not a manifest .*Remove it to have this shard done again"):
        read_manifest(str(tmp_path), "a")


@pytest.mark.parametrize("wrong", ['"fingerprint": 1, "outputs": {}', '"fingerprint": {}, "outputs": []'])
def test_each_part_of_a_manifest_is_what_it_should_be(tmp_path: Path, wrong: str) -> None:
    publish_bytes(manifest_url(str(tmp_path), "a"), f'{{"name": "a", {wrong}}}'.encode())
    with pytest.raises(UserError, match="should be objects"):
        read_manifest(str(tmp_path), "a")


@pytest.mark.parametrize("content", [b"dat", b"data!", None])
def test_an_output_of_another_size_is_missing(tmp_path: Path, content: bytes | None) -> None:
    finish(str(tmp_path), "a")
    manifest = read_manifest(str(tmp_path), "a")
    assert manifest is not None
    assert missing_outputs(str(tmp_path), manifest) == []
    if content is None:
        (tmp_path / "a").unlink()
    else:
        (tmp_path / "a").write_bytes(content)
    assert missing_outputs(str(tmp_path), manifest) == ["a"]
    assert done_manifest(str(tmp_path), "a", FINGERPRINT) is None


def test_those_that_there_are(tmp_path: Path) -> None:
    for name in ("a", "c"):
        finish(str(tmp_path), name)
    assert list(read_manifests(str(tmp_path), ["a", "b", "c"])) == ["a", "c"]


def test_the_bytes_of_a_manifest(tmp_path: Path) -> None:
    """Runs that are killed and taken up again must leave the same files, whoever reads them must find letters."""
    write_manifest(str(tmp_path), Manifest(name="é", fingerprint={"b": 1, "a": "ü"}, outputs={}))
    content = Path(manifest_url(str(tmp_path), "é")).read_text(encoding="utf-8")
    assert content.index('"a": "ü"') < content.index('"b": 1')


def test_a_finished_shard_says_how_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"input")
    publish_bytes(f"{tmp_path}/out/a", b"data")
    job, source = Shout(str(tmp_path / "out")), describe(str(tmp_path / "in"))
    finish_shard(job, Shard("a", "data"), [f"{tmp_path}/out/a"], {"documents": 3}, {"slow": True}, "run-1", source)
    manifest = read_manifest(job.output, "a")
    assert manifest is not None
    assert (manifest.outputs, manifest.counts, manifest.details, manifest.run) == (
        {"a": 4},
        {"documents": 3},
        {"slow": True},
        "run-1",
    )
    assert manifest.digests == {"a": hashlib.sha256(b"data").hexdigest()}
    assert manifest.input_digest == input_digest(source)


@pytest.mark.parametrize(
    "name", ["../victim", "a/../../victim", "/victim", "./a", "a//b", "", "a\0", "link/victim", "link/../victim"]
)
def test_files_outside_of_the_output_are_refused(tmp_path: Path, name: str) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "link").symlink_to(tmp_path)
    write_manifest(str(output), Manifest(name="a", fingerprint=FINGERPRINT, outputs={"a": 4, name: 4}))
    with pytest.raises(UserError, match=r"a\.json is not a manifest \(its file .* is not inside of the output\)"):
        read_manifest(str(output), "a")


def test_an_output_behind_a_link_is_one_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    finish(str(tmp_path / "out"), "folder/a")
    assert read_manifest(str(tmp_path / "out"), "folder/a") is not None
