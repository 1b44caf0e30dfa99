"""Every way to repair spaces, by name: baselines, shipped models, model directories, and functions of your own."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from typing import Any

from models.files import ModelError, ModelFiles, load_model, shipped_models
from models.tensorflow import import_tensorflow
from respace.repairer import Method, check_penalties

# Names that people say, and the model that is meant.
ALIASES = {"fast": "default", "bid_plus_the_one": "bid_plus", "uni_plus_the_one": "uni_plus"}
_SEARCHES = ("uni", "bid", "combination")
# Kinds of models that ship beside the methods and repair nothing by themselves.
_NO_METHODS = ("words", "prose")


def _do_nothing() -> Method:
    from models.words.baselines import DoNothing

    return DoNothing()


def _greedy() -> Method:
    from models.words.baselines import Greedy

    return Greedy.load()


def _dynamic_programming() -> Method:
    from models.words.baselines import DynamicProgramming

    return DynamicProgramming.load()


def _wordsegment() -> Method:
    from models.words.baselines import WordSegment

    return WordSegment()


BASELINES: dict[str, Callable[[], Method]] = {
    "do_nothing": _do_nothing,
    "greedy": _greedy,
    "dynamic_programming": _dynamic_programming,
    "wordsegment": _wordsegment,
}


def method_names() -> list[str]:
    """All names that `load_method` knows; it also takes model directories and names of Python functions."""
    shipped = [name for name in shipped_models() if load_config_kind(name) not in _NO_METHODS]
    return [*BASELINES, *shipped, *(alias for alias, meant in ALIASES.items() if meant in shipped)]


def load_method(model: str, insertion_penalty: float | None = None, deletion_penalty: float | None = None) -> Method:
    """Loads a method: a baseline or shipped model by name, or a model directory, local or remote.

    A name of the form ``package.module:name`` is any function or class of yours that gives a method when it is called
    with the two penalties.

    Raises:
        ValueError: an unknown name, with the names there are; or a penalty that cannot be.
    """
    _check_penalties(model, insertion_penalty, deletion_penalty)
    if model in BASELINES:
        return BASELINES[model]()
    if _is_python_name(model):
        module, _, name = model.partition(":")
        return getattr(importlib.import_module(module), name)(insertion_penalty, deletion_penalty)
    files = _load(model)
    kind = files.config.get("kind")
    if kind == "fast" or kind in _SEARCHES:
        import_tensorflow()
    if kind == "fast":
        from models.fast.method import FastMethod

        return FastMethod.from_files(files, insertion_penalty, deletion_penalty)
    if kind in _SEARCHES:
        from models.paper.search import SearchMethod

        return SearchMethod.from_files(files, insertion_penalty, deletion_penalty)
    raise ModelError(
        f"{model} is a model of kind {kind!r}, which repairs nothing by itself: "
        f"expected one of {', '.join(method_names())}, or a model directory"
    )


def method_identity(model: str, insertion_penalty: float | None = None, deletion_penalty: float | None = None) -> str:
    """What `load_method` would decide by, without loading TensorFlow: equal identities repair alike."""
    if model in BASELINES or _is_python_name(model):
        return load_method(model, insertion_penalty, deletion_penalty).identity
    _check_penalties(model, insertion_penalty, deletion_penalty)
    files = _load(model)
    digests = [files.sha256]
    if files.config.get("kind") == "combination":
        digests += [load_model(files.config[key]).sha256 for key in ("language_model", "labels")]
    sha256 = digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()
    return f"{files.name}@{sha256} insertion_penalty={insertion_penalty} deletion_penalty={deletion_penalty}"


def fitted_penalties(model: str) -> dict[str, dict[str, float]]:
    """The pair of penalties that was fitted for each benchmark, where a model has them and its name does not say no."""
    if model in BASELINES or _is_python_name(model) or model.endswith("_the_one"):
        return {}
    found: dict[str, Any] = _load(model).config.get("fitted_penalties", {})
    return found


def load_config_kind(model: str) -> str | None:
    """The kind of a model, from its config.json alone."""
    import json

    import fsspec

    from models.files import CONFIG, locate

    with fsspec.open(f"{locate(model)}/{CONFIG}", "rb") as stream:
        return json.loads(stream.read()).get("kind")


def _load(model: str) -> ModelFiles:
    name = ALIASES.get(model, model)
    try:
        return load_model(name)
    except ModelError as error:
        if "unknown model" in str(error):
            names = ", ".join(method_names())
            raise ModelError(
                f"unknown method {model!r}: expected one of {names}, or the path or URL of a model directory"
            ) from None
        raise


def _check_penalties(model: str, insertion_penalty: float | None, deletion_penalty: float | None) -> None:
    for option, penalty in (("insertion_penalty", insertion_penalty), ("deletion_penalty", deletion_penalty)):
        if penalty is not None and model in BASELINES:
            raise ValueError(f"{option} {penalty:g}: {model} has no penalties. Leave it out, or choose a model")
    check_penalties(insertion_penalty, deletion_penalty)


def _is_python_name(model: str) -> bool:
    module, colon, name = model.partition(":")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))
