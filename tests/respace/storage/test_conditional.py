"""Compare and swap on real servers of object stores, and on a store that knows no conditions."""

from __future__ import annotations

from collections.abc import Iterator

import fsspec
import pytest

from respace.storage.conditional import Changed, ConditionalObject, conditional_object
from tests.object_stores import gcs_store, s3_store


@pytest.fixture(params=["memory", "s3", "gs"])
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConditionalObject]:
    if request.param == "memory":
        yield conditional_object("memory://conditional/folder/an object")
        fsspec.filesystem("memory").rm("/conditional", recursive=True)
        return
    with (s3_store if request.param == "s3" else gcs_store)(monkeypatch):
        yield conditional_object(f"{request.param}://corpus/folder/an object")


def test_compare_and_swap(target: ConditionalObject) -> None:
    assert target.read() is None
    first = target.write(b"first", None)
    with pytest.raises(Changed):
        target.write(b"created again", None)
    second = target.write(b"second", first)
    for late in (lambda: target.write(b"late", first), lambda: target.remove(first)):
        with pytest.raises(Changed):
            late()
    found = target.read()
    assert found is not None
    assert (found.content, found.tag) == (b"second", second)
    age = target.age()
    assert age is not None
    assert -2 <= age < 60  # S3 tells whole seconds
    target.remove(second)
    assert target.read() is None
    for gone in (lambda: target.write(b"late", second), lambda: target.remove(second)):
        with pytest.raises(Changed):
            gone()
    target.write(b"third", None)
    with pytest.raises(Changed):  # there again, but another one
        target.remove(second)


@pytest.mark.parametrize("protocol", ["s3", "gs"])
def test_an_empty_object_and_a_missing_bucket(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with (s3_store if protocol == "s3" else gcs_store)(monkeypatch) as store:
        store.pipe_file("corpus/empty", b"")
        target = conditional_object(f"{protocol}://corpus/empty")
        found = target.read()
        assert found is not None
        assert found.content == b""
        target.write(b"full", found.tag)
        assert store.cat_file("corpus/empty") == b"full"
        with pytest.raises(FileNotFoundError):
            conditional_object(f"{protocol}://missing/lock").write(b"x", None)
