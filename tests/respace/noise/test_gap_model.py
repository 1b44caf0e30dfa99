from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from respace import gaps
from respace.noise import held_out, parameters
from respace.noise.estimate import fit_gap_model
from respace.noise.gap_model import GapModel, classes, context_keys
from respace.noise.rows import Rows


def rows_of(*texts: str) -> Rows:
    return Rows.of(texts, [""] * len(texts), seed=0)


def test_classes_tell_apart_what_behaves_differently() -> None:
    kinds = dict(zip("aAé7(),.=π𝑥", classes(gaps.code_points("aAé7(),.=π𝑥")).tolist(), strict=True))
    assert kinds["a"] == kinds["é"]
    assert kinds["π"] == kinds["𝑥"]
    assert len(set(kinds.values())) == 9


def test_a_context_ends_with_its_row() -> None:
    apart = [keys.tolist() for keys in context_keys(rows_of("f(x", ") = y"))]
    alone = [
        a.tolist() + b.tolist()
        for a, b in zip(context_keys(rows_of("f(x")), context_keys(rows_of(") = y")), strict=True)
    ]
    assert apart == alone


def test_the_model_learns_where_spaces_come_and_go() -> None:
    # A space appears before every second opening bracket, and all spaces before = are lost.
    pairs = [("we set f (x)= y now", "we set f(x) = y now"), ("we set f(x)= y now", "we set f(x) = y now")] * 50
    probability = fit_gap_model(pairs).error_probabilities(rows_of("we set g(z) = u now"))
    text = "wesetg(z)=unow"
    assert probability[text.index("(")] == pytest.approx(0.5, abs=0.01)
    assert probability[text.index("=")] == pytest.approx(1.0, abs=0.02)
    others = np.delete(probability, [text.index("("), text.index("=")])
    assert others.max() < 0.02
    assert probability[0] == 0.0


def test_an_unknown_context_has_the_rate_of_a_narrower_one() -> None:
    pairs = [("f (x)", "f(x)"), ("f(x)", "f(x)")] * 50
    probability = fit_gap_model(pairs).error_probabilities(rows_of("7 hh(π"))
    assert probability[gaps.split("7 hh(π")[0].index("(")] > 0.1


def test_pairs_with_other_characters_are_refused() -> None:
    with pytest.raises(ValueError, match="pair 2: 'a b' and 'ac' differ in more than spaces"):
        fit_gap_model([("a b", "ab"), ("a b", "ac")])


def test_the_model_survives_its_file() -> None:
    model = fit_gap_model([("f (x)= y", "f(x) = y"), ("f(x) = y", "f(x) = y")] * 20)
    again = GapModel.from_json(json.loads(json.dumps(model.to_json())))
    rows = rows_of("f(x) = y", "g(z)")
    assert again.error_probabilities(rows) == pytest.approx(model.error_probabilities(rows), rel=5e-3)


def test_a_file_with_other_contexts_is_refused() -> None:
    with pytest.raises(ValueError, match="Estimate it again"):
        GapModel.from_json({"levels": [[0, 0, 0]], "keys": [[]], "probabilities": [[]]})


def test_the_default_model_foretells_the_errors_of_held_out_lines(shared: Path) -> None:
    directory = shared / "benchmarks" / "dev" / "arXiv.pdftotext"
    corrupt, correct = ((directory / f"{name}.txt").read_text().split("\n") for name in ("corrupt", "correct"))
    lines = [number for number, line in enumerate(correct) if held_out(line)]
    assert 1_500 < len(lines) < 2_500
    rows = rows_of(*(correct[number] for number in lines))
    wrong = rows_of(*(corrupt[number] for number in lines)).bits != rows.bits
    probability = parameters.gap_model(None).error_probabilities(rows)
    assert probability.sum() == pytest.approx(wrong.sum(), rel=0.1)
    constant = wrong.mean()
    assert _bits(probability, wrong) < 0.6 * _bits(np.full(len(wrong), constant), wrong)


def _bits(probability: np.ndarray, happened: np.ndarray) -> float:
    clipped = np.clip(probability, 1e-6, 1 - 1e-6)
    return float(-np.where(happened, np.log2(clipped), np.log2(1 - clipped)).sum())
