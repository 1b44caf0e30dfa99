"""The search as a method, the look-ahead, and the paper's example."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from models.files import ModelError, load_model, save_model
from models.methods import fitted_penalties, load_method, method_identity
from models.paper.beam_search import BeamSearch
from models.paper.bid import CONTEXT, WINDOW, bid_shapes
from models.paper.look_ahead_penalties import LookAhead
from models.paper.lstm import NetworkSize, initial_weights
from models.paper.pruning import FULL_SEARCH
from models.paper.search import SearchMethod, load_networks
from models.paper.uni import UniModel, uni_shapes
from models.paper.vocabulary import Vocabulary
from respace import gaps
from respace.method import GivenSequence, without_spaces
from respace.repairer import Repairer
from tests.models.paper.reference_search import LanguageModel
from training.data.text_stream import pad, with_blanks
from training.paper.trainer import PaperTrainer

VOCABULARY = Vocabulary(" helowrdabcx")
SIZE = NetworkSize(units=24, dense=16)


def given(text: str) -> GivenSequence:
    characters, bits = gaps.split(text)
    return GivenSequence(gaps.code_points(characters), bits, without_spaces(bits))


@pytest.fixture(scope="module")
def hello_model() -> UniModel:
    """A language model that has read nothing but "hello word"."""
    characters, bits = gaps.split("hello word")
    text = with_blanks(VOCABULARY.encode(gaps.code_points(characters)), bits, VOCABULARY.space)
    batch = pad([(np.append(text, np.int32(VOCABULARY.end)), bits)], 0, False)
    trainer = PaperTrainer("uni", VOCABULARY, SIZE, learning_rate=0.02)
    losses = [float(trainer.train(batch)) for _ in range(80)]
    assert losses[-1] < 0.1 < losses[0]
    return UniModel(VOCABULARY, SIZE, trainer.weights(np.float32))


@lru_cache
def compiled(model: UniModel) -> BeamSearch:
    return BeamSearch(model)


def method(model: UniModel, insertion: float, deletion: float) -> SearchMethod:
    made = SearchMethod(model, name="hello", sha256="0" * 64, insertion_penalty=insertion, deletion_penalty=deletion)
    made.search = compiled(model)  # the same graph for all tests
    return made


def test_the_example_of_the_figure(hello_model: UniModel) -> None:
    assert Repairer(method(hello_model, 0.5, 0.5)).repair("hel low ord") == "hello word"


def test_penalties_make_it_cautious(hello_model: UniModel) -> None:
    assert Repairer(method(hello_model, 500, 500)).repair("hel low ord") == "hel low ord"
    assert Repairer(method(hello_model, 0, 500)).repair("helloword") == "hello word"
    assert Repairer(method(hello_model, 500, 0)).repair("helloword") == "helloword"


def test_text_that_lost_its_spaces_pays_no_penalties(hello_model: UniModel) -> None:
    lost = dataclasses.replace(given("helloword"), lost=np.ones(9, dtype=bool))
    kept = given("helloword")
    free, charged = method(hello_model, 500, 500).decide([lost, kept])
    assert np.flatnonzero(free.bits).tolist() == [5]
    assert not charged.bits.any()
    assert free.confidence[5] > 0.9


def test_sequences_longer_than_a_window_are_cut(hello_model: UniModel) -> None:
    text = "hello word" * ((WINDOW + 2 * CONTEXT) // 8)
    decision = method(hello_model, 1e6, 1e6).decide([given(text)])[0]
    assert decision.bits.tolist() == given(text).bits.tolist()


def test_nothing_and_one_character(hello_model: UniModel) -> None:
    decisions = method(hello_model, 1, 1).decide([given(""), given("x"), given("  ")])
    assert [len(one.bits) for one in decisions] == [0, 1, 0]


def test_look_ahead_equals_its_definition(hello_model: UniModel) -> None:
    texts = ["hello word", "heLlo wo rd x", "ab", "c", "wordhello"]
    pairs = [gaps.split(text) for text in texts]
    found = LookAhead(hello_model)(
        [gaps.code_points(characters) for characters, _ in pairs], [bits for _, bits in pairs]
    )
    plain = LanguageModel({name: value.numpy() for name, value in hello_model.weights.items()})

    def score(symbols: list[int], last: int) -> float:
        """Log-probability of the last so many symbols."""
        state, total = plain.start(), 0.0
        for place, (read, following) in enumerate(zip([VOCABULARY.start, *symbols], symbols, strict=False)):
            state = plain.read(state, read)
            if place >= len(symbols) - last:
                total += plain.log_probabilities(state)[following]
        return total

    for (characters, bits), values in zip(pairs, found, strict=True):
        ids = VOCABULARY.encode(gaps.code_points(characters)).tolist()
        assert values[0] == 0
        for gap in range(1, len(ids)):
            before = with_blanks(np.array(ids[:gap], dtype=np.int32), bits[:gap], VOCABULARY.space).tolist()
            following = [*(VOCABULARY.space if bit else number for number, bit in zip(ids, bits, strict=True))]
            after = [*following, VOCABULARY.end][gap + 1]
            without = score([*before, ids[gap], after], 2)
            spaced = score([*before, VOCABULARY.space, ids[gap], after], 3)
            assert values[gap] == pytest.approx(spaced - without, abs=2e-4)


def written(directory: Path, kind: str) -> Path:
    """A model directory with untrained networks."""
    weights = initial_weights(uni_shapes(len(VOCABULARY), SIZE), 1)
    config = {"kind": kind, "name": kind, "vocabulary": VOCABULARY.characters, "uni": {"units": 24, "dense": 16}}
    if kind == "bid":
        config["bid"] = {"units": 10, "dense": 8}
        weights |= initial_weights(bid_shapes(len(VOCABULARY), NetworkSize(units=10, dense=8)), 2)
    config["penalties"] = {"insertion": 1.5, "deletion": 2.5}
    config["fitted_penalties"] = {"Wiki": {"insertion": 3.0, "deletion": 4.0}}
    save_model(directory, config, {name: value.astype(np.float16) for name, value in weights.items()})
    return directory


@pytest.mark.parametrize("kind", ["uni", "bid"])
def test_model_directories(tmp_path: Path, kind: str) -> None:
    path = str(written(tmp_path / kind, kind))
    loaded = load_method(path)
    assert isinstance(loaded, SearchMethod)
    assert (loaded.insertion_penalty, loaded.deletion_penalty) == (1.5, 2.5)
    assert (loaded.labeller is not None) == (kind == "bid")
    assert load_method(path, 0.0, 7.0).identity != loaded.identity
    assert fitted_penalties(path) == {"Wiki": {"insertion": 3.0, "deletion": 4.0}}
    assert load_model(path).sha256[:16] in method_identity(path)
    assert method_identity(path) == loaded.identity


def test_bid_adds_labels(tmp_path: Path) -> None:
    files = load_model(str(written(tmp_path / "bid", "bid")))
    model, labeller, _ = load_networks(files)
    assert labeller is not None

    class Certain:
        def sequence_logits(self, sequences: Sequence[GivenSequence]) -> list[np.ndarray]:
            return [np.where(np.arange(len(one.bits)) % 3 == 0, 300, -300).astype(np.float32) for one in sequences]

    sure = SearchMethod(model, Certain(), name="x", sha256="0", insertion_penalty=0, deletion_penalty=0)
    assert np.flatnonzero(sure.decide([given("helloword")])[0].bits).tolist() == [3, 6]


def test_vocabulary_that_does_not_match_the_weights(tmp_path: Path) -> None:
    path = written(tmp_path / "uni", "uni")
    files = load_model(str(path))
    save_model(path, files.config | {"vocabulary": VOCABULARY.characters + "q"}, files.weights)
    with pytest.raises(ModelError, match=r"'uni/lstm/kernel'.*expects \[16, 96\].*vocabulary"):
        load_method(str(path))


@pytest.mark.parametrize("name", ["insertion_penalty", "deletion_penalty"])
def test_negative_penalties(tmp_path: Path, name: str) -> None:
    path = str(written(tmp_path / "uni", "uni"))
    with pytest.raises(ValueError, match=f"{name} -1: expected a number of at least 0"):
        load_method(path, **{name: -1.0})


def test_combination_names_its_parts(tmp_path: Path) -> None:
    uni = str(written(tmp_path / "uni", "uni"))
    config = {"kind": "combination", "name": "both", "penalties": {"insertion": 0, "deletion": 0}}
    for more, message in (({}, "names no 'language_model'"), ({"language_model": uni, "labels": uni}, "expected FAST")):
        save_model(tmp_path / "both", config | more, {})
        with pytest.raises(ModelError, match=message):
            load_method(str(tmp_path / "both"))


def test_default_search_is_pruned_and_can_be_full(tmp_path: Path) -> None:
    files = load_model(str(written(tmp_path / "uni", "uni")))
    full = SearchMethod.from_files(files, pruning=FULL_SEARCH)
    pruned = SearchMethod.from_files(files)
    assert full.identity != pruned.identity
    batch = [given("hello wo rd abc"), given("ab cde hel low")]
    for one, other in zip(full.decide(batch), pruned.decide(batch), strict=True):
        assert one.bits.tolist() == other.bits.tolist()
