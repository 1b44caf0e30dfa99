"""Every command line that the README and the documents print is run, in a copy of the checkout, on small data.

The data have the layout of `$RESPACE_DATA` and are made here; what would take hours is made smaller by `SMALLER`; what
needs another machine, a registry or an account is in `ELSEWHERE`, with the reason. A new command is in none of them, so
it is run.
"""

from __future__ import annotations

import bz2
import lzma
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace.benchmarks import ACL, NAMES
from tests.respace.pdfs import make_pdf
from tests.respace.test_doval import RESULTS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
COMMAND = re.compile(r"(python|respace|make|curl|docker|gcloud|pip|cosmic-ray|printf|export|mkdir|for|cp) ")

ELSEWHERE = {
    r"make (example|test)": "they are what every check of a clean checkout begins with",
    r"(docker|gcloud|pip) ": "needs a daemon, an account, a registry",
    r"DataflowRunner|--preset (dataflow|flink|dask)|runners\.(flink|spark)": "tests/runners has them, on real engines",
    r"(export|mkdir|for|cp) |unpack\.py": "fetches the data, which this test makes",
    r"import_encoder|make_passages|train_reader": "needs an encoder of a registry: tests/training/reader has them",
    r"growth --large": "takes hours, and the same command without it is run",
    r"cosmic-ray": "takes hours, and is no part of the project",
    r"curl ": "tests/webapp asks the same of a server",
}
SMALLER = [
    (r"--minutes \d+", "--minutes 0.05 --benchmark_sequences 2"),
    (r"--million_characters [\d.]+", "--million_characters 0.001 --minutes 0.05"),
    (r"--(sequences|sample) \d+", r"--\1 2"),
    (r"--shards 1000000", "--shards 2000"),
    (r"(training\.ship .*)--name default", r"\1--name trained --rows 20 --sequences 2"),
    (r"training\.(score|model_card)|performance\.faithful", r"\g<0> --sequences 2"),
    (r"pipelines\.evaluate ((?!--sequences).)*$", r"\g<0> --sequences 2"),
    (
        r"performance\.speed",
        "performance.speed --only FAST wordninja --repetitions 1 --seconds 0.1 --job_megabytes 0.01",
    ),
    (r"performance\.growth", r"\g<0> --megabytes 0.01 --shards 1 --lines 10 --size 0.01"),
    (r"^make acl", f"make acl VENV={sys.prefix} -o {sys.prefix}/installed"),
]
SERVER = "python -m webapp"  # it runs until it is stopped


MADE = ("encyclopedia", "mathematics", "titles", "nonprose")  # what unpack.py makes
TYPOS = ("their", "because", "which", "would", "there", "about", "these", "people")


