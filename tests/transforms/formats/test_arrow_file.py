"""Arrow files in the layout of `datasets.save_to_disk`: repaired in place, taken back to the last row."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from pipelines.revert_corpus import main as revert
from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile
from respace.storage.files import describe
from tests.pipelines.test_repair_corpus import run, summary
from tests.transforms.corpora import AFTER, BEFORE, repair, tree, work
from transforms.formats.arrow_file import ArrowFile
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import format_of
from transforms.repair.reopened import reopened

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())], metadata={"huggingface": '{"info": {}}'})


def write(path: Path, texts: Sequence[str | None], is_file: bool = False, rows: int = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"id": list(range(len(texts))), "text": pa.array(texts, pa.string())}, schema=SCHEMA)
    with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(path, SCHEMA) as writer:
        writer.write_table(table, max_chunksize=rows)


def texts(path: Path, is_file: bool = False) -> list[str | None]:
    with open(path, "rb") as stream:
        table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(stream).read_all()
    assert table.schema.equals(SCHEMA, check_metadata=True)
    return table["text"].to_pylist()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A saved dataset with two splits."""
    for split in ("train", "test"):
        write(tmp_path / f"in/{split}/data-00000-of-00001.arrow", [*BEFORE, None])
        (tmp_path / f"in/{split}/state.json").write_text(json.dumps({"_split": split}))
        (tmp_path / f"in/{split}/dataset_info.json").write_text('{"features": {}}')
    (tmp_path / "in/dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    return tmp_path / "in"


def test_a_saved_dataset_there_and_back(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(saved, out, "--provenance") == 0
    assert texts(out / "train/data-00000-of-00001.arrow") == [*AFTER, None]
    for name in ("dataset_dict.json", "train/state.json", "test/dataset_info.json"):
        assert (out / name).read_bytes() == (saved / name).read_bytes()
    assert summary(out)["totals"]["insertions"] == 4
    found = list(reopened(str(out), "train/data-00000-of-00001.arrow").edits())
    assert [len(one.edits) for one in found] == [1, 1, 0, 0, 2, 0]
    assert run(saved, out, "--provenance") == 0  # nothing is left to do
    back = ["--input", str(out), "--output", str(tmp_path / "back")]
    assert revert(back) == 0
    back_again, before = tree(tmp_path / "back", without=("_",)), tree(saved)
    assert back_again.keys() == before.keys()
    for name, content in before.items():
        if name.endswith(".json"):
            assert back_again[name] == content
        else:  # Arrow pads and marks what is valid as it likes
            assert texts(tmp_path / "back" / name) == texts(saved / name)


def test_the_form_with_a_footer_stays_one(tmp_path: Path) -> None:
    write(tmp_path / "in/a.arrow", BEFORE, is_file=True)
    repair(tmp_path / "in", work(tmp_path / "out"))
    assert texts(tmp_path / "out/a.arrow", is_file=True) == AFTER


def test_dead_letters_are_tried_again(tmp_path: Path) -> None:
    write(tmp_path / "in/a.arrow", ["one ofthe", "why‽ ofthe", "two ofthe"])
    options = ["--max_error_fraction", "1", "--provenance"]
    assert run(tmp_path / "in", tmp_path / "out", *options) == 0
    expected = ["one of the", "why‽ ofthe", "two of the"]
    assert texts(tmp_path / "out/a.arrow") == expected
    assert run(tmp_path / "in", tmp_path / "out", *options, "--retry_dead_letters") == 0
    assert texts(tmp_path / "out/a.arrow") == expected
    assert summary(tmp_path / "out")["totals"]["dead_letters"] == 1


def refusal(path: Path) -> str:
    """Why a file cannot be read, if it cannot."""
    form, file = ArrowFile(FormatOptions()), describe(str(path), path.name)
    try:
        form.cut(file, 1 << 20)
        list(form.read(file, (0, -1)))
    except BadFile as error:
        return str(error)
    return ""


@pytest.mark.parametrize("is_file", [True, False])
def test_damaged_files_are_bad_files(tmp_path: Path, is_file: bool) -> None:
    """Cut short anywhere, and with bytes flipped: repaired as it is read, or refused; nothing else."""
    write(tmp_path / "a.arrow", [f"row {row} ofthe" for row in range(40)], is_file, rows=10)
    whole, chosen = (tmp_path / "a.arrow").read_bytes(), random.Random(1)
    refused = 0
    for attempt in range(60):
        content = bytearray(whole)
        if attempt % 2:
            del content[chosen.randrange(len(content)) :]
        else:
            content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        (tmp_path / "a.arrow").write_bytes(content)
        refused += bool(refusal(tmp_path / "a.arrow"))
    assert refused > 20


@pytest.mark.parametrize(
    "other",
    [
        ["one of thy", "a x"],
        ["one of the"],
        ["one of the", "a x", "more"],
        ["a x", "one of the"],
    ],
)
def test_more_than_other_spaces_is_found(tmp_path: Path, other: list[str | None]) -> None:
    write(tmp_path / "a.arrow", ["one ofthe", "a x"])
    form, file = format_of("a.arrow", FormatOptions()), describe(str(tmp_path / "a.arrow"), "a.arrow")
    write(tmp_path / "out", ["one of the", "ax"], rows=1)
    assert form.verify(file, (0, -1), str(tmp_path / "out")) == 2
    write(tmp_path / "out", other)
    with pytest.raises((CharactersChanged, BadFile)):
        form.verify(file, (0, -1), str(tmp_path / "out"))


def test_json_files_elsewhere_are_texts(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/state.json").write_text(json.dumps([{"text": "one ofthe"}]))
    assert run(tmp_path / "in", tmp_path / "out") == 0
    assert json.loads((tmp_path / "out/state.json").read_text()) == [{"text": "one of the"}]
