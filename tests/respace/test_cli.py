from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from respace import cli
from respace.gaps import Edit
from respace.pdf import BACKENDS, _is_there
from respace.repairer import Repair, Repairer
from tests.respace.pdfs import make_pdf


def respace(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "respace.cli", *arguments], input=stdin, capture_output=True)


def test_diff_marks_insertions_green_and_deletions_red() -> None:
    repair = Repair("a bcd e", [Edit(1, "insertion"), Edit(3, "deletion")])
    assert cli.show_diff("abc\td e", repair) == "a\x1b[42m \x1b[0mbc\x1b[41m\t\x1b[0md e"
    assert cli.show_diff("abc", Repair("abc", [])) == "abc"


def test_a_line_is_repaired_at_once() -> None:
    script = (
        "import sys; from respace.cli import main; assert main(['Thealgo rithm isfast.']) == 0; "
        "print({'numba', 'tensorflow', 'pyarrow', 'fsspec', 'apache_beam'} & set(sys.modules))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout == "The algorithm is fast.\nset()\n", done.stderr
    # It takes 0.7; with numba it took 2, and 20 where nothing was compiled yet.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2.5


def test_repairs_standard_input_line_by_line_and_keeps_every_other_byte() -> None:
    lines = b"Thissentence lost a space.\r\n\nand th is one has too many\nnot \xff utf-8"
    done = respace(stdin=lines)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"This sentence lost a space.\r\n\nand this one has too many\nnot \xff utf-8"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "defualt", "x"], "respace: unknown method 'defualt': expected one of do_nothing"),
        (["--insertion_penalty", "-1", "x"], "respace: insertion_penalty -1: expected a number of at least 0"),
    ],
)
def test_mistakes_are_told_without_a_stack_trace(arguments: list[str], message: str) -> None:
    done = respace(*arguments)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(message)
    assert b"Traceback" not in done.stderr


GIVEN = b"\xef\xbb\xbfThisline lost a space.\r\n\tand th is one has too many\n\nnot \xff utf-8"
WANTED = b"\xef\xbb\xbfThis line lost a space.\r\n\tand this one has too many\n\nnot \xff utf-8"


def test_a_file_is_repaired_byte_for_byte_but_for_spaces(tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.write_bytes(GIVEN)
    done = respace(str(file))
    assert (done.returncode, done.stdout) == (0, WANTED), done.stderr
    assert respace("-o", str(tmp_path / "out.txt"), str(file)).returncode == 0
    assert (tmp_path / "out.txt").read_bytes() == WANTED
    assert file.read_bytes() == GIVEN
    file.chmod(0o600)
    assert respace(str(file), "--in_place", ".bak").returncode == 0
    assert file.read_bytes() == WANTED
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "note.txt.bak").read_bytes() == GIVEN
    again = respace(str(file), "--in_place", ".bak")
    assert again.returncode == 1
    assert b"note.txt.bak exists already" in again.stderr
    assert respace("--", str(file)).stdout.strip() == str(file).encode()  # a text, not a file


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"%PDF-1.7\n", b"it cannot be read (exit code"), (b"a\0b", b"is not a text file")],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, message: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    done = respace(str(tmp_path / "file"), "--model", "do_nothing")
    assert (done.returncode, done.stdout) == (1, b"")
    assert message in done.stderr
    assert b"Traceback" not in done.stderr


class Rules:
    """Enough of a repairer."""

    def repair(self, text: str) -> str:
        assert not text.startswith("\ufeff")
        return text.replace("ofthe", "of the")


@pytest.fixture
def repairer() -> Repairer:
    return cast(Repairer, Rules())


@pytest.mark.skipif(not any(map(_is_there, BACKENDS)), reason="nothing here extracts the text of PDFs")
def test_the_text_of_a_pdf(tmp_path: Path, repairer: Repairer, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "paper.pdf").write_bytes(make_pdf(["One ofthe others."]))
    assert cli.repair_file(repairer, str(tmp_path / "paper.pdf"), str(tmp_path / "paper.txt"), None) == 0
    assert (tmp_path / "paper.txt").read_text().split() == ["One", "of", "the", "others."]
    assert cli.repair_file(repairer, str(tmp_path / "paper.pdf"), None, ".bak") == 1
    assert "cannot be replaced by its text. Give -o FILE" in capsys.readouterr().err


def test_a_pdf_where_nothing_extracts_its_text(
    tmp_path: Path, repairer: Repairer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("respace.pdf._is_there", lambda backend: False)
    name = tmp_path / "a\x1b[31m.pdf"
    name.write_bytes(b"%PDF-1.7\n")
    assert cli.repair_file(repairer, str(name), None, None) == 1
    shown = capsys.readouterr().err
    assert "\\x1b[31m.pdf is a PDF, and nothing is installed that extracts its text. Install poppler-utils" in shown
    assert shown.count("\n") == 1


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path, repairer: Repairer) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfofthe")
    assert cli.repair_file(repairer, str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), None) == 0
    assert (tmp_path / "b.txt").read_bytes() == b"\xef\xbb\xbfof the"
