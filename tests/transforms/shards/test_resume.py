from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respace.storage.errors import UserError
from respace.storage.files import describe, file_digest
from respace.storage.publish import publish_bytes
from tests.transforms.shards.test_manifests import FINGERPRINT, finish
from transforms.shards.contract import Fingerprint
from transforms.shards.manifests import REVIEW, Manifest, input_fingerprint, read_manifest, write_manifest
from transforms.shards.resume import forget_shard, known_shards, plan_resume, renew_manifest


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


SETTINGS: Fingerprint = {"model": "fast@1"}


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


class Night:
    """One input that was done, and what the next run says about it."""

    def __init__(self, folder: Path):
        self.source, self.output = folder / "in.txt", str(folder / "out")
        self.source.write_bytes(b"given")
        publish_bytes(f"{self.output}/a", b"made")
        made = describe(f"{self.output}/a")
        manifest = Manifest(
            name="a",
            fingerprint=self.fingerprint(),
            outputs={"a": 4},
            versions={"a": made.version},
            digests={"a": file_digest(made.url)},
            input_digest=file_digest(str(self.source)),
        )
        write_manifest(self.output, manifest)

    def fingerprint(self, **settings: str) -> Fingerprint:
        return {**SETTINGS, **settings, **input_fingerprint(describe(str(self.source)))}

    def plan(self, overwrite: bool = False, verify: bool = False, **settings: str) -> object:
        inputs = {"a": describe(str(self.source))}
        wanted = {"a": self.fingerprint(**settings)}
        self.last = plan_resume(self.output, wanted, inputs=inputs, overwrite=overwrite, verify=verify)
        return self.last.to_do


def later(path: str | Path) -> None:
    os.utime(path, (1e9, 1e9))


def test_only_the_time_of_an_input_changed(night: Night) -> None:
    later(night.source)
    assert night.plan() == {}
    renew_manifest(night.output, "a", night.fingerprint(), night.last.renewed["a"])
    assert night.plan() == {}
    assert night.last.renewed == {}  # from now on its time is enough


def test_another_content_of_the_same_size(night: Night) -> None:
    night.source.write_bytes(b"giVen")
    later(night.source)
    assert night.plan() == {"a": "its input has changed"}


def test_other_settings_are_refused_even_where_the_input_changed(night: Night) -> None:
    night.source.write_bytes(b"longer")
    with pytest.raises(UserError, match="model was 'fast@1' and is now 'other'"):
        night.plan(model="other")
    assert night.plan(model="other", overwrite=True) == {"a": "--overwrite: model was 'fast@1' and is now 'other'"}
    assert night.plan(overwrite=True) == {"a": "its input has changed"}


def test_without_a_digest_another_time_is_another_input(night: Night) -> None:
    manifest = read_manifest(night.output, "a")
    assert manifest is not None
    write_manifest(night.output, Manifest(name="a", fingerprint=manifest.fingerprint, outputs={"a": 4}))
    assert night.plan(verify=True) == {}
    later(night.source)
    assert night.plan() == {"a": "its input has changed"}


def test_a_damaged_output_of_the_same_size(night: Night) -> None:
    made = f"{night.output}/a"
    kept = os.stat(made)
    Path(made).write_bytes(b"mAde")
    assert night.plan() == {"a": "its manifest is there, but a is missing or was changed"}  # its time tells
    os.utime(made, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert night.plan() == {}
    assert night.plan(verify=True) == {"a": "its manifest is there, but a is missing or was changed"}
    assert list(night.last.damaged) == ["a"]


def test_a_copied_output_is_whole(night: Night) -> None:
    later(f"{night.output}/a")
    assert night.plan() == {}
    assert night.last.renewed["a"] == {"a": "1000000000.000000"}


def test_all_shards_that_were_ever_done(night: Night) -> None:
    finish(night.output, "folder/b")
    assert sorted(known_shards(night.output)) == ["a", "folder/b"]
    assert known_shards(night.output, "folder") == ["folder/b"]
    forget_shard(night.output, "folder/b")
    assert known_shards(night.output) == ["a"]
    assert not Path(night.output, "folder/b").exists()


@pytest.mark.parametrize(
    ("number", "more"), [(1, ""), (2, r" \(1 more shards differ, too\)"), (1003, r" \(1,002 more")]
)
def test_how_many_differ_is_told(tmp_path: Path, number: int, more: str) -> None:
    names = [f"s{place:04}" for place in range(number)]
    for name in names:
        write_manifest(str(tmp_path), Manifest(name=name, fingerprint=FINGERPRINT, outputs={}))
    with pytest.raises(UserError, match=rf"s0000 was written .* is now 'm'{more}"):
        plan_resume(str(tmp_path), {name: {**FINGERPRINT, "model": "m"} for name in names})


@pytest.mark.parametrize("content", [b"", b"give", b"given more"])
def test_an_input_that_shrank_or_grew_at_the_same_time(night: Night, content: bytes) -> None:
    times = os.stat(night.source)
    night.source.write_bytes(content)
    os.utime(night.source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert night.plan() == {"a": "its input has changed"}


@pytest.mark.parametrize("content", [b"", b"mad", b"made more"])
def test_an_output_that_shrank_or_grew_at_the_same_time(night: Night, content: bytes) -> None:
    target = f"{night.output}/a"
    times = os.stat(target)
    Path(target).write_bytes(content)
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert night.plan() == {"a": "its manifest is there, but a is missing or was changed"}
    assert night.last.damaged == ["a"]


def test_digests_are_compared_for_being_the_same(night: Night) -> None:
    """Whether the other one is greater or less."""
    known = file_digest(str(night.source))
    seen = set()
    for number in range(20):
        night.source.write_bytes(b"%05d" % number)
        later(night.source)
        seen.add(file_digest(str(night.source)) > known)
        assert night.plan() == {"a": "its input has changed"}
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("was", "wanted", "reason"),
    [
        ("r1", "r1", {}),
        ("r1", "r2", {"a": "its review has changed"}),
        (None, "r1", {"a": "its review has changed"}),
        ("r1", None, {"a": "its review has changed"}),
    ],
)
def test_another_review_is_another_input(night: Night, was: str | None, wanted: str | None, reason: object) -> None:
    manifest = read_manifest(night.output, "a")
    assert manifest is not None
    review = {REVIEW: was} if was else {}
    write_manifest(night.output, replace(manifest, fingerprint={**manifest.fingerprint, **review}))
    settings: dict[str, Any] = {REVIEW: wanted} if wanted else {}
    assert night.plan(**settings) == reason
