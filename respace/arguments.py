"""What the arguments of the command mean: files or texts, and where the repair of each file goes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from respace.storage.errors import BadOption
from respace.storage.files import is_local

DASH = "-"
# Endings of names of files. A list, because "isfast.The" is text.
_ENDINGS = frozenset(
    "bib bz2 csv doc docx epub gz htm html json jsonl log md odt parquet pdf rst rtf tar tex text tsv txt xml xz yaml "
    "yml zip zst".split()
)
_BEGINS_LIKE_A_PATH = re.compile(r"\.{0,2}/|~/|[A-Za-z][A-Za-z0-9+]*://")


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the arguments are: texts to repair, or names of files, of which ``-`` is standard input."""

    texts: Sequence[str] = ()
    files: Sequence[str] = ()

    def characters(self) -> int | None:
        """About how many there are to repair; None if that is only known when they are read."""
        if not all(map(os.path.isfile, self.files)):  # standard input, or what another program writes
            return None
        return sum(map(len, self.texts)) + sum(map(os.path.getsize, self.files))


def sort_arguments(words: Sequence[str]) -> Given:
    """Whether these are files or texts.

    Raises:
        BadOption: neither all of them are files nor all of them texts, or one looks like a file that is not there.
    """
    if not words:
        return Given(files=[DASH])
    for word in words:
        if os.path.isdir(word):
            raise BadOption(
                f"{word}: a directory. Repair all files in it with: "
                f"python -m pipelines.repair_corpus --input {word} --output DIRECTORY"
            )
    if not any(word == DASH or os.path.exists(word) or looks_like_a_path(word) for word in words):
        return Given(texts=words)
    for word in words:
        if word != DASH and not os.path.exists(word):
            where = "only local files can be read" if "://" in word else "no such file"
            raise BadOption(f"{word}: {where}. Check the name, or put -- before the arguments if they are texts")
    if words.count(DASH) > 1:
        raise BadOption("-: standard input is given twice. Give it once")
    return Given(files=words)


def looks_like_a_path(word: str) -> bool:
    """Whether a word that is not the name of a file was probably meant to be one.

    >>> [looks_like_a_path(word) for word in ("typo.txt", "gone/", "./a", "a typo.txt", "and/or", "isfast.The")]
    [True, True, True, False, False, False]
    """
    if not word or any(character.isspace() for character in word):
        return False
    ending = os.path.splitext(word)[1][1:].lower()
    return ending in _ENDINGS or word.endswith("/") or _BEGINS_LIKE_A_PATH.match(word) is not None


def choose_targets(
    files: Sequence[str], output: str | None, suffix: str | None, diff: bool = False
) -> dict[str, str | None]:
    """Where the repair of each file goes; None is standard output.

    Args:
        files: names of files, or ``-``.
        output: a file, or an existing directory.
        suffix: of backups of files that are replaced.
        diff: changes are shown, on standard output.

    Raises:
        BadOption: options that exclude each other, or a place where nothing can be written.
    """
    written = output is not None or suffix is not None
    if diff and written:
        raise BadOption("--diff shows changes, and -o and --in_place write them: expected one of them")
    if suffix == "":
        raise BadOption("--in_place: expected a suffix for the backup, such as .bak")
    if not files and written:
        raise BadOption("-o and --in_place need a file to repair. Give its name")
    if suffix is not None:
        if DASH in files:
            raise BadOption("--in_place: standard input cannot be replaced. Give -o FILE, or the name of a file")
        return {name: name for name in files}
    if output is not None:
        return _targets_in(output, files)
    if len(files) > 1 and not diff:
        raise BadOption(f"{len(files)} files: expected -o DIRECTORY or --in_place SUFFIX, such as --in_place .bak")
    return dict.fromkeys(files)


def _targets_in(output: str, files: Sequence[str]) -> dict[str, str | None]:
    if os.path.isdir(output):
        targets = {name: os.path.join(output, _target_name(name)) for name in files}
    elif len(files) > 1:
        raise BadOption(f"-o {output}: no such directory. Create it, or give the name of one, for {len(files)} files")
    else:
        targets = dict.fromkeys(files, output)
    sources: dict[str, str] = {}
    for name, target in targets.items():
        folder = os.path.dirname(target) or "."
        if is_local(target) and not os.path.isdir(folder):
            raise BadOption(f"-o {target}: no such directory {folder}. Create it, or give another name")
        if os.path.exists(target) and name != DASH and os.path.samefile(target, name):
            raise BadOption(f"-o {target}: this is the input. Give another name, or --in_place SUFFIX to replace it")
        if target in sources:
            raise BadOption(f"{name}: would be written to {target}, like {sources[target]}. Repair them one by one")
        sources[target] = name
    return dict(targets)


def _target_name(name: str) -> str:
    """The text of a PDF is not a PDF."""
    if name == DASH:
        raise BadOption("-o: expected the name of a file for standard input, not a directory")
    stem, ending = os.path.splitext(os.path.basename(name))
    return f"{stem}.txt" if ending.lower() == ".pdf" else stem + ending
