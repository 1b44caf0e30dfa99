"""Loops over characters: plain Python that numba compiles, as soon as there is enough to do.

Importing numba and loading what it compiled takes most of a second, and compiling on a new machine far longer. The
interpreter has repaired a short text long before: inside of `interpreted` the same functions run as they are written,
so there is one implementation of each, and a line on the command line does not wait.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numpy as np

FIRST_RUN = "first run on this machine: compiling, which takes up to half a minute and happens once"

Function = TypeVar("Function", bound=Callable[..., Any])

_creating = Lock()
_is_interpreted = False
_ours: set[Callable[..., Any]] = set()  # the functions that numba gets from here, not those of other packages
_listeners: list[Callable[[], None]] = []
_log = logging.getLogger(__name__)
_was_logged = False


@contextmanager
def interpreted() -> Iterator[None]:
    """Loops are not compiled in this block, in the whole process: for a short text, before anything else was repaired.

    Results are those of the compiled loops up to rounding.
    """
    global _is_interpreted
    _is_interpreted = True
    try:
        with np.errstate(over="ignore"):  # hashes overflow, and are meant to
            yield
    finally:
        _is_interpreted = False


def on_compilation(listener: Callable[[], None]) -> Callable[[], None]:
    """Calls this whenever a loop is compiled, rather than loaded, until the returned function is called.

    Where there is no listener, the first loop of a process that is compiled is logged as a warning, which Python shows
    on standard error: it is the only sign of life for up to half a minute.
    """
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def compiled(function: Function) -> Function:
    """A loop that is compiled when it is first called."""
    return cast(Function, _Loop(function, fastmath=False))


def compiled_sum(function: Function) -> Function:
    """As `compiled`, for loops whose sums may be added in any order: several terms at once."""
    return cast(Function, _Loop(function, fastmath=True))


class _Loop:
    def __init__(self, function: Callable[..., Any], fastmath: bool):
        self.function, self._fastmath = function, fastmath
        self._dispatcher: Any = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments) if _is_interpreted else self._compiled(*arguments)

    @property
    def _compiled(self) -> Any:
        if self._dispatcher is None:
            with _creating:
                self._dispatcher = self._dispatcher or _compile(self.function, self._fastmath)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """Asked for by numba where one loop calls another."""
        return self._compiled._numba_type_


def _compile(function: Callable[..., Any], fastmath: bool) -> Any:
    import numba

    _hear_numba()
    # Numba keeps what it compiled until the function's own file changes. What it calls and what constants it reads is
    # part of it, too, and may stand elsewhere; so it is kept under a name that changes with all of these.
    named = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    named.__qualname__ = f"{function.__qualname__}.{fingerprint(function)}"
    named.__module__ = function.__module__
    _ours.add(named)

    # Nothing calls loops as C functions, and making these would be a twentieth of the time that compiling takes.
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "no_cfunc_wrapper": True}
    try:
        return numba.njit(named, cache=True, **options)
    except RuntimeError:  # there is no place for what was compiled: neither the package nor a home can be written
        return numba.njit(named, cache=False, **options)


@cache
def _hear_numba() -> None:
    from numba.core import event as events

    class Compilations(events.Listener):
        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"].py_func in _ours:
                _tell_compilation()

        def on_end(self, event: Any) -> None:
            pass

    events.register("numba:compile", Compilations())  # type: ignore[no-untyped-call]


def _tell_compilation() -> None:
    global _was_logged
    for listener in list(_listeners):
        listener()
    if not _listeners and not _was_logged:
        _log.warning("respace: %s", FIRST_RUN)
        _was_logged = True


def fingerprint(function: Callable[..., Any]) -> str:
    """Of all that is compiled into a loop: its code, the loops that it calls, and the constants that they read."""
    digest = hashlib.sha256()
    for part in _parts(function, set()):
        digest.update(part)
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _parts(function: Callable[..., Any], seen: set[Callable[..., Any]]) -> Iterator[bytes]:
    seen.add(function)
    code = function.__code__
    yield code.co_code
    yield repr([one for one in code.co_consts if not isinstance(one, CodeType)]).encode()
    for name in code.co_names:
        value = function.__globals__.get(name)
        yield name.encode()
        if isinstance(value, _Loop):
            if value.function not in seen:
                yield from _parts(value.function, seen)
        elif isinstance(value, np.ndarray):
            yield value.tobytes()
        elif isinstance(value, (int, float, str, bytes, tuple, np.generic)):
            yield repr(value).encode()
