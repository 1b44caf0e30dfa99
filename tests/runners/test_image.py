"""The image of Dataflow's workers, as far as it can be checked without building it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "runners/dataflow"


def pinned() -> dict[str, str]:
    lines = (FOLDER / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_versions_are_those_that_the_project_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for text in [*project["dependencies"], *extras["gcp"], *extras["s3"]]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(pinned()[wanted.name]), text


def test_the_image_has_one_version_of_beam() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    versions = {*re.findall(r"beam_python3\.11_sdk:([\d.]+)", text), *re.findall(r"apache-beam\[gcp\]==([\d.]+)", text)}
    assert versions == {pinned()["apache-beam"]}
    assert set(re.findall(r"tensorflow(?:\[and-cuda\])?==([\d.]+)", text)) == {pinned()["tensorflow"]}


def test_the_image_has_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = (FOLDER / "Dockerfile").read_text()
    for pattern in project["tool"]["setuptools"]["packages"]["find"]["include"]:
        assert f"COPY {pattern.removesuffix('*')} {pattern.removesuffix('*')}\n" in text
