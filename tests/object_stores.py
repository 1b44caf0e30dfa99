"""Real servers of object stores on this machine, each with one empty bucket and the environment that leads to it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
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
    server = emulator.create_server("localhost", port, in_memory=True, default_bucket=bucket)
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://localhost:{port}")
    yield fsspec.filesystem("gs", token="anon", endpoint_url=f"http://localhost:{port}", skip_instance_cache=True)
    server.stop()
