"""Model directories: ``config.json``, ``weights.safetensors``, and ``SHA256SUMS`` over all files.

What a model counted instead of learning it may lie in files of its own, one for each prefix of `APART`. Networks are
built in code; a directory holds numbers and settings, nothing that runs. Directories are local or remote (anything
fsspec reads), or ship with Respace and are known by name.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace.storage.files import join_url, read_bytes, remove
from respace.storage.publish import publish_bytes

FORMAT = 1
CONFIG, WEIGHTS, SUMS = "config.json", "weights.safetensors", "SHA256SUMS"
# Weights whose names begin like this are written to a file of that name.
APART = ("language_model", "reader", "word_pieces")
Weights = dict[str, NDArray[Any]]
_Content = bytes | mmap.mmap

# Of a file in the format of safetensors: models have tens of arrays, and their header a few thousand bytes.
_MOST_ARRAYS, _LONGEST_HEADER = 4096, 1 << 20

# Numbers as safetensors calls them.
_KINDS = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
_SHIPPED = Path(__file__).parent / "pretrained"


class ModelError(ValueError):
    """A model directory that cannot be used, with the file, what was expected and what to do."""


class UnknownModel(ModelError):
    """A name that is neither a shipped model nor a directory."""


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """A model as it was read and verified. ``directory`` is where from; nothing if it is not written yet."""

    name: str
    config: dict[str, Any]
    weights: Weights
    sha256: str
    directory: str = ""


def shipped_models() -> list[str]:
    """Names of the models that come with the package."""
    return sorted(path.parent.name for path in _SHIPPED.glob(f"*/{CONFIG}"))


def shipped_directory(name: str) -> Path:
    """Where a shipped model lies, or would lie."""
    return _SHIPPED / name


def locate(model: str) -> str:
    """The directory of a shipped name, or the given directory itself."""
    if model in shipped_models():
        return str(_SHIPPED / model)
    if "/" not in model and "\\" not in model and not Path(model).is_dir():
        names = ", ".join(shipped_models())
        raise UnknownModel(f"unknown model {model!r}: expected one of {names}, or the path or URL of a model directory")
    return model


def save_model(directory: str | Path, config: dict[str, Any], weights: Weights) -> str:
    """Writes a model directory and returns its sha256. The sums are written last: without them it does not load."""
    import safetensors.numpy

    remove(join_url(str(directory), SUMS))
    contents = {CONFIG: (json.dumps({"format": FORMAT} | config, indent=2) + "\n").encode()}
    parts: dict[str, Weights] = {WEIGHTS: {}}
    for name, array in weights.items():
        prefix = name.partition("/")[0]
        file = f"{prefix}.safetensors" if prefix in APART else WEIGHTS
        parts.setdefault(file, {})[name] = np.ascontiguousarray(array)
    contents |= {file: safetensors.numpy.save(part) for file, part in parts.items()}
    for file, content in contents.items():
        publish_bytes(join_url(str(directory), file), content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {file}\n" for file, content in contents.items())
    publish_bytes(join_url(str(directory), SUMS), sums.encode())
    return hashlib.sha256(sums.encode()).hexdigest()


def load_model(model: str) -> ModelFiles:
    """Reads and verifies a model.

    Raises:
        ModelError: a file is missing, truncated, altered, or of a format this version does not know.
    """
    directory = locate(model)
    sums = _read(directory, SUMS).decode(errors="replace")
    expected = {}
    for line in sums.splitlines():
        digest, _, file = line.partition("  ")
        expected[file] = digest
    contents: dict[str, _Content] = {}
    for file in (CONFIG, WEIGHTS):
        if file not in expected:
            raise ModelError(f"{directory}/{SUMS} has no line for {file}: copy the model directory again")
    known = [CONFIG, WEIGHTS, *(f"{prefix}.safetensors" for prefix in APART)]
    for file in (file for file in known if file in expected):
        contents[file], found = _read_with_digest(directory, file, expected[file])
        if found != expected[file]:
            raise ModelError(
                f"{directory}/{file} is truncated or altered: sha256 {found}, expected {expected[file]}. "
                "Copy the model directory again"
            )
    config = _parsed(directory, contents[CONFIG])
    if config.get("format") != FORMAT:
        raise ModelError(f"{directory}/{CONFIG} has format {config.get('format')!r}; this version reads {FORMAT}")
    name = config.get("name", Path(directory).name)
    if not isinstance(name, str) or not name.isprintable():
        raise ModelError(f"{directory}/{CONFIG} has the name {name!r}: expected a word")
    return ModelFiles(
        name=name,
        config=config,
        weights={
            name: array
            for file, content in contents.items()
            if file != CONFIG
            for name, array in _arrays(f"{directory}/{file}", content).items()
        },
        sha256=hashlib.sha256(sums.encode()).hexdigest(),
        directory=directory,
    )


def load_referred(files: ModelFiles, key: str) -> ModelFiles:
    """The model that another one is made of: a shipped one, or one in a folder beside it.

    Raises:
        ModelError: it names none, itself, another combination, or a folder elsewhere: what a stranger wrote into a
            configuration must not decide what is read from this machine.
    """
    name = files.config.get(key)
    if not isinstance(name, str):
        raise ModelError(f"{files.name}: config.json names no {key!r}: expected a shipped model or a model directory")
    if name not in shipped_models() and files.directory:
        name = _beside(files, key, name)
    if _parsed(name, _read(locate(name), CONFIG)).get("kind") == "combination":
        raise ModelError(f"{files.name}: {key!r} is {name}, a combination itself: expected a model")
    return load_model(name)


def _beside(files: ModelFiles, key: str, name: str) -> str:
    remote = "://" in files.directory
    own = files.directory.rstrip("/") if remote else os.path.realpath(files.directory)
    parent = own.rpartition("/")[0]
    for place in (f"{parent}/{name}", name):
        where = place.rstrip("/") if remote else os.path.realpath(place)
        if where.rpartition("/")[0] == parent and where != own and ".." not in where.split("/"):
            return where
    raise ModelError(
        f"{files.name}: config.json names {name!r} as {key!r}: expected a shipped model or a folder beside "
        f"{files.directory}. Move the model there"
    )


def _parsed(directory: str, content: _Content) -> dict[str, Any]:
    try:
        config = json.loads(bytes(content), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{directory}/{CONFIG} is no JSON ({error}). Copy the model directory again") from error
    if not isinstance(config, dict):
        raise ModelError(f"{directory}/{CONFIG} is {type(config).__name__}, expected an object")
    return config


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _arrays(url: str, content: _Content) -> Weights:
    """Arrays of a file in the format of safetensors, as they lie in it.

    The library would copy them: so nothing is read that is not asked for, and all processes of a machine share it.
    """
    try:
        everything = memoryview(content)
        start = 8 + int.from_bytes(everything[:8], "little")
        if start > _LONGEST_HEADER:
            raise ValueError(f"a header of {start:,} bytes, expected at most {_LONGEST_HEADER:,}")
        header = json.loads(bytes(everything[8:start]))
        header.pop("__metadata__", None)
        if len(header) > _MOST_ARRAYS:
            raise ValueError(f"{len(header):,} arrays, expected at most {_MOST_ARRAYS:,}")
        arrays = {name: _array(everything[start:], **entry) for name, entry in header.items()}
        if sum(array.nbytes for array in arrays.values()) > len(everything) - start:
            raise ValueError("arrays that overlap")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{url} cannot be read as safetensors ({error}). Copy the model directory again") from error
    for name, array in arrays.items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise ModelError(f"{url}: {name!r} has values that are not finite numbers. Train or copy the model again")
    return arrays


def _array(content: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> NDArray[Any]:
    first, last = data_offsets
    if not 0 <= first <= last <= len(content):
        raise ValueError(f"bytes {first} to {last} of {len(content)}")
    array: NDArray[Any] = np.frombuffer(content[first:last], dtype=_KINDS[dtype]).reshape([abs(one) for one in shape])
    return np.require(array, requirements=["ALIGNED"])


def load_config(model: str) -> dict[str, Any]:
    """The configuration of a model alone: enough to say what it is, not verified."""
    config: dict[str, Any] = json.loads(_read(locate(model), CONFIG))
    return config


def is_number(value: object) -> bool:
    """Whether something of a configuration is a number, which ``true`` is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def combined_sha256(*digests: str) -> str:
    """One digest for a model that is made of several."""
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _read(directory: str, file: str) -> bytes:
    with _missing_is_told(directory, file):
        return read_bytes(join_url(directory, file))


def _read_with_digest(directory: str, file: str, expected: str) -> tuple[_Content, str]:
    """A file, and its sha256. One on this machine is not read into memory but mapped."""
    with _missing_is_told(directory, file, f" (expected sha256 {expected})"):
        if "://" in directory:
            content = read_bytes(join_url(directory, file))
            return content, hashlib.sha256(content).hexdigest()
        with open(os.path.expanduser(join_url(directory, file)), "rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
            if not os.fstat(stream.fileno()).st_size:
                return b"", found
            # What is written to a copy stays in this process; nothing is, but read-only arrays compile differently.
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY), found


@contextmanager
def _missing_is_told(directory: str, file: str, wanted: str = "") -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        path = join_url(directory, file)
        raise ModelError(f"{path} is missing{wanted}: a model directory holds {CONFIG}, {WEIGHTS} and {SUMS}") from None
