"""Writes `golden.jsonl`: varied lines, and what the default model makes of them.

    python -m tests.respace.golden

Run it when results are meant to change, after raising `RepairWork.rules`, or when another model ships. Lines with a
decision so close that another processor may round it to the other side are left out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from models.fast.method import FastMethod, judged_logits
from respace import Repairer
from respace.laid_texts import LaidTexts
from respace.noise import Recipe, corrupt, given_texts
from respace.repairer import _Plan
from transforms.repair.work import RepairWork

GOLDEN = Path(__file__).with_name("golden.jsonl")
ROOT = Path(__file__).resolve().parents[2]
LINES = 300
# A decision this close to its penalty, in logits, may be another one on another processor.
_CLOSE = 0.05
_OTHERS = [
    "Der Fluß ent springt in den Alpen und mün det nach 300 km in die Nord see.",
    "La ville est située au bord de la mer, à quel ques kilomètres de la frontière.",
    "El equipo ganó el campeonato nacio nal por ter cera vez en su historia.",
    "x = [a for a in range(10) if a%2==0]; print(x[ 0 ], x[ -1])",
    "https://example.org/path/to?query=a b and mail to someone@example. org",
    "T H E A U T H O R S and their W o r k",
    "Table 3: 12.5 13.7 14.1 (±0.3) 99 % of all n=120",
    "2 RelatedWork",
    "THE HUMANSIDE OF ENTERPRISE",
    "Let f : X → Y and N≥1 such that (X,T) is a space s, a set of k elements",
    "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
    "Smith, J.R.(1998). On thethings that matter.J.Appl.Phys. 12(3):45-67.",
]


def identity(repairer: Repairer) -> dict[str, Any]:
    """What must change where results do."""
    return {"model": repairer.method.identity, "rules": RepairWork.rules}


def result(repairer: Repairer, text: str) -> list[str]:
    """Edits as they are kept: ``+12`` is a space inserted at gap 12."""
    return [f"{'+' if edit.kind == 'insertion' else '-'}{edit.gap}" for edit in repairer.repair_with_edits(text).edits]


def is_close(repairer: Repairer, text: str) -> bool:
    plan = _Plan(LaidTexts.of([text]), repairer)
    method = repairer.method
    assert isinstance(method, FastMethod)
    for piece in plan.pieces():
        given = plan.given(piece)
        judged = judged_logits(given, method.model.sequence_logits([given])[0])
        margins = np.where(given.bits, judged + method.deletion_penalty, judged - method.insertion_penalty)
        if (np.abs(margins) < _CLOSE).any() or (np.abs(judged) < _CLOSE).any():
            return True
    return False


def candidates() -> list[str]:
    """Lines of this repository, most of them with noise."""
    files = [ROOT / "LICENSE", ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    prose = [one for one in re.split(r"(?<=[.:;])\s+", text) if 30 < len(one) < 240 and "|" not in one]
    prose = [" ".join(one.split()) for one in prose]
    code = [line for path in sorted((ROOT / "respace").glob("*.py")) for line in path.read_text().splitlines()]
    recipes = [Recipe.no_spaces(), Recipe.training(), Recipe.training(), Recipe.wiki()]
    found = list(_OTHERS)
    for number, recipe in enumerate(recipes):
        chosen = prose[number :: len(recipes)]
        noisy = corrupt(chosen, [f"{number}/{at}" for at in range(len(chosen))], recipe, seed=1)
        found += given_texts(noisy)[:80]
    return found + [line for line in code if len(line) > 40][::60]


def main() -> None:
    repairer = Repairer.load()
    lines = [text for text in dict.fromkeys(candidates()) if not is_close(repairer, text)][:LINES]
    with GOLDEN.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(identity(repairer)) + "\n")
        for text in lines:
            stream.write(json.dumps({"text": text, "edits": result(repairer, text)}, ensure_ascii=False) + "\n")
    print(f"wrote {GOLDEN}: {len(lines)} lines")


if __name__ == "__main__":
    main()
