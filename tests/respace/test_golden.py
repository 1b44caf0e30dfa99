"""Results change only where the version of the rules, or the model, says so: outputs of before are done again by it."""

from __future__ import annotations

import json

from respace import Repairer
from tests.respace.golden import GOLDEN, identity, result


def test_results_change_only_with_their_version() -> None:
    head, *lines = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    repairer = Repairer.load()
    again = "then run: python -m tests.respace.golden"
    assert identity(repairer) == head, f"the model or RepairWork.rules changed. Look at the results, {again}"
    changed = {
        one["text"]: (one["edits"], now) for one in lines if (now := result(repairer, one["text"])) != one["edits"]
    }
    assert not changed, f"results changed: raise RepairWork.rules, {again}"
    assert len(lines) == 300
    assert sum(bool(one["edits"]) for one in lines) > 150
    assert sum(not one["edits"] for one in lines) > 30
