"""A Repairer goes to other processes by the name of its model, not with its weights."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from models import methods
from models.files import ModelError, save_model
from respace import Repairer
from tests.models.tiny import TINY, tiny_weights
from tests.respace.test_repairer import SecondLine, SpaceBeforeCapitals

TEXTS = ["Thealgo rithm isfast.", "thequick brown f ox", "x = f(a, b)", ""]


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_kept", {})


@pytest.fixture
def model(tmp_path: Path) -> str:
    return saved(tmp_path / "tiny")


def saved(directory: Path, seed: int = 1) -> str:
    config = {"kind": "fast", "network": TINY.to_json(), "penalties": {"insertion": 0.5, "deletion": 0.5}}
    save_model(directory, config, tiny_weights(seed))
    return str(directory)


def again(repairer: Repairer) -> Repairer:
    found = pickle.loads(pickle.dumps(repairer))
    assert isinstance(found, Repairer)
    return found


def test_the_default_model_is_pickled_by_name() -> None:
    repairer = Repairer.load()
    content = pickle.dumps(repairer)
    assert len(content) < 1000
    assert pickle.loads(content).repair_with_edits(TEXTS) == repairer.repair_with_edits(TEXTS)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_settings_go_along(model: str, protocol: int) -> None:
    repairer = Repairer.load(model, 0.25, deletion_penalty=0.75, join_hyphenated=True)
    repairer.all_text = True
    content = pickle.dumps(repairer, protocol)
    assert len(content) < 1000
    unpickled = pickle.loads(content)
    assert repr(unpickled) == repr(repairer)
    assert unpickled.repair_with_edits(TEXTS) == repairer.repair_with_edits(TEXTS)
    assert pickle.dumps(unpickled, protocol) == content


def test_a_process_loads_a_method_once(model: str) -> None:
    content = pickle.dumps(Repairer.load(model))
    with_more = pickle.dumps(Repairer.load(model, all_text=True))
    start = threading.Barrier(4)

    def unpickled(content: bytes) -> Repairer:
        start.wait()
        return pickle.loads(content)  # type: ignore[no-any-return]

    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(unpickled, [content, with_more] * 2))
    assert len({id(one.method) for one in found}) == 1
    assert [one.all_text for one in found] == [False, True] * 2
    assert again(found[0]).method is found[0].method
    assert again(Repairer.load(model, insertion_penalty=4)).method is not found[0].method


def test_few_methods_are_kept(model: str) -> None:
    contents = [pickle.dumps(Repairer.load(model, penalty)) for penalty in range(6)]
    unpickled = [pickle.loads(one) for one in contents]
    assert len(methods._kept) == 4
    assert pickle.loads(contents[5]).method is unpickled[5].method
    assert pickle.loads(contents[0]).method is not unpickled[0].method


def test_another_model_of_that_name_is_an_error(model: str) -> None:
    content = pickle.dumps(Repairer.load(model))
    saved(Path(model), seed=2)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"tiny is tiny@\w{16} .* here, expected tiny@\w{16} .*Copy that model"):
            pickle.loads(content)
    saved(Path(model))
    pickle.loads(content)


def test_a_process_in_another_directory_finds_the_model(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    repairer = Repairer.load("./tiny")
    script = "import pickle, sys; print(pickle.load(sys.stdin.buffer).repair('aB cD'))"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command, content = [sys.executable, "-c", script], pickle.dumps(repairer)
    done = subprocess.run(command, cwd="/", env=environment, input=content, capture_output=True)
    assert done.stdout.decode() == repairer.repair("aB cD") + "\n", done.stderr.decode()


def test_what_was_changed_is_pickled_as_it_is(model: str) -> None:
    repairer = Repairer.load(model)
    repairer.method.insertion_penalty = 3.0  # type: ignore[attr-defined]
    assert again(repairer).method.identity == repairer.method.identity
    repairer = Repairer.load(model)
    repairer.judge = None
    assert again(repairer).judge is None
    repairer.method = SpaceBeforeCapitals()
    assert again(repairer).repair("aB") == "a B"


def test_penalties_set_on_a_shared_method_do_not_reach_later_ones(model: str) -> None:
    content = pickle.dumps(Repairer.load(model))
    first = pickle.loads(content)
    first.method.insertion_penalty = 3.0
    assert pickle.loads(content).method.identity != first.method.identity


def test_other_methods_are_pickled_as_python_does() -> None:
    repairer = Repairer(SpaceBeforeCapitals(), join_hyphenated=True, judge=SecondLine())
    repairer.repair("aB")
    unpickled: Any = again(repairer)
    assert unpickled.method is not repairer.method
    assert unpickled.method.longest == 2
    assert isinstance(unpickled.judge, SecondLine)
    assert repr(unpickled) == repr(repairer)


class WithNotes(Repairer):
    notes = ""


def test_subclasses_stay_what_they_are(model: str) -> None:
    repairer = WithNotes.load(model)
    repairer.notes = "mine"
    for copied in (again(repairer), copy.copy(repairer), copy.deepcopy(repairer)):
        assert isinstance(copied, WithNotes)
        assert copied.notes == "mine"
        assert copied.repair_with_edits(TEXTS) == repairer.repair_with_edits(TEXTS)


def test_copies_share_what_was_loaded(model: str) -> None:
    repairer = Repairer.load(model)
    for copied in (copy.copy(repairer), copy.deepcopy(repairer), copy.deepcopy([repairer])[0]):
        assert copied is not repairer
        assert (copied.method, copied.judge) == (repairer.method, repairer.judge)
        copied.all_text = True
        assert not repairer.all_text
        assert len(pickle.dumps(copied)) < 1000
    assert methods._kept == {}


def test_copies_of_other_methods_are_those_of_python() -> None:
    repairer = Repairer(SpaceBeforeCapitals())
    assert copy.copy(repairer).method is repairer.method
    copied = copy.deepcopy(repairer)
    assert copied.method is not repairer.method
    assert copied.repair("aB") == "a B"
