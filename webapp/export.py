"""The error analysis as a directory of files that any file server can host."""

from __future__ import annotations

import json

from respace.storage.files import join_url
from respace.storage.publish import check_writable, publish_bytes
from webapp.app import STATIC, static_content
from webapp.catalogue import Catalogue

_PAGES = ("index.html", "style.css", "common.js", "analysis.js")


def export(catalogue: Catalogue, output: str) -> int:
    """Writes pages and data, and says how many files. Repairing and reviewing need the application."""
    check_writable(output)
    index = {**catalogue.index(), "static": True, "left_out": []}
    files = {name: static_content(name) for name in _PAGES if name in STATIC}
    files["data/index.json"] = json.dumps(index).encode()
    for benchmark, texts in catalogue.texts.items():
        for file in texts:
            content = catalogue.content(benchmark, file) or ""
            files[f"data/{benchmark}/{file}"] = content.encode("utf-8", "surrogatepass")
    for name, content_bytes in files.items():
        publish_bytes(join_url(output, name), content_bytes)
    return len(files)
