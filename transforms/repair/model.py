"""The model of a repair: loaded once per process, or in a process next to it that is ended when a text takes too long.

No exception, signal or thread reaches compiled code that goes on for hours (a regular expression, a loop), and an
engine does not forgive the end of its own worker processes. So the model runs in a process of ours, on every engine,
which gets texts and gives back edits: some hundred kilobytes a second at most, which costs nothing next to the model.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, overload

from respace.repairer import Repair, Repairer
from respace.storage.errors import UserError
from transforms.shards.killable import KillableFunction, Stopped, TookTooLong

# A longer text may take as much longer.
CHARACTERS_PER_LIMIT = 1 << 18
# For reading the model, and for the first texts, for which loops may have to be compiled.
_LOAD_SECONDS = 1800.0
_COMPILE_SECONDS = 300.0


class DocumentTooSlow(Exception):
    """A document that took too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which model repairs, and how cautiously."""

    model: str = "default"
    insertion_penalty: float | None = None
    deletion_penalty: float | None = None
    join_hyphenated: bool = True
    all_text: bool = False


class KnownMethod(Protocol):
    """What has to be known of a method to use it from afar."""

    @property
    def identity(self) -> str: ...

    @property
    def context(self) -> int: ...


class TextRepairer(Protocol):
    """A `Repairer`, wherever it is."""

    @property
    def method(self) -> KnownMethod: ...

    @overload
    def repair_with_edits(self, text: str) -> Repair: ...
    @overload
    def repair_with_edits(self, text: list[str]) -> list[Repair]: ...


_repairers: dict[ModelOptions, Repairer] = {}
_processes: dict[tuple[ModelOptions, float], ModelProcess] = {}
_loading = threading.Lock()


def shared_repairer(options: ModelOptions) -> Repairer:
    """The model, loaded once per process.

    Raises:
        UserError: it cannot be loaded.
    """
    with _loading:
        if options not in _repairers:
            try:
                _repairers[options] = Repairer.load(**asdict(options))
            except ValueError as error:
                raise UserError(f"--model {options.model}: {error}") from error
        return _repairers[options]


def repairer_with_limit(options: ModelOptions, seconds: float) -> TextRepairer:
    """The model with a limit on the time of a text; without one (0) it runs in this process."""
    if not seconds:
        return shared_repairer(options)
    with _loading:
        return _processes.setdefault((options, seconds), ModelProcess(options, seconds))


class ModelProcess:
    """A `Repairer` in another process.

    Args:
        options: which model.
        seconds: that a text, or some texts together, may take; of more than `CHARACTERS_PER_LIMIT`, as much more.
    """

    def __init__(self, options: ModelOptions, seconds: float):
        self._options, self._seconds = options, seconds
        self._process = KillableFunction(_RepairTexts(options), seconds=seconds, memory_bytes=None)
        self._method: _Known | None = None
        self._may_compile = True

    @property
    def method(self) -> KnownMethod:
        if self._method is None:
            self._method = self._load()
        return self._method

    @overload
    def repair_with_edits(self, text: str) -> Repair: ...
    @overload
    def repair_with_edits(self, text: list[str]) -> list[Repair]: ...
    def repair_with_edits(self, text: str | list[str]) -> Repair | list[Repair]:
        """
        Raises:
            DocumentTooSlow: it took longer than it may.
            Stopped: the process died.
            UserError: the model cannot be loaded.
        """
        texts = [text] if isinstance(text, str) else text
        if not self._process.is_running:
            self._load()
        limit = self._seconds * max(1, -(-sum(map(len, texts)) // CHARACTERS_PER_LIMIT))
        try:
            answer = self._process(texts, limit + _COMPILE_SECONDS * self._may_compile)
        except TookTooLong as error:
            raise DocumentTooSlow(f"took more than {limit:g} s, which --max_document_seconds allows it") from error
        self._may_compile = False
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, list)
        return answer[0] if isinstance(text, str) else answer

    def _load(self) -> _Known:
        self._may_compile = True
        try:
            answer = self._process(None, _LOAD_SECONDS)
        except Stopped as error:
            raise UserError(
                f"--model {self._options.model}: its process ended while it was loaded ({error}). Most often the "
                "memory ran out, and fewer --local_workers need less"
            ) from error
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, _Known)
        return answer


@dataclass(frozen=True, slots=True)
class _Known:
    identity: str
    context: int


@dataclass(frozen=True, slots=True)
class _RepairTexts:
    """What the other process does. Errors are answers: they keep their class."""

    options: ModelOptions

    def __call__(self, texts: Sequence[str] | None) -> _Known | list[Repair] | Exception:
        try:
            repairer = shared_repairer(self.options)
            if texts is None:
                return _Known(repairer.method.identity, repairer.method.context)
            return repairer.repair_with_edits(list(texts))
        except Exception as error:  # of any kind: a model may be anything, and its caller decides
            return _picklable(error)


def _picklable(error: Exception) -> Exception:
    try:
        copied = pickle.loads(pickle.dumps(error))
    except Exception:  # of any kind: so it cannot be sent
        copied = None
    return error if type(copied) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")
