from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from respace.storage.errors import UserError
from respace.storage.publish import publish_bytes
from transforms.shards.contract import Fingerprint
from transforms.shards.manifests import (
    Manifest,
    done_manifest,
    manifest_url,
    plan_resume,
    read_manifest,
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


def test_resume_skips_what_is_done_and_redoes_what_is_gone(tmp_path: Path) -> None:
    output = str(tmp_path)
    for name in ("a", "b", "c"):
        finish(output, name)
    (tmp_path / "b").unlink()
    (tmp_path / "c").write_bytes(b"longer than before")
    plan = plan_resume(output, dict.fromkeys("abcd", FINGERPRINT))
    assert list(plan.done) == ["a"]
    assert plan.to_do == {
        "b": "its manifest is there, but b is missing or was changed",
        "c": "its manifest is there, but c is missing or was changed",
        "d": "new",
    }
    assert plan_resume(output, dict.fromkeys("abcd", FINGERPRINT), limit=2).names == ["b", "c"]
    assert plan_resume(output, dict.fromkeys("ad", FINGERPRINT), overwrite=True).to_do == {
        "a": "--overwrite",
        "d": "--overwrite",
    }


def test_a_file_without_a_manifest_is_not_done(tmp_path: Path) -> None:
    publish_bytes(str(tmp_path / "a"), b"data")
    assert plan_resume(str(tmp_path), {"a": FINGERPRINT}).names == ["a"]


def test_another_fingerprint_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    finish(str(tmp_path), "a")
    with pytest.raises(UserError, match=r"with different settings: model was 'fast@1' and is now 'fast@2'\. Give --o"):
        plan_resume(str(tmp_path), {"a": {**FINGERPRINT, "model": "fast@2"}})
    with pytest.raises(UserError, match="input size was 5 and is now 6; model was 'fast@1' and is now 'm'"):
        plan_resume(str(tmp_path), {"a": {"input size": 6, "model": "m"}})


def test_a_manifest_that_is_none(tmp_path: Path) -> None:
    publish_bytes(manifest_url(str(tmp_path), "a"), b"{broken")
    with pytest.raises(UserError, match=r"is not a manifest .*Remove it to have this shard done again"):
        read_manifest(str(tmp_path), "a")
