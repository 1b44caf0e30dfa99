"""The error analysis, and the report of a corpus, as files that any file server can host."""

from __future__ import annotations

import json

from respace.storage.errors import UserError
from respace.storage.files import join_url
from respace.storage.publish import check_writable, publish_bytes
from transforms.repair.report_page import render_page
from webapp.app import STATIC, static_content
from webapp.catalogue import Catalogue
from webapp.corpus import Corpus

_PAGES = ("index.html", "style.css", "common.js", "analysis.js")
_REPORT = "report.html"


def export(catalogue: Catalogue, corpus: Corpus | None, output: str) -> int:
    """Writes pages and data, and says how many files. Repairing and reviewing need the application."""
    check_writable(output)
    files: dict[str, bytes] = {}
    if corpus is not None:
        files[_REPORT] = _report(corpus)
    if catalogue.texts or corpus is None:
        files |= _analysis(catalogue, _REPORT if corpus is not None else None)
    for name, content in files.items():
        publish_bytes(join_url(output, name), content)
    return len(files)


def _report(corpus: Corpus) -> bytes:
    try:
        return render_page(corpus.summary(), links=False).encode("utf-8", "replace")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{corpus.root}: its report was written by another version, or is damaged ({error!r}). "
            "Remove _report and run the same repair_corpus again"
        ) from error


def _analysis(catalogue: Catalogue, report: str | None) -> dict[str, bytes]:
    index = {**catalogue.index(), "static": True, "report": report, "left_out": []}
    files = {name: static_content(name) for name in _PAGES if name in STATIC}
    files["data/index.json"] = json.dumps(index).encode()
    for benchmark, texts in catalogue.texts.items():
        for file in texts:
            content = catalogue.content(benchmark, file) or ""
            files[f"data/{benchmark}/{file}"] = content.encode("utf-8", "surrogatepass")
    return files
