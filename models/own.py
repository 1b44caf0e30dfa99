"""Methods of others, by the name of their module: ``package.module:YourMethod``. That runs the code of the module."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from models.files import ModelError
from respace.method import Method

_MEMBERS = ("identity", "context", "decide")


def is_python_name(model: str) -> bool:
    """
    >>> is_python_name("package.module:Method"), is_python_name("s3://bucket"), is_python_name("default")
    (True, False, False)
    """
    module, colon, name = model.partition(":")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def load_own_method(model: str, insertion_penalty: float | None, deletion_penalty: float | None) -> Method:
    """A method of a class or function that is called with the two penalties, or with nothing if it takes nothing.

    Raises:
        ModelError: there is no such module or name in it, or it does not give a method.
    """
    make, name = _find(model), model.partition(":")[2]
    if not callable(make):
        raise ModelError(
            f"{name} is of type {type(make).__name__}. Expected a class, or a function that returns a method"
        )
    if _takes(make, insertion_penalty, deletion_penalty):
        method = make(insertion_penalty, deletion_penalty)
    elif not _takes(make):
        raise ModelError(
            f"{name} takes other arguments. Expected (insertion_penalty, deletion_penalty), each a number or None, "
            "or no arguments"
        )
    elif insertion_penalty is not None or deletion_penalty is not None:
        raise ModelError(f"{name} takes no penalties. Leave them out, or give it two arguments for them")
    else:
        method = make()
    missing = [member for member in _MEMBERS if not hasattr(method, member)]
    if missing:
        raise ModelError(
            f"{name} gives an object of type {type(method).__name__}, which has no {', '.join(missing)}. "
            "Expected a Method, see respace/method.py"
        )
    return method  # type: ignore[no-any-return]


def _find(model: str) -> Any:
    module, _, name = model.partition(":")
    # As with python -m: a module in the current directory is found by the command, too.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ModelError(
            f"{error}. Run from the directory that {module.partition('.')[0]} is in, or set PYTHONPATH to it"
        ) from error
    if not hasattr(found, name):
        raise ModelError(f"{found.__file__} has no {name}. Check the name")
    return getattr(found, name)


def _takes(make: Callable[..., Any], *arguments: object) -> bool:
    try:
        inspect.signature(make).bind(*arguments)
    except TypeError:
        return False
    return True
