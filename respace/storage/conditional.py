"""One small object that several processes write: replaced and removed only while it is still what was read.

S3 compares ETags (``If-Match``, ``If-None-Match``), GCS generations (``ifGenerationMatch``). Every other store is asked
before each write, which leaves a moment in between: who was overwritten sees it when it reads again.

>>> import fsspec
>>> target = conditional_object("memory://docs/conditional")
>>> tag = target.write(b"mine", None)
>>> target.write(b"too late", None)
Traceback (most recent call last):
    ...
respace.storage.conditional.Changed: /docs/conditional is not what was read any more
>>> target.remove(target.write(b"mine again", tag))
>>> target.read() is None
True
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import inf
from typing import Any, Protocol

from respace.storage.files import filesystem
from respace.storage.publish import TEMPORARY_SUFFIX

# What S3 answers if the object is another one, or is being written by another request; and if it is gone.
_S3_CONFLICTS, _S3_GONE = (409, 412), 404


class Changed(Exception):
    """The object is not what was read: another process has created, replaced or removed it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What was read.

    Args:
        content: all of it.
        tag: what the store calls this version.
    """

    content: bytes
    tag: str


class ConditionalObject(Protocol):
    """An object of a store, which may not be there."""

    def read(self) -> Stored | None:
        """What it holds; None if there is none."""

    def write(self, content: bytes, tag: str | None) -> str:
        """Replaces the version that has this tag, or creates the object if the tag is None. Returns the new tag.

        Raises:
            Changed: it is another version, or there is (not) one.
        """

    def remove(self, tag: str) -> None:
        """Removes the version that has this tag.

        Raises:
            Changed: it is another version, or gone.
        """

    def age(self) -> float | None:
        """Seconds since it was written, by the clock of the store alone.

        None if the store tells no time, endless if the object is gone.
        """


def conditional_object(url: str) -> ConditionalObject:
    """The object of a URL, with the conditions that its store knows."""
    store, path = filesystem(url)
    protocols = {store.protocol} if isinstance(store.protocol, str) else set(store.protocol)
    if "s3" in protocols:
        return _S3Object(store, path)
    if "gs" in protocols:
        return _GcsObject(store, path)
    return _AnyObject(store, path)


class _S3Object:
    def __init__(self, store: Any, path: str):
        self._store, self._path = store, path
        bucket, key, _ = store.split_path(path)
        self._place = {"Bucket": bucket, "Key": key}

    def read(self) -> Stored | None:
        from fsspec.asyn import sync

        try:
            answer = self._store.call_s3("get_object", **self._place)
        except FileNotFoundError:
            return None
        return Stored(sync(self._store.loop, answer["Body"].read), answer["ETag"])

    def write(self, content: bytes, tag: str | None) -> str:
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        with self._conflicts(*([] if tag is None else [_S3_GONE])):
            return str(self._store.call_s3("put_object", **self._place, Body=content, **condition)["ETag"])

    def remove(self, tag: str) -> None:
        with self._conflicts(_S3_GONE):
            self._store.call_s3("delete_object", **self._place, IfMatch=tag)

    def age(self) -> float | None:
        try:
            answer = self._store.call_s3("head_object", **self._place)
        except FileNotFoundError:
            return inf
        return _seconds(answer["LastModified"], answer["ResponseMetadata"]["HTTPHeaders"].get("date"))

    @contextmanager
    def _conflicts(self, *others: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            answer = getattr(error.__cause__, "response", None) or {}
            if answer.get("ResponseMetadata", {}).get("HTTPStatusCode") in (*_S3_CONFLICTS, *others):
                raise _changed(self._path) from error
            raise


class _GcsObject:
    def __init__(self, store: Any, path: str):
        self._store, self._path = store, path
        self._bucket, self._key, _ = store.split_path(path)

    def read(self) -> Stored | None:
        while (described := self._described()) is not None:
            generation = described[1]["generation"]
            try:
                _, content = self._call("GET", alt="media", generation=generation)
            except FileNotFoundError:  # replaced since: the next description is of another generation
                continue
            return Stored(bytes(content), generation)
        return None

    def write(self, content: bytes, tag: str | None) -> str:
        with self._conflicts(*([] if tag is None else [FileNotFoundError])):
            _, answer = self._store.call(
                "POST",
                f"{self._store._location}/upload/storage/v1/b/{self._bucket}/o",
                uploadType="media",
                name=self._key,
                ifGenerationMatch=tag or "0",
                headers={"Content-Type": "application/octet-stream"},
                data=content,
            )
        return str(json.loads(answer)["generation"])

    def remove(self, tag: str) -> None:
        with self._conflicts(FileNotFoundError):
            self._call("DELETE", ifGenerationMatch=tag)

    def age(self) -> float | None:
        described = self._described()
        if described is None:
            return inf
        headers, about = described
        return _seconds(datetime.fromisoformat(about["timeCreated"]), headers.get("Date"))

    def _described(self) -> tuple[Any, dict[str, Any]] | None:
        try:
            headers, about = self._call("GET")
        except FileNotFoundError:
            return None
        return headers, json.loads(about)

    def _call(self, method: str, **parameters: str) -> tuple[Any, bytes]:
        answer: tuple[Any, bytes] = self._store.call(method, "b/{}/o/{}", self._bucket, self._key, **parameters)
        return answer

    @contextmanager
    def _conflicts(self, *others: type[Exception]) -> Iterator[None]:
        conflicts: tuple[type[Exception], ...] = (FileExistsError, *others)  # what gcsfs makes of 412, and of 404
        try:
            yield
        except conflicts as error:
            raise _changed(self._path) from error


class _AnyObject:
    """Asked before each write. The content is its own tag, because every process writes another one."""

    def __init__(self, store: Any, path: str):
        self._store, self._path = store, path

    def read(self) -> Stored | None:
        try:
            content = bytes(self._store.cat_file(self._path))
        except FileNotFoundError:
            return None
        return Stored(content, _digest(content))

    def write(self, content: bytes, tag: str | None) -> str:
        self._check(tag)
        try:
            self._store.pipe_file(self._path, content, **({"mode": "create"} if tag is None else {}))
        except FileExistsError as error:
            raise _changed(self._path) from error
        return _digest(content)

    def remove(self, tag: str) -> None:
        self._check(tag)
        try:
            self._store.rm_file(self._path)
        except FileNotFoundError as error:
            raise _changed(self._path) from error

    def age(self) -> float | None:
        """By an object that was written just now."""
        probe = f"{self._path}.now{TEMPORARY_SUFFIX}"
        try:
            self._store.pipe_file(probe, b"")
            now, then = self._store.modified(probe), self._store.modified(self._path)
            self._store.rm_file(probe)
        except NotImplementedError:
            self._store.rm_file(probe)
            return None
        except FileNotFoundError:  # another process asks the same, with the same probe, or the object was removed
            return 0.0
        return float((now - then).total_seconds())

    def _check(self, tag: str | None) -> None:
        found = self.read()
        if (found.tag if found else None) != tag:
            raise _changed(self._path)


def _changed(path: str) -> Changed:
    return Changed(f"{path} is not what was read any more")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _seconds(then: datetime, now: str | None) -> float | None:
    return None if now is None else (parsedate_to_datetime(now) - then).total_seconds()