def commands(document: str) -> Iterator[str]:
    """The command lines of the code blocks of a document, without comments."""
    text = (ROOT / document).read_text()
    for block in re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            if COMMAND.match(line):
                yield re.sub(r"\s+# .*", "", line)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout: commands write into it."""
    folder = tmp_path_factory.mktemp("documents") / "respace"
    unwanted = shutil.ignore_patterns(".git", ".venv", "output", "runs", "*.egg-info", ".*_cache")
    shutil.copytree(ROOT, folder, ignore=unwanted)
    write_data(folder)
    return folder


def write_data(folder: Path) -> None:
    """Small data under every name that a document mentions."""
    sentences = [line for line in (ROOT / "examples/clean/notes.txt").read_text().splitlines() if line]
    corpora, benchmarks = folder / "data/corpora", folder / "data/benchmarks/dev"
    texts = {"source": ["enwiki_wikitasks", "other"] * 400, "text": (sentences * 800)[:800]}
    for path in (corpora / "wikipedia", corpora / "scientific", *(folder / f"runs/corpora/{name}" for name in MADE)):
        path.parent.mkdir(parents=True, exist_ok=True)
        kinds = {"kind": ["code", "table"] * 400} if path.name == "nonprose" else {}
        pq.write_table(pa.table({**kinds, **texts}), path.with_suffix(".parquet"))
    pq.write_table(
        pa.table({"text": [text.replace(" the ", " the") for text in sentences]}), corpora / "acl_ocr.parquet"
    )
    tex = (ROOT / "examples/latex/note.tex").read_text()
    pq.write_table(
        pa.table({"repo": ["r"], "path": ["note.tex"], "doc_id": ["1"], "tex": [tex]}),
        corpora / "latex_sources.parquet",
    )
    for name in NAMES:
        (benchmarks / name).mkdir(parents=True)
        for kind, lines in {"correct": sentences, "corrupt": [text.replace(" ", "", 1) for text in sentences]}.items():
            (benchmarks / name / f"{kind}.txt").write_text("\n".join(lines[:4]) + "\n")
    (folder / "data/noise").mkdir()
    (folder / "data/noise/typos.tsv").write_text("their\tthier\t1\ta list\nbecause\tbecuase\t1\ta list\n")
    (folder / "data/noise/ocr_confusions.tsv").write_text("m\trn\t5\tseen\nl\t1\t3\tseen\n")
    (folder / "data/words").mkdir()
    with lzma.open(folder / "data/words/text_words.tsv.xz", "wt") as words:
        words.write("the\t100\nof\t60\nspaces\t4\n")
    (folder / "typos.tsv").write_text("".join(f"{word}\t{word[1:]}x\t1\ta list\n" for word in TYPOS))
    shutil.copytree(ROOT / "examples/corpus", folder / "corpus")
    shutil.copytree(benchmarks / ACL, folder / "acl")
    shutil.copyfile(benchmarks / ACL / "correct.txt", folder / "acl/spelling.txt")
    dump = many_pages((ROOT / "examples/dump/pages.xml").read_text(), 100)  # one in fifty articles is kept for tests
    (folder / "enwiki-latest-pages-articles-multistream.xml.bz2").write_bytes(bz2.compress(dump.encode()))
    paper = make_pdf(textwrap.wrap(" ".join(sentences[:4]), 80))
    (folder / "papers/1").mkdir(parents=True)
    (folder / "papers/1/paper.pdf").write_bytes(paper)
    (folder / "papers/1/paper.tex").write_text(
        f"\\documentclass{{article}}\\begin{{document}}{sentences[0]}\\end{{document}}"
    )
    (folder / "papers/1/paper.txt").write_text("\n".join(sentences[:4]))
    (folder / "paper.pdf").write_bytes(paper)
    (folder / "note.txt").write_text("Thealgo rithm isfast.\n")
    (folder / "results.txt").write_text(RESULTS)


def many_pages(dump: str, number: int) -> str:
    head, page, rest = re.split(r"(?s)( *<page>.*?</page>)", dump, maxsplit=1)
    pages = [re.sub("<(title|id)>[^<]*<", rf"<\1>{at}<", page) for at in range(1, number + 1)]
    return head + "\n".join(pages) + re.sub(r"(?s)<page>.*</page>", "", rest)


def run(command: str, folder: Path) -> None:
    environment = {**os.environ, "RESPACE_DATA": str(folder / "data"), "PYTHONPATH": str(folder)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    started = subprocess.Popen(
        command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    if command.startswith(SERVER):
        time.sleep(15)
        assert started.poll() is None, started.communicate()[0]
        os.killpg(started.pid, signal.SIGTERM)
        started.communicate(timeout=30)
        return
    output, _ = started.communicate(timeout=900)
    assert started.returncode == 0, f"{command}\n{output[-4000:]}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command(document: str, checkout: Path) -> None:
    shutil.rmtree(checkout / "repaired", ignore_errors=True)  # documents use the name with different options
    (checkout / "repaired").mkdir()
    (checkout / "repaired/_review.jsonl").touch()
    for command in commands(document):
        if any(re.search(pattern, command) for pattern in ELSEWHERE):
            continue
        for pattern, smaller in SMALLER:
            command = re.sub(pattern, smaller, command)
        run(command, checkout)


def test_every_reason_is_needed() -> None:
    printed = [command for document in DOCUMENTS for command in commands(document)]
    assert len(printed) > 40
    for pattern in [*ELSEWHERE, *(pattern for pattern, _ in SMALLER)]:
        assert any(re.search(pattern, command) for command in printed), pattern
    assert all(shlex.split(command) for command in printed)
