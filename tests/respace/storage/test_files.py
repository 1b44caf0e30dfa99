from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fsspec
import pytest

from respace.storage.errors import BadFile, BadOption, UserError
from respace.storage.files import check_apart, describe, file_size, open_input
from respace.storage.inputs import list_inputs

SUFFIXES = (".jsonl", ".parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    for name in ("b/one.jsonl", "a.parquet", "notes.md", "_manifest/a.jsonl", "b/.hidden.jsonl", "b/_x/c.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"12345")
    return tmp_path


def test_a_directory_gives_its_readable_files_with_relative_names(folder: Any) -> None:
    files = list_inputs([str(folder)], SUFFIXES)
    assert [(file.name, file.size) for file in files] == [("a.parquet", 5), ("b/one.jsonl", 5)]
    assert [file.url for file in files] == [str(folder / "a.parquet"), str(folder / "b/one.jsonl")]


def test_globs_and_files_and_repetition(folder: Any) -> None:
    inputs = [f"{folder}/*.parquet", f"{folder}/b/one.jsonl", f"{folder}/a.parquet"]
    assert [file.name for file in list_inputs(inputs, SUFFIXES)] == ["a.parquet", "one.jsonl"]
    assert [file.name for file in list_inputs([f"{folder}/**/*.jsonl"], SUFFIXES)] == ["b/one.jsonl"]


def test_a_file_name_with_wildcard_characters_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].jsonl").write_text("{}")
    assert [file.name for file in list_inputs([f"{tmp_path}/a[1].jsonl"], SUFFIXES)] == ["a[1].jsonl"]


def test_version_changes_with_the_file(folder: Any) -> None:
    path = folder / "a.parquet"
    before = describe(str(path))
    path.write_bytes(b"54321")
    os.utime(path, (1, 1))
    after = describe(str(path))
    assert before.version != after.version
    with pytest.raises(BadFile, match="changed while the job was running"), open_input(before):
        pass


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{folder}/missing", "not found"),
        ("{folder}/notes.md", "unknown kind of file"),
        ("{folder}/*.txt", "no file there that can be read"),
        ("nonsense://x", "Expected a local path, or a URL"),
    ],
)
def test_inputs_that_are_no_inputs(folder: Any, given: Any, message: Any) -> None:
    with pytest.raises(UserError, match=message):
        list_inputs([given.format(folder=folder)], SUFFIXES)


def test_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no file there that can be read\. Expected files ending in \.jsonl, \.parquet"
    ):
        list_inputs([str(tmp_path)], SUFFIXES)


def test_two_inputs_with_the_same_name(folder: Any) -> None:
    (folder / "b/a.parquet").write_bytes(b"")
    with pytest.raises(UserError, match=r"would both become a\.parquet in the output"):
        list_inputs([f"{folder}/a.parquet", f"{folder}/b/a.parquet"], SUFFIXES)


def test_a_remote_store_is_listed_alike() -> None:
    store = fsspec.filesystem("memory")
    store.pipe_file("/listing/b/one.jsonl", b"123")
    store.pipe_file("/listing/_manifest/one.jsonl", b"123")
    files = list_inputs(["memory://listing"], SUFFIXES)
    assert [(file.name, file.size, file.url) for file in files] == [("b/one.jsonl", 3, "memory:///listing/b/one.jsonl")]
    assert files[0].version
    with open_input(files[0]) as stream:
        assert stream.read() == b"123"
    assert file_size("memory://listing/b/one.jsonl") == 3
    assert file_size("memory://listing/b/two.jsonl") is None


@pytest.mark.parametrize("output", ["", "/out", "/b"])
def test_output_never_inside_input(folder: Any, output: Any) -> None:
    with pytest.raises(BadOption, match="lies inside --input"):
        check_apart([str(folder)], str(folder) + output)


def test_input_never_inside_output(folder: Any) -> None:
    with pytest.raises(BadOption, match="lies inside --output"):
        check_apart([f"{folder}/b/*.jsonl"], str(folder))
    check_apart([f"{folder}/b"], f"{folder}/bb")
    check_apart(["gs://bucket/in"], "gs://bucket/in-repaired")
    with pytest.raises(BadOption, match="lies inside --input"):
        check_apart(["memory://bucket/in"], "memory://bucket/in/out")


def test_a_link_does_not_hide_that_output_is_inside_input(
    folder: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(folder)
    with pytest.raises(BadOption, match="lies inside --input"):
        check_apart([str(folder)], str(link / "out"))


def test_links_are_followed(folder: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    links = tmp_path_factory.mktemp("links")
    (links / "file.jsonl").symlink_to(folder / "b/one.jsonl")
    (links / "folder").symlink_to(folder / "b")
    (links / "up").symlink_to(links)
    (links / "nowhere.jsonl").symlink_to(folder / "gone.jsonl")
    files = {file.name: file for file in list_inputs([str(links)], SUFFIXES)}
    assert list(files) == ["file.jsonl", "folder/one.jsonl", "nowhere.jsonl"]
    assert files["file.jsonl"].size == 5
    assert files["file.jsonl"].version == describe(str(folder / "b/one.jsonl")).version
    with pytest.raises(BadFile, match="or is a broken link"), open_input(files["nowhere.jsonl"]):
        pass


def test_one_file_under_two_names_is_refused(folder: Any) -> None:
    with pytest.raises(UserError, match=r"one\.jsonl would become both b/one\.jsonl and one\.jsonl in the output"):
        list_inputs([str(folder), f"{folder}/b"], SUFFIXES)


def test_names_that_look_like_chains_of_urls(tmp_path: Path) -> None:
    (tmp_path / "a::b.jsonl").write_text("{}")
    (file,) = list_inputs([str(tmp_path)], SUFFIXES)
    with open_input(file) as stream:
        assert stream.read() == b"{}"


def test_a_name_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/a\xff.jsonl", "wb"):
        pass
    with pytest.raises(UserError, match=r"the name is not valid UTF-8\. Rename the file"):
        list_inputs([str(tmp_path)], SUFFIXES)
