"""What noise depends on beside its recipe: the contents of the files that the recipe names, and of the defaults."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from respace.noise.parameters import DEFAULTS, GAP_MODEL_FILE, OCR_FILE
from respace.noise.recipe import Recipe


def contents_digest(recipe: Recipe) -> str:
    """Another one whenever a file that the noise is made from has another content; its time does not matter."""
    codespell = resources.files("codespell_lib") / "data" / "dictionary.txt"
    parameters = DEFAULTS if recipe.parameters is None else Path(recipe.parameters)
    files = [parameters / OCR_FILE, parameters / GAP_MODEL_FILE]
    files += [Path(recipe.confusions)] if recipe.confusions is not None else []
    contents = [codespell.read_bytes() if recipe.typos is None else Path(recipe.typos).read_bytes()]
    contents += [file.read_bytes() if file.is_file() else b"" for file in files]
    digests = [hashlib.blake2b(content, digest_size=16).digest() for content in contents]
    return hashlib.blake2b(b"".join(digests), digest_size=16).hexdigest()
