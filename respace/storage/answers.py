"""The first question to an object store: one that cannot be reached, or refuses, is told in one line, within seconds.

Clients of object stores try again for minutes, which is right in the middle of a job, and wrong for a name that was
mistyped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from respace.storage.errors import UserError
from respace.storage.files import is_local

ANSWER_SECONDS = 25.0

Answer = TypeVar("Answer")


def first_answer(option: str, url: str, ask: Callable[[], Answer]) -> Answer:
    """What a store answers.

    Args:
        option: the option that named the store, for messages.
        url: what it is asked about.
        ask: the question.

    Raises:
        UserError: it refuses, or does not answer in time.
    """
    if is_local(url):
        return ask()
    answers: list[Answer] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # every store has its own errors
            errors.append(error)

    asking = threading.Thread(target=run, name="respace-first-answer", daemon=True)
    asking.start()
    asking.join(ANSWER_SECONDS)
    if answers:
        return answers[0]
    if errors and isinstance(errors[0], UserError):
        raise errors[0]
    reason = _reason(errors[0]) if errors else f"no answer within {ANSWER_SECONDS:.0f} s"
    raise UserError(
        f"{option} {url}: the store cannot be used ({reason}). Check the name of the bucket, the region, the endpoint "
        "and your credentials"
    ) from (errors[0] if errors else None)


def _reason(error: Exception) -> str:
    said = (str(error).strip().splitlines() or [""])[0][:300]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
