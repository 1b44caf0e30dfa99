from __future__ import annotations

import io
import os
import pty
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from respace import cli
from respace.arguments import Given
from respace.gaps import Edit
from respace.loops import FIRST_RUN, compiled
from respace.pdf import BACKENDS, _is_there
from respace.repairer import Repair, Repairer
from tests.respace.pdfs import make_pdf

ROOT = Path(__file__).parents[2]


def respace(
    *arguments: str | bytes, stdin: bytes = b"", folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "respace.cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, input=stdin, capture_output=True, cwd=folder, env=environment)


def test_diff_marks_insertions_and_deletions_apart_with_and_without_colour() -> None:
    repair = Repair("a bcd e", [Edit(1, "insertion"), Edit(3, "deletion")])
    assert cli.show_diff("abc\td e", repair, coloured=False) == "a{+ +}bc[-\t-]d e"
    assert cli.show_diff("abc\td e", repair, coloured=True) == "a\x1b[32m{+ +}\x1b[0mbc\x1b[31m[-\t-]\x1b[0md e"
    assert cli.show_diff("abc", Repair("abc", []), coloured=False) == "abc"


@pytest.mark.parametrize(("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals(more: dict[str, str], coloured: bool) -> None:
    text = "Thealgo rithm isfast."
    assert respace("--diff", text).stdout == b"The{+ +}algo[- -]rithm is{+ +}fast.\n"
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "respace.cli", "--diff", text]
    subprocess.run(command, stdout=other, env={**os.environ, **more}, check=True)
    shown = os.read(terminal, 1000)
    os.close(terminal)
    os.close(other)
    assert (b"\x1b[32m{+ +}" in shown, b"{+ +}" in shown) == (coloured, True)


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
    [
        (b"%PDF-1.7\n", "{}: it cannot be read (exit code"),
        (b"a\0b", "{} is not a text file: it has zero bytes"),
        ("Thesewords".encode("utf-16"), "{}: UTF-16 text. Convert it to UTF-8 first: iconv"),
        ("Thesewords".encode("utf-16-le"), "{} is not a text file: it has zero bytes"),
        (b"PAR1\x15\x04", "{}: a Parquet file. Repair it with: python -m pipelines.repair_corpus"),
    ],
)
def test_what_is_no_text_is_refused_in_files_and_on_standard_input(
    tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    for arguments, name in (([str(file)], str(file)), ([], "standard input"), (["-"], "standard input")):
        done = respace(*arguments, "--model", "do_nothing", stdin=content)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.decode().startswith(f"respace: {message.format(name)}")
        assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("arguments", [["typo.txt"], ["a.txt", "gone/"], ["a text", "a.txt"], ["s3://bucket/a"]])
def test_what_looks_like_a_file_and_is_none(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "a.txt").write_text("ofthe")
    missing = next(one for one in arguments if one != "a.txt")
    done = respace(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    why = "only local files can be read" if "://" in missing else "no such file"
    advice = "Check the name, or put -- before the arguments if they are texts"
    assert done.stderr.decode() == f"respace: {missing}: {why}. {advice}\n"
    as_text = respace("--model", "do_nothing", "--", *arguments, folder=tmp_path)
    assert (as_text.returncode, as_text.stdout.decode().splitlines()) == (0, arguments)


def test_a_directory_is_work_for_the_job(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    done = respace("corpus", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--input corpus --output DIRECTORY" in done.stderr


def test_several_files(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"Thisline lost a space in {name[0]}.\n")
    (tmp_path / "binary.txt").write_bytes(b"\0")
    done = respace("a.txt", "b.txt", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"respace: 2 files: expected -o DIRECTORY or --in_place SUFFIX, such as --in_place .bak\n"
    done = respace("a.txt", "-o", "out", "binary.txt", "b.txt", folder=tmp_path)  # one that fails does not stop others
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.txt", "b.txt"]
    assert (tmp_path / "out" / "b.txt").read_text() == "This line lost a space in b.\n"
    done = respace("--diff", "a.txt", "b.txt", folder=tmp_path)
    assert done.stdout.decode().splitlines()[2:] == ["--- b.txt", "This{+ +}line lost a space in b."]
    assert respace("a.txt", "b.txt", "--in_place", ".bak", folder=tmp_path).returncode == 0
    assert (tmp_path / "a.txt").read_text() == "This line lost a space in a.\n"
    assert (tmp_path / "b.txt.bak").read_text() == "Thisline lost a space in b.\n"


def test_standard_input_by_name_and_into_a_file(tmp_path: Path) -> None:
    assert respace("-", stdin=b"Thisline lost a space.\n").stdout == b"This line lost a space.\n"
    assert respace("-o", str(tmp_path / "out.txt"), stdin=b"Thisline lost a space.\n").returncode == 0
    assert (tmp_path / "out.txt").read_text() == "This line lost a space.\n"
    assert respace("--", stdin=b"Thisline lost a space.\n").stdout == b"This line lost a space.\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert Given(files=[str(pipe)]).characters() is None  # of such a length, it is not known to be short
    assert b"--in_place: standard input cannot be replaced" in respace("-", "--in_place", ".bak").stderr


def test_output_folders_are_not_made_and_inputs_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ofthe")
    done = respace("a.txt", "-o", "gone/b.txt", folder=tmp_path)
    assert done.stderr == b"respace: -o gone/b.txt: no such directory gone. Create it, or give another name\n"
    assert (done.returncode, (tmp_path / "gone").exists()) == (2, False)
    for output in (".", "a.txt"):
        assert b"this is the input" in respace("a.txt", "-o", output, folder=tmp_path).stderr
    assert (tmp_path / "a.txt").read_text() == "ofthe"


LATIN_1 = "Wählt dieses Café aus, odernot.\nAnd the caf\xe9 \xe0 la carte isgood.\n".encode("latin-1")


def test_bytes_that_are_not_utf8_come_out_as_they_went_in_with_one_warning(tmp_path: Path) -> None:
    content = b"All of this is plain.\n" * 600 + LATIN_1 * 2
    (tmp_path / "a.txt").write_bytes(content)
    for arguments, name in ((["a.txt"], "a.txt"), ([], "standard input")):
        done = respace(*arguments, stdin=content, folder=tmp_path)
        assert done.returncode == 0
        assert done.stdout.replace(b" ", b"") == content.replace(b" ", b"")
        expected = f"respace: warning: {name}: line 601 is not UTF-8 (byte 0xE4). Such bytes and the spaces next to"
        assert done.stderr.decode().startswith(expected)
        assert done.stderr.count(b"\n") == 1
        # What stands next to such a byte is protected by `respace.guards`.
        assert done.stdout.count(b"caf\xe9 \xe0 la") == 2
    assert respace("--model", "do_nothing", b"a \xff b").stdout == b"a \xff b\n"


def test_ctrl_c_while_the_model_loads(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\ndef model(insertion_penalty, deletion_penalty):\n    print('loading', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-m", "respace.cli", "--model", "slow:model", "a text"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"loading\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate()[1] == b""
    assert process.returncode == 130


@pytest.mark.skipif(not any(map(_is_there, BACKENDS)), reason="nothing here extracts the text of PDFs")
def test_the_text_of_a_pdf_on_standard_input(repairer: Repairer) -> None:
    stream = io.BytesIO(make_pdf(["One ofthe others."]))
    pieces = cli.repaired_stream(repairer, stream, lambda text, repair: repair.text, at_once=2)
    assert b"".join(pieces).split() == [b"One", b"of", b"the", b"others."]


def test_the_first_run_says_that_it_compiles(tmp_path: Path) -> None:
    script = (
        "import sys; from respace import loops; from respace.cli import _compilation_shown\n"
        "loop = loops.compiled(lambda value: value + 1)\n"
        "loop.function.__qualname__ = loop.function.__name__ = 'one_more'\n"
        "with _compilation_shown():\n    assert loop(2) == 3 and loop(2.5) == 3.5\n"
    )
    (tmp_path / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run([sys.executable, str(tmp_path / "script.py")], env=environment, stderr=subprocess.PIPE).stderr
        for _ in range(2)
    ]
    assert said == [f"respace: {FIRST_RUN}\n".encode(), b""]


def test_on_a_terminal_it_counts_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    loop = compiled(eval("lambda value: value + 1"))  # what is in no file is compiled every time
    with cli._compilation_shown():
        assert loop(2) == 3
        assert loop(2.5) == 3.5
    line = "respace: first run on this machine, compiling: {} loops"
    assert terminal.getvalue() == f"\r\x1b[K{line.format(1)}\r\x1b[K{line.format(2)}\n"


class Rules:
    """Enough of a repairer."""

    def repair_with_edits(self, texts: list[str]) -> list[Repair]:
        assert not any(text.startswith("\ufeff") for text in texts)
        return [Repair(text.replace("ofthe", "of the"), []) for text in texts]


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
