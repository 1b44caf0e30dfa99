"""The container without a daemon: what it copies, what its entry point takes, and its steps in a clean environment."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENTRYPOINT = ROOT / "scripts" / "entrypoint.sh"


def test_every_package_is_copied() -> None:
    copied = set(re.findall(r"^COPY (\w+) \1$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages <= copied
    extras = project["project"]["optional-dependencies"]
    wanted = re.search(r"pip install --no-cache-dir '\.\[(.*)\]'", (ROOT / "Dockerfile").read_text())
    assert wanted is not None
    assert set(wanted[1].split(",")) <= set(extras)


@pytest.mark.parametrize("name", ["Dockerfile", "runners/dataflow/Dockerfile"])
def test_images_bring_compiled_loops(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    compiles = next(number for number, line in enumerate(lines) if "respace < README.md > /dev/null" in line)
    # What another user compiled cannot be read.
    assert all(number < compiles for number, line in enumerate(lines) if line.startswith("USER "))


def test_every_job_has_a_name() -> None:
    jobs = {path.stem for path in (ROOT / "pipelines").glob("*.py")} - {"__init__"}
    help_text = subprocess.run([ENTRYPOINT, "--help"], capture_output=True, text=True, check=True).stdout
    assert {job for job in jobs if job in help_text} == jobs


def test_an_unknown_job_is_an_error() -> None:
    found = subprocess.run([ENTRYPOINT, "magic"], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (2, "error: unknown job 'magic'. See: respace --help\n")


def test_make_acl_says_what_is_missing() -> None:
    command = [
        "make",
        "--no-print-directory",
        "acl",
        "ACL=/nowhere",
        "VENV=/dev/null/none",
        "-o",
        "/dev/null/none/installed",
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 2
    assert "make acl: /nowhere is not there. Set ACL to a folder of extracted papers" in found.stderr


@pytest.mark.slow
def test_the_steps_in_a_clean_environment() -> None:
    script = ROOT / "scripts" / "check_container.sh"
    found = subprocess.run([script, sys.executable], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "the container's steps work" in found.stdout
