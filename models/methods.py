"""Every way to repair spaces, by name: baselines, shipped models, model directories, and functions of your own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from models.files import (
    ModelError,
    ModelFiles,
    UnknownModel,
    combined_sha256,
    load_config,
    load_model,
    load_referred,
    shipped_models,
)
from models.identity import model_identity, penalties_in_force
from models.own import is_python_name, load_own_method
from models.paper.pruning import search_settings
from models.tensorflow import import_tensorflow
from respace.method import Method, check_penalties

# Names that people say, and the model that is meant.
ALIASES = {"fast": "default", "bid_plus_the_one": "bid_plus", "uni_plus_the_one": "uni_plus"}


@dataclass(frozen=True)
class Kind:
    """How models of one kind (``kind`` of their config.json) are loaded, and what their identity depends on.

    Args:
        load: makes a method of a model's files and the two penalties, None where the model's own are meant.
        settings: what decides beside the files and the penalties.
        made_of: entries of the configuration that name other models.
    """

    load: Callable[[ModelFiles, float | None, float | None], Method]
    settings: Callable[[Mapping[str, Any]], dict[str, object]] = lambda config: {}
    made_of: tuple[str, ...] = ()


def _fast(files: ModelFiles, insertion_penalty: float | None, deletion_penalty: float | None) -> Method:
    from models.fast.method import FastMethod

    return FastMethod.from_files(files, insertion_penalty, deletion_penalty)


def _search(files: ModelFiles, insertion_penalty: float | None, deletion_penalty: float | None) -> Method:
    import_tensorflow()
    from models.paper.search import SearchMethod

    return SearchMethod.from_files(files, insertion_penalty, deletion_penalty)


def _settings_of_search(config: Mapping[str, Any]) -> dict[str, object]:
    return search_settings(config.get("language_weight", 1.0))


# The only list of kinds. What is not in it (counts of words) repairs nothing by itself.
KINDS: dict[str, Kind] = {
    "fast": Kind(_fast),
    "uni": Kind(_search, _settings_of_search),
    "bid": Kind(_search, _settings_of_search),
    "combination": Kind(_search, _settings_of_search, made_of=("language_model", "labels")),
}


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
    shipped = [name for name in shipped_models() if load_config(name).get("kind") in KINDS]
    return [*BASELINES, *shipped, *(alias for alias, meant in ALIASES.items() if meant in shipped)]


def load_method(model: str, insertion_penalty: float | None = None, deletion_penalty: float | None = None) -> Method:
    """Loads a method: a baseline or shipped model by name, or a model directory, local or remote.

    A name of the form ``package.module:name`` is a class or function of yours, see `models.own`. It runs the code of
    that module, which nothing else does that can be named here.

    Raises:
        ValueError: an unknown name, with the names there are; or a penalty that cannot be.
    """
    _check_penalties(model, insertion_penalty, deletion_penalty)
    if model in BASELINES:
        return BASELINES[model]()
    if is_python_name(model):
        return load_own_method(model, insertion_penalty, deletion_penalty)
    files = _load(model)
    kind = _kind_of(model, files)
    with _as_model_errors(model):
        return kind.load(files, insertion_penalty, deletion_penalty)


# Methods that were asked for by identity, the latest last. More are rarely used in one process, and all hold weights.
_MOST_KEPT = 4
_kept: dict[tuple[str, float | None, float | None, str], Method] = {}
_keeping = threading.Lock()


def load_method_once(
    model: str, insertion_penalty: float | None, deletion_penalty: float | None, identity: str
) -> Method:
    """As `load_method`, but one object for all who ask this process for the same method.

    Raises:
        ModelError: what is found under this name has another identity.
    """
    key = (model, insertion_penalty, deletion_penalty, identity)
    with _keeping:
        method = _kept.pop(key, None)
        # Penalties of a method can be set: then it is no longer what it was kept as.
        if method is None or method.identity != identity:
            method = load_method(*key[:3])
        if method.identity != identity:
            raise ModelError(f"{model} is {method.identity} here, expected {identity}. Copy that model to this place")
        _kept[key] = method
        for oldest in list(_kept)[:-_MOST_KEPT]:
            del _kept[oldest]
    return method


def known_everywhere(model: str) -> str:
    """What `load_method` calls the same model in a process that runs in another directory."""
    if model in method_names() or is_python_name(model) or "://" in model:
        return model
    return os.path.abspath(os.path.expanduser(model))


def method_identity(model: str, insertion_penalty: float | None = None, deletion_penalty: float | None = None) -> str:
    """The identity of what `load_method` would load, without loading TensorFlow."""
    if model in BASELINES or is_python_name(model):
        return load_method(model, insertion_penalty, deletion_penalty).identity
    _check_penalties(model, insertion_penalty, deletion_penalty)
    files = _load(model)
    kind = _kind_of(model, files)
    with _as_model_errors(model):
        parts = [load_referred(files, key).sha256 for key in kind.made_of]
        sha256 = combined_sha256(files.sha256, *parts) if parts else files.sha256
        insertion, deletion = penalties_in_force(files.config, insertion_penalty, deletion_penalty)
        check_penalties(insertion, deletion)
        return model_identity(files.name, sha256, insertion, deletion, **kind.settings(files.config))


def fitted_penalties(model: str) -> dict[str, dict[str, float]]:
    """The pair of penalties that was fitted for each benchmark, where a model has them and its name does not say no."""
    if model in BASELINES or is_python_name(model) or model.endswith("_the_one"):
        return {}
    found: dict[str, Any] = _load(model).config.get("fitted_penalties", {})
    return found


@contextmanager
def _as_model_errors(model: str) -> Iterator[None]:
    """What a directory does to its loader is the directory's fault: a configuration can be wrong in any way."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        said = (str(error).splitlines() or [""])[0][:200]
        raise ModelError(
            f"{model}: its configuration or weights are not those of a model ({type(error).__name__}: {said}). "
            "Train or copy it again"
        ) from error


def _kind_of(model: str, files: ModelFiles) -> Kind:
    kind = files.config.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelError(
            f"{model} is a model of kind {kind!r}, which repairs nothing by itself: "
            f"expected one of {', '.join(method_names())}, or a model directory"
        )
    return KINDS[kind]


def _load(model: str) -> ModelFiles:
    try:
        return load_model(ALIASES.get(model, model))
    except UnknownModel:
        names = ", ".join(method_names())
        raise UnknownModel(
            f"unknown method {model!r}: expected one of {names}, or the path or URL of a model directory"
        ) from None


def _check_penalties(model: str, insertion_penalty: float | None, deletion_penalty: float | None) -> None:
    for option, penalty in (("insertion_penalty", insertion_penalty), ("deletion_penalty", deletion_penalty)):
        if penalty is not None and model in BASELINES:
            raise ValueError(f"{option} {penalty:g}: {model} has no penalties. Leave it out, or choose a model")
    check_penalties(insertion_penalty, deletion_penalty)
