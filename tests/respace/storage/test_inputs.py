from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from respace.storage.errors import BadOption, UserError
from respace.storage.files import check_links
from respace.storage.inputs import HIDDEN, OUTSIDE, SPECIAL, find_inputs, list_inputs
from tests.permissions import as_anybody

SUFFIXES = (".jsonl", ".parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.jsonl", "b/c.jsonl", "notes.md", "b/paper.pdf", "b/more.PDF", "README", "_old/x.jsonl", ".git/y"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    return tmp_path / "in"


def test_what_is_not_read_is_counted_by_kind(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    found = find_inputs([str(folder)], SUFFIXES)
    assert [file.name for file in found.files] == ["a.jsonl", "b/c.jsonl"]
    assert [file.name for file in found.others] == ["README", "b/more.PDF", "b/paper.pdf", "notes.md"]
    assert found.left_out_by_kind == {
        "files ending in .pdf": 2,
        HIDDEN: 2,
        "files ending in .md": 1,
        "files without a suffix": 1,
        SPECIAL: 1,
    }


def test_a_folder_that_cannot_be_listed(folder: Path) -> None:
    (folder / "b").chmod(0)
    try:
        with as_anybody():
            found = find_inputs([str(folder)], SUFFIXES)
            with pytest.raises(UserError, match=r"in/b: the folder cannot be listed \(Permission denied\)"):
                list_inputs([str(folder)], SUFFIXES)
    finally:
        (folder / "b").chmod(0o755)
    assert [file.name for file in found.files] == ["a.jsonl"]
    assert list(found.unreadable) == ["b"]


def test_links_out_of_the_input_are_followed_on_demand(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/far.jsonl").write_bytes(b"1")
    (folder / "out").symlink_to(tmp_path / "elsewhere")
    (folder / "one.jsonl").symlink_to(tmp_path / "elsewhere/far.jsonl")
    (folder / "near.jsonl").symlink_to(folder / "a.jsonl")
    found = find_inputs([str(folder)], SUFFIXES)
    assert [file.name for file in found.files] == ["a.jsonl", "b/c.jsonl", "near.jsonl"]
    assert found.left_out_by_kind[OUTSIDE] == 2
    assert found.followed == []
    found = find_inputs([str(folder)], SUFFIXES, follow_links=True)
    assert [file.name for file in found.files][3:] == ["one.jsonl", "out/far.jsonl"]
    assert OUTSIDE not in found.left_out_by_kind
    assert sorted(found.followed) == [str(tmp_path / "elsewhere"), str(tmp_path / "elsewhere/far.jsonl")]
    (named,) = find_inputs([str(folder / "one.jsonl")], SUFFIXES).files
    assert named.name == "one.jsonl"


def test_an_output_with_a_link_into_an_input(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "out/fine").symlink_to(tmp_path / "other")
    check_links([str(folder)], str(tmp_path / "out"))
    (tmp_path / "out/deep/b").symlink_to(folder / "b")
    with pytest.raises(BadOption, match=r"out/deep/b is a link to .*/in/b, which is an input or has one inside"):
        check_links([f"{folder}/*.jsonl"], str(tmp_path / "out"))


@pytest.mark.parametrize(("target", "refused"), [("in", True), ("in/sub", True), (".", True), ("elsewhere", False)])
def test_a_link_in_the_output_to_a_folder_in_or_above_the_input(tmp_path: Path, target: str, refused: bool) -> None:
    for name in ("in/sub", "out/folder", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out/folder/link").symlink_to(tmp_path / target)
    with pytest.raises(BadOption, match="which is an input or has one inside") if refused else nullcontext():
        check_links([str(tmp_path / "in")], str(tmp_path / "out"))
