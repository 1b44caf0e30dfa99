"""How the code hangs together, measured: `python -m performance.architecture [--compare NAME=FOLDER …]`.

Counts modules and lines of every package, the imports between packages, and the way of one document: a Parquet file
with one document goes through `pipelines.repair_corpus` in one process, and every function of the project that has the
document in its hands (among its arguments or in what it returns or yields) is a hop. With ``--compare`` the same is
counted in other checkouts, such as those of earlier commits, and printed side by side, as in docs/architecture.md. Each
checkout is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGES = ("respace", "models", "transforms", "pipelines", "training", "runners")
# Two words that stand nowhere else: whoever holds them holds the document.
MARK = "zyxomma vellichor"
DOCUMENT = f"The {MARK} ofthe Parquet file and a x more."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=Path(), help="what to measure (default: here)")
    parser.add_argument("--compare", nargs="+", default=[], metavar="NAME=FOLDER", help="others, printed before it")
    parser.add_argument("--show_hops", action="store_true", help="list the functions that the document passes")
    parser.add_argument("--trace", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trace is not None:
        print(json.dumps(trace_document(options.trace)))
        return
    places = dict(one.split("=", 1) for one in options.compare) | {"now": options.checkout}
    measured = {name: measure(Path(place).resolve()) for name, place in places.items()}
    print(table(measured))
    if options.show_hops:
        print("\n".join(measured["now"]["hops"]))


def measure(checkout: Path) -> dict[str, Any]:
    """Everything that is counted of one checkout."""
    modules = {package: list((checkout / package).rglob("*.py")) for package in PACKAGES}
    imports = Counter(pair for package in PACKAGES for path in modules[package] for pair in imported(package, path))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).resolve()), "--trace", folder]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        run = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    traced = json.loads(run.stdout.splitlines()[-1])
    return {
        "modules": {package: len(paths) for package, paths in modules.items()},
        "lines": {
            package: sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
            for package, paths in modules.items()
        },
        "imports": {f"{source} → {target}": count for (source, target), count in imports.items()},
        **traced,
    }


def imported(package: str, path: Path) -> Iterator[tuple[str, str]]:
    """(package, other package) for every import of a module of another package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            other = name.partition(".")[0]
            if other in PACKAGES and other != package:
                yield package, other


def trace_document(folder: Path) -> dict[str, Any]:
    """Repairs the document in this process, and notes whose hands it passes.

    The method is that of the tests, so that only the job is counted and not a model. The job runs twice: what happens
    once per process, imports above all, is not part of a document's way.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    import pipelines.repair_corpus as job  # the checkout's own: PYTHONPATH says which

    (folder / "in").mkdir()
    pq.write_table(pa.table({"text": [DOCUMENT]}), folder / "in" / "one.parquet")
    root = str(Path(job.__file__).parents[1])
    called: dict[str, bool] = {}  # whether the document was in a function's hands

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        file, code = frame.f_code.co_filename, frame.f_code
        if event not in ("call", "return") or not file.startswith(root) or code.co_name.startswith("<"):
            return
        place = file[len(root) + 1 :]
        if place.partition("/")[0] in PACKAGES:
            name = f"{place}: {code.co_qualname}"
            called[name] = called.get(name, False) or holds(frame.f_locals if event == "call" else argument)

    def run(output: str) -> None:
        arguments = ["--input", str(folder / "in"), "--output", str(folder / output), "--local_workers", "1"]
        code = job.main([*arguments, "--model", "tests.transforms.rule_method:Rules"])
        if code:
            raise SystemExit(f"the job failed with {code}")

    run("first")
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        run("second")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {"hops": [name for name, held in called.items() if held], "called": list(called)}


def holds(value: Any, depth: int = 4) -> bool:
    """Whether the document is in there, as text, code points or Arrow."""
    if isinstance(value, str):
        return MARK in value or MARK.replace(" ", "") in value
    if isinstance(value, bytes):
        return MARK.encode() in value
    if depth == 0 or value is None:
        return False
    if isinstance(value, Mapping):
        return any(holds(one, depth - 1) for one in list(value.values())[:50])
    if isinstance(value, list | tuple):
        return any(holds(one, depth - 1) for one in value[:50])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(holds(getattr(value, one.name, None), depth - 1) for one in dataclasses.fields(value))
    return _holds_array(value)


def _holds_array(value: Any) -> bool:
    kind = type(value).__name__
    if type(value).__module__.startswith("pyarrow") and hasattr(value, "to_pylist"):
        return MARK in str(value.to_pylist())
    if kind == "ndarray" and value.dtype.kind in "ui" and value.ndim == 1:
        wanted = [ord(character) for character in MARK if character != " "]
        return len(value) >= len(wanted) and MARK.replace(" ", "") in "".join(
            map(chr, value.clip(0, 0x10FFFF).tolist())
        )
    return False


def table(named: Mapping[str, Mapping[str, Any]]) -> str:
    """A table in Markdown, a column for each checkout."""
    measured = list(named.values())
    rows = [f"| | {' | '.join(named)} |", "| --- |" + " --- |" * len(measured)]

    def row(name: str, values: Sequence[object]) -> None:
        rows.append(
            f"| {name} | {' | '.join(f'{value:,}' if isinstance(value, int) else str(value) for value in values)} |"
        )

    for package in PACKAGES:
        row(
            f"`{package}`: modules, lines",
            [f"{one['modules'][package]}, {one['lines'][package]:,}" for one in measured],
        )
    row("all modules", [sum(one["modules"].values()) for one in measured])
    row("all lines", [sum(one["lines"].values()) for one in measured])
    for pair in sorted({pair for one in measured for pair in one["imports"]}):
        row(f"imports {pair}", [one["imports"].get(pair, 0) for one in measured])
    row("functions that have the document in hands", [len(one["hops"]) for one in measured])
    row("modules that have it", [len({hop.partition(":")[0] for hop in one["hops"]}) for one in measured])
    row("functions called in all", [len(one["called"]) for one in measured])
    row("modules called in all", [len({name.partition(":")[0] for name in one["called"]}) for one in measured])
    return "\n".join(rows)


if __name__ == "__main__":
    main()
