"""The library and its command where Linux's own calls are missing, as on macOS and Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.respace.pdfs import make_pdf

ROOT = Path(__file__).parents[2]
# For the import system, a module that is None is one that does not exist.
ELSEWHERE = """
import os, sys
del os.sched_getaffinity
sys.modules.update(fcntl=None, resource=None)
"""


def run_elsewhere(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-c", ELSEWHERE + script, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_a_text_is_repaired() -> None:
    script = "from respace import Repairer; print(Repairer.load().repair('Thealgo rithm isfast.'))"
    done = run_elsewhere(script)
    assert (done.stdout, done.returncode) == ("The algorithm is fast.\n", 0), done.stderr


def test_the_command_repairs_and_says_that_it_reads_no_pdfs(tmp_path: Path) -> None:
    command = "from respace.cli import main; sys.exit(main())"
    done = run_elsewhere(command, "Thealgo rithm isfast.")
    assert (done.stdout, done.returncode) == ("The algorithm is fast.\n", 0), done.stderr
    pdf = tmp_path / "paper.pdf"
    pdf.write_bytes(make_pdf(["One line."]))
    done = run_elsewhere(command, str(pdf))
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.startswith("respace: PDFs are not read on this system: "), done.stderr
    assert done.stderr.count("\n") == 1
