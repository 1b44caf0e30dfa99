"""The distribution: its name, what is said about installing it, and where its packages can be imported."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from respace.storage import installing
from respace.storage.installing import DISTRIBUTION, install_hint

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_distribution_is_not_the_package_of_somebody_else() -> None:
    assert PROJECT["name"] == DISTRIBUTION == "respace-corpus"
    assert PROJECT["scripts"] == {"respace": "respace.cli:main"}


def test_nothing_says_to_install_the_package_of_somebody_else() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    readable = (".py", ".md", ".sh", ".toml", ".txt", ".html", ".js", "Dockerfile", "Makefile")
    bad = re.compile(r"pip install[^\n&;|]*['\" ]respace(\[|['\"\s]|$)", re.MULTILINE)
    assert bad.search("pip install 'respace[web]'")
    found = [
        name
        for name in files
        # What the changelog says of earlier versions is history.
        if name.endswith(readable) and name not in ("CHANGELOG.md", "tests/test_packaging.py")
        if bad.search((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_the_hint_names_the_packages_of_an_extra(extra: str) -> None:
    wanted = PROJECT["optional-dependencies"][extra]
    assert install_hint(extra) == f"pip install {' '.join(map(repr, wanted))}"


def test_the_hint_of_an_installed_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = ["numpy>=2", "starlette>=0.46; extra == 'web'", 'uvicorn>=0.34; extra == "web"', 's3fs; extra == "s3"']
    monkeypatch.setattr(installing, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines if name == DISTRIBUTION else None)
    assert install_hint("web") == "pip install 'starlette>=0.46' 'uvicorn>=0.34'"
    # A project that Respace was copied into has extras of its own.
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\noptional-dependencies = {web = ["flask"]}\n')
    assert install_hint("web") == "pip install 'starlette>=0.46' 'uvicorn>=0.34'"


def test_a_clone_called_respace_does_not_hide_the_package(tmp_path: Path) -> None:
    clone, site = tmp_path / "respace", tmp_path / "site"
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        clone.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, clone)
    for package in ("respace", "models"):
        (clone / package).mkdir()
        shutil.copy(ROOT / package / "__init__.py", clone / package)
    shutil.copy(ROOT / "respace" / "version.py", clone / "respace")
    build = f"import setuptools.build_meta as backend; backend.build_editable({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=clone, check=True, capture_output=True)
    [wheel] = tmp_path.glob("respace_corpus-*.whl")
    ZipFile(wheel).extractall(site)
    # As with an editable installation, in the folder above the clone.
    script = (
        f"import site, sys; site.addsitedir({str(site)!r}); import importlib.util; "
        "print(importlib.util.find_spec('respace').origin)"
    )
    found = subprocess.run([sys.executable, "-S", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout == f"{clone}/respace/__init__.py\n", found.stderr


def test_the_wheel_has_types(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "respace", project / "respace", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    build = f"import setuptools.build_meta as backend; backend.build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=project, check=True, capture_output=True)
    [wheel] = tmp_path.glob("respace_corpus-*.whl")
    # An installed package, for mypy, is one of an environment.
    venv.create(tmp_path / "environment", symlinks=True)
    [site] = tmp_path.glob("environment/lib/python*/site-packages")
    ZipFile(wheel).extractall(site)
    script = "from typing import assert_type\nfrom respace import Repairer\n"
    (tmp_path / "script.py").write_text(script + "assert_type(Repairer.load().repair(['a']), list[str])\n")
    python = f"--python-executable={tmp_path}/environment/bin/python"
    command = [sys.executable, "-m", "mypy", python, "--cache-dir=cache", "--config-file=", "script.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
