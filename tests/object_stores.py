"""Real servers of object stores on this machine, each with one empty bucket and the environment that leads to it.

Real stores decide one request for an object after the other, and honour the conditions of requests. Moto's server has
threads that look first and write afterwards, and the emulator of GCS ignores ``ifGenerationMatch``; here both are as
documented ("Conditional requests" of S3, "Request preconditions" of GCS).
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.request import Request, urlopen

import fsspec
import pytest

# Asks a server for more than the emulator is, and it is decided when gcsfs is imported.
os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")

SECRET = "wJalrXUtnFEMI-secret"


@contextmanager
def s3_store(monkeypatch: pytest.MonkeyPatch, bucket: str = "corpus") -> Iterator[fsspec.AbstractFileSystem]:
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    one_by_one(monkeypatch)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    # All of these servers in one process share what they store, also with one that has stopped.
    urlopen(Request(f"{address}/moto-api/reset", method="POST"), timeout=30).close()
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()  # of the server of an earlier test
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    store.mkdir(bucket)
    yield store
    server.stop()


@contextmanager
def gcs_store(monkeypatch: pytest.MonkeyPatch, bucket: str = "corpus") -> Iterator[fsspec.AbstractFileSystem]:
    pytest.importorskip("gcsfs", reason="gcsfs is not installed")
    emulator = pytest.importorskip("gcp_storage_emulator.server", reason="gcp-storage-emulator is not installed")
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    honour_generations(monkeypatch)
    server = emulator.create_server("localhost", port, in_memory=True, default_bucket=bucket)
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://localhost:{port}")
    fsspec.get_filesystem_class("gs").clear_instance_cache()
    yield fsspec.filesystem("gs", token="anon", endpoint_url=f"http://localhost:{port}", skip_instance_cache=True)
    server.stop()


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has moto compare and write in one go."""
    from moto.s3.responses import S3Response

    turn = threading.RLock()

    def in_turn(handle: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def handled(request: Any) -> Any:
            with turn:
                return handle(request)

        return handled

    for name in ("put_object", "delete_object"):
        monkeypatch.setattr(S3Response, name, in_turn(getattr(S3Response, name)))


def honour_generations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the emulator of GCS, which answers one request after the other, refuse what the real API refuses."""
    from gcp_storage_emulator.exceptions import NotFound
    from gcp_storage_emulator.handlers import objects
    from gcp_storage_emulator.server import HANDLERS

    def generation(storage: Any, bucket: str, name: str) -> str:
        try:
            return str(storage.get_file_obj(bucket, name)["generation"])
        except NotFound:
            return "0"

    def conditional(handle: Callable[..., None]) -> Callable[..., None]:
        def handled(request: Any, response: Any, storage: Any, *arguments: Any, **options: Any) -> None:
            wanted = request.query.get("ifGenerationMatch")
            if wanted is not None:
                uploaded = request.query.get("name") or [(request.data or {}).get("meta", {}).get("name")]
                name = request.params.get("object_id") or uploaded[0]
                if generation(storage, request.params["bucket_name"], name) != wanted[0]:
                    response.status = HTTPStatus.PRECONDITION_FAILED
                    return
            handle(request, response, storage, *arguments, **options)

        return handled

    for _, handlers in HANDLERS:
        for method, handle in list(handlers.items()):
            if handle in (objects.insert, objects.delete):
                monkeypatch.setitem(handlers, method, conditional(handle))
