"""Errors that are the user's or the data's, not the program's: shown without a stack trace."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text for a terminal: control characters, which names of files may have, are shown escaped.

    >>> printable("a\\x1b[31m.txt: not\\tfound")
    'a\\\\x1b[31m.txt: not\\\\tfound'
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class UserError(Exception):
    """Something only the user can change. The message has the value, what was expected and what to do next.

    Args:
        message: what the user reads.
        exit_code: 2 for an option that cannot be right, 1 for a job that could not be done.
    """

    def __init__(self, message: str, exit_code: int = 1):
        super().__init__(message)
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type[UserError], tuple[str, int]]:
        return type(self), (str(self), self.exit_code)  # errors cross process boundaries


class BadOption(UserError):
    """An option that cannot be right."""

    def __init__(self, message: str, exit_code: int = 2):
        super().__init__(message, exit_code)


class BadFile(ValueError):
    """An input file that cannot be read as what it claims to be. ``--on_bad_file`` says what happens then."""
