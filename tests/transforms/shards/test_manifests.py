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


def test_a_manifest_that_is_none(tmp_path: Path) -> None:
    publish_bytes(manifest_url(str(tmp_path), "a"), b"{broken")
    with pytest.raises(UserError, match=r"is not a manifest .*Remove it to have this shard done again"):
        read_manifest(str(tmp_path), "a")
