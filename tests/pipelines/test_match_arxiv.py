"""`pipelines.match_arxiv` end to end: real PDFs, the real runner, real archives."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.match_arxiv import MatchOptions, main
from respace.pdf import BACKENDS, _is_there, choose_backend
from respace.storage.errors import BadOption
from tests.respace.pdfs import make_encrypted_pdf, make_endless_pdf, make_pdf
from tests.shared_data import SHARED

pytestmark = pytest.mark.skipif(not any(map(_is_there, BACKENDS)), reason="no PDF extractor is installed")

TEX = r"""\documentclass{article}
\newcommand{\RR}{\mathbb{R}}
\begin{document}
\section{On $F(R,T)$ gravity}
We take $F(R,T)$ to be smooth on $\RR$ and $n+1$ to be odd, as was shown by others~\cite{a} before us. % a comment
\begin{equation} x = y \end{equation}
where the second paragraph follows the display and goes on for long enough to be prose.
\end{document}
"""
PAGE = [
    "1 On F (R, T ) gravity",
    *[""] * 5,
    "We take F (R, T ) to be smooth on R and n+1 to be odd, as",
    "was shown by others [3] before us.",
    *[""] * 5,
    "where the second para graph follows the display and goes",
    "on for longenough to be prose.",
    *[""] * 5,
    "Words that are not in the source at all, and that go on for",
    "long enough to be prose too.",
]
TRUTH = [
    ("On F (R, T ) gravity", "On F(R, T) gravity"),
    (
        "We take F (R, T ) to be smooth on R and n+1 to be odd, as was shown by others [3] before us.",
        "We take F(R, T) to be smooth on R and n + 1 to be odd, as was shown by others [3] before us.",
    ),
    (
        "where the second para graph follows the display and goes on for longenough to be prose.",
        "where the second paragraph follows the display and goes on for long enough to be prose.",
    ),
]


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A directory, a tar and a compressed file, each with its PDF."""
    folder = tmp_path / "papers"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "main.tex").write_text(TEX)
    (folder / "one" / "main.pdf").write_bytes(make_pdf(PAGE))
    with tarfile.open(folder / "two.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("main.tex")
        info.size = len(TEX)
        archive.addfile(info, io.BytesIO(TEX.encode()))
    (folder / "three.gz").write_bytes(gzip.compress(TEX.encode()))
    for name in ("two", "three"):
        (folder / f"{name}.pdf").write_bytes(make_pdf(PAGE))
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([*map(str, arguments), "--local_workers", "1"])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def rows(output: Path) -> list[dict[str, object]]:
    return pa.concat_tables([pq.read_table(path) for path in sorted(output.glob("*.parquet"))]).to_pylist()


def test_pairs(papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--input", papers, "--output", tmp_path / "out")
    assert code == 0
    found = rows(tmp_path / "out")
    for document in ("one", "two", "three"):
        pairs = [(row["extracted"], row["truth"]) for row in found if row["document_id"] == document]
        assert pairs == TRUTH
    positions = [row["position"] for row in found if row["document_id"] == "one"]
    # A citation is one character of the source, whatever its label.
    second = "We take F(R, T) to be smooth on R and n + 1 to be odd, as was shown by others * before us."
    assert positions == [0, 15, 15 + len(second.replace(" ", ""))]
    assert re.search(r"matched prose +6 \(66\.7 %\)\n", out)
    assert re.search(rf"PDFs read with +{choose_backend()}\n", out)
    assert re.search(r"unmatched prose: other words or symbols +3\n", out)
    assert "extracted  On F (R, T ) gravity\n  truth      On F(R, T) gravity" in out


def test_a_pdf_without_a_source_is_counted(papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (papers / "alone.pdf").write_bytes(make_pdf(PAGE))
    _, out, _ = run(capsys, "--input", papers, "--output", tmp_path / "out")
    assert re.search(r"PDFs without a source +1\n", out)


def test_a_second_run_does_nothing_and_other_options_are_refused(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--input", papers, "--output", tmp_path / "out"]
    assert run(capsys, *arguments)[0] == 0
    [made] = (tmp_path / "out").glob("*.parquet")
    before = made.stat().st_mtime_ns
    code, _, err = run(capsys, *arguments)
    assert (code, made.stat().st_mtime_ns) == (0, before)
    assert "to do" not in err
    code, _, err = run(capsys, *arguments, "--source_only")
    assert code == 1
    assert "source only was False and is now True" in err


def test_source_only(papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, _ = run(capsys, "--input", papers / "one", "--output", tmp_path / "out", "--source_only")
    assert code == 0
    assert [(row["kind"], row["text"]) for row in rows(tmp_path / "out")] == [
        ("title", "On F(R, T) gravity"),
        ("text", "We take F(R, T) to be smooth on R and n + 1 to be odd, as was shown by others [1] before us."),
        ("text", "where the second paragraph follows the display and goes on for long enough to be prose."),
    ]


def parquet_of_sources(path: Path) -> Path:
    table = [
        {
            "repo": repo,
            "doc_id": f"{repo}:{n}",
            "path": f"{n}.tex",
            "tex": f"Text {n} of {repo}.\n\nShared words of it.",
        }
        for repo in ("a", "b", "c")
        for n in range(4)
    ]
    pq.write_table(pa.Table.from_pylist(table), path, row_group_size=5)
    return path


def test_parquet_of_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = parquet_of_sources(tmp_path / "sources.parquet")
    digests = []
    for name, options in [("x", ["--shard_bytes", 1]), ("y", ["--shard_bytes", 10**9])]:
        code, out, _ = run(capsys, "--input", source, "--output", tmp_path / name, "--source_only", *options)
        assert code == 0
        found = sorted((row["source"], row["text"]) for row in rows(tmp_path / name))
        assert len(found) == 15  # each repository's shared paragraph once
        digests.append(hashlib.sha256(repr(found).encode()).hexdigest())
        assert "left out: repeated  9" in out
    assert digests[0] == digests[1]


def test_a_parquet_that_is_left_out_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"doc_id": ["a"], "path": ["a.tex"], "tex": [TEX]}), tmp_path / "good.parquet")
    (tmp_path / "bad.parquet").write_text("no Parquet")
    both = ["--input", tmp_path / "good.parquet", tmp_path / "bad.parquet", "--output", tmp_path / "out"]
    code, out, _ = run(capsys, *both, "--source_only", "--on_bad_file", "skip")
    assert code == 0
    assert re.search(r"bad files +1\n", out)


def test_at_most_so_much_of_one_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = parquet_of_sources(tmp_path / "sources.parquet")
    arguments = ["--input", source, "--output", tmp_path / "out", "--source_only", "--characters_per_source", 30]
    assert run(capsys, *arguments)[0] == 0
    for repo in ("a", "b", "c"):
        assert 0 < sum(len(str(row["text"])) for row in rows(tmp_path / "out") if row["source"] == repo) <= 30


def test_hostile_documents_become_dead_letters(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, pdf in {"endless": make_endless_pdf(), "encrypted": make_encrypted_pdf(), "empty": b""}.items():
        (papers / f"{name}.gz").write_bytes(gzip.compress(TEX.encode()))
        (papers / f"{name}.pdf").write_bytes(pdf)
    grows = r"\newcommand{\ma}{word word }" + "".join(
        rf"\newcommand{{\m{chr(98 + n)}}}{{\m{chr(97 + n)}\m{chr(97 + n)}}}" for n in range(20)
    )
    (papers / "grows.gz").write_bytes(gzip.compress((grows + "\n\n".join([r"\mu"] * 500)).encode()))
    (papers / "grows.pdf").write_bytes(make_pdf(PAGE))
    arguments = ["--input", papers, "--output", tmp_path / "out", "--pdf_seconds", 2]
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert "4 of 7 documents failed, more than --max_error_fraction 0.01" in err
    letters = pq.read_table(next((tmp_path / "out" / "_dead_letters").glob("*.parquet"))).to_pylist()
    assert sorted((letter["id"], letter["stage"]) for letter in letters) == [
        ("empty", "pdf"), ("encrypted", "pdf"), ("endless", "pdf"), ("grows", "latex")
    ]  # fmt: skip
    assert len(rows(tmp_path / "out")) == 3 * len(TRUTH)


def test_bad_files(papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (papers / "damaged.tar.gz").write_bytes(b"garbage")
    (papers / "damaged.pdf").write_bytes(make_pdf(PAGE))
    code, _, err = run(capsys, "--input", papers, "--output", tmp_path / "out")
    assert code == 1
    assert "damaged.tar.gz: cannot be decompressed" in err
    code, out, err = run(capsys, "--input", papers, "--output", tmp_path / "out", "--on_bad_file", "warn")
    assert code == 0  # what may be left out has not failed
    assert f"warning: left out: {papers}/damaged.tar.gz: cannot be decompressed" in err
    assert re.search(r"bad files +1\n", out)
    assert len(rows(tmp_path / "out")) == 3 * len(TRUTH)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--input", "nowhere", "--output", "out"], 1, "--input nowhere: not found"),
        (["--input", "{papers}", "--output", "out", "--pdf_backend", "x"], 2, "--pdf_backend x: expected auto"),
        (
            ["--input", "{papers}", "--output", "out", "--pdf_seconds", "0"],
            2,
            "--pdf_seconds 0.0: expected at least 0.1",
        ),
        (["--input", "{papers}", "--output", "out", "--source_onyl"], 2, "Did you mean --source_only?"),
        (["--input", "{papers}/three.gz", "--output", "out"], 1, "none of 1 documents has a PDF"),
    ],
)
def test_mistakes(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    given = [argument.format(papers=papers) for argument in arguments]
    given[3] = str(tmp_path / "out")
    found, _, err = run(capsys, *given)
    assert found == code
    assert message in err
    assert "Traceback" not in err


def test_a_dry_run_writes_nothing(papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--input", papers, "--output", tmp_path / "out", "--dry_run")
    assert code == 0
    assert "dry run, matching PDFs: nothing was written" in out
    assert not (tmp_path / "out").exists()


def test_options_are_checked() -> None:
    with pytest.raises(BadOption, match="--documents_per_shard 0: expected at least 1"):
        MatchOptions(input=("a",), output="b", documents_per_shard=0)


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "latexpdf").is_dir(), reason="$RESPACE_DATA/latexpdf is not there")
def test_real_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All 18 documents pass, and of their prose more than half is found, or a third where poppler is missing."""
    code = main(["--input", str(SHARED / "latexpdf"), "--output", str(tmp_path / "out")])
    assert code == 0
    found = rows(tmp_path / "out")
    assert len({row["document_id"] for row in found}) == 18
    printed = capsys.readouterr().out
    share = float(printed.split("matched prose")[1].split("(")[1].split(" %")[0])
    assert share > (50 if _is_there("poppler") else 100 / 3)
    assert re.search(r"dead letters +0\n", printed)


def test_overwrite_leaves_no_shard_of_an_earlier_run(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--input", papers, "--output", tmp_path / "out", "--source_only"]
    assert run(capsys, *arguments, "--documents_per_shard", "1")[0] == 0
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 3
    assert run(capsys, *arguments, "--overwrite")[0] == 0
    assert [path.name for path in (tmp_path / "out").glob("*.parquet")] == ["documents-00000.parquet"]
    assert len(list((tmp_path / "out/_manifest").glob("*.json"))) == 1
