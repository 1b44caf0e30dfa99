"""The model that ships: what a person who installs Respace gets."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from models.files import load_model
from models.tensorflow import has_gpu
from respace import Repairer
from respace.benchmarks import read_lines


@pytest.fixture(scope="module")
def repairer() -> Repairer:
    return Repairer.load()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            "Thealgo rithm isfast, and it re pairs whole documents.",
            "The algorithm is fast, and it repairs whole documents.",
        ),
        ("Thisisatextwithoutanyspacesatall,butwithpunctuation.", None),
        ("He was k i s s e d by a rose.", "He was kissed by a rose."),
        ("The algo rithm isfast and ro bust.", "The algorithm is fast and robust."),
        ("Let F (R, T ) be a function of N , A and B.", "Let F(R, T) be a function of N, A and B."),
    ],
)
def test_repairs(repairer: Repairer, given: str, wanted: str | None) -> None:
    assert repairer.repair(given) == (wanted or "This is a text without any spaces at all, but with punctuation.")


@pytest.mark.parametrize(
    "text",
    [
        "225 27.9 358",
        "Baseline 71.2 68.4 69.8 12 1984",
        "J. R. R. Tolkien and C. S. Lewis",
        "La taupe et les papillons",
        "Introduction",
        "Internationalisation",
        "3.2 Related Work",
        "[12] A. Smith, B. C. Jones. On the nature of things. Journal of Nature, 12(3):45–67, 1999.",
        "She lived in Bad Homburg vor der Höhe, not far from Frankfurt am Main.",
    ],
)
def test_leaves_alone_what_is_right(repairer: Repairer, text: str) -> None:
    assert repairer.repair(text) == text


@pytest.mark.parametrize("text", ["", " ", "x", "\n\n", "\ud800", "\x00\x07\x1b", "\u200b\u200d", "a" * 3000])
def test_odd_input_never_fails(repairer: Repairer, text: str) -> None:
    assert "".join(repairer.repair(text).split()) == "".join(text.split())


def test_characters_are_kept_on_real_text(repairer: Repairer, shared: Path) -> None:
    for benchmark in sorted((shared / "benchmarks" / "dev").iterdir()):
        lines = read_lines(f"{benchmark}/corrupt.txt", 40)
        for line, repaired in zip(lines, repairer.repair(lines), strict=True):
            assert "".join(repaired.split()) == "".join(line.split())


def test_it_is_small_and_loads_at_once() -> None:
    directory = Path(__file__).parents[3] / "models" / "pretrained" / "default"
    sizes = [file.stat().st_size for file in directory.iterdir()]
    assert sum(sizes) < 130e6
    assert max(sizes) < 95e6
    assert (directory / "README.md").is_file()
    began = time.process_time()
    load_model("default")
    assert time.process_time() - began < 3


@pytest.mark.skipif(has_gpu(), reason="graphics cards are TensorFlow's")
def test_it_works_without_tensorflow() -> None:
    program = (
        "import sys; from respace import Repairer; print(Repairer.load().repair('The algo rithm isfast.'));"
        "assert 'tensorflow' not in sys.modules and 'apache_beam' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "The algorithm is fast.\n"), done.stderr


@pytest.mark.skipif(has_gpu(), reason="graphics cards round as they like")
def test_a_text_is_judged_alike_in_whatever_company(repairer: Repairer) -> None:
    """To the last bit: however a corpus is cut into shards, and wherever a document lies in them."""
    notes = (Path(__file__).parents[3] / "examples/clean/notes.txt").read_text().split("\n")
    texts = [line.replace(" ", "", at % 5).replace("e", "e ", at % 3) for at, line in enumerate(notes * 3) if line]
    texts += [" ".join(texts[:40]), " ".join(texts[40:])]
    alone = [repairer.repair_with_edits([text])[0] for text in texts]
    random.Random(1).shuffle(order := list(range(len(texts))))
    together = repairer.repair_with_edits([texts[at] for at in order])
    assert sum(len(one.edits) for one in alone) > 100
    assert [alone[at] for at in order] == list(together)
