"""What `POST /api/repair` does: a request checked, repaired and answered. Knows nothing of HTTP."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import dataclass
from typing import Any

from models.files import load_config, shipped_models
from models.identity import penalties_in_force
from models.methods import ALIASES
from respace.repairer import Repair, Repairer

_FIELDS = ("text", "method", "insertion_penalty", "deletion_penalty", "all_text")
_MOST_TEXTS = 1000
# Prose with errors, a line without spaces, and one that is not prose, so that every loop runs once.
_WARM_UP = [
    "Thealgo rithm isfast, and it chan ges nothing else.\n" * 50,
    "thisisalinethatlostallofitsspacessomewhereontheway\nint main(void) { return 0; }",
]


class BadRequest(ValueError):
    """A request that cannot be answered; the message says what was expected."""


@dataclass(frozen=True, kw_only=True)
class RepairRequest:
    """One text or several, and how to repair them."""

    texts: tuple[str, ...]
    single: bool
    method: str
    insertion_penalty: float | None
    deletion_penalty: float | None
    all_text: bool

    @classmethod
    def parse(cls, body: bytes, methods: tuple[str, ...]) -> RepairRequest:
        """
        Raises:
            BadRequest: it is not JSON, or not what was expected.
        """
        try:
            content = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"the body is not JSON ({type(error).__name__}): expected {{'text': '…'}}") from None
        if not isinstance(content, dict):
            raise BadRequest(f"{_shown(content)}: expected an object with the member 'text'")
        unknown = [name for name in content if name not in _FIELDS]
        if unknown:
            raise BadRequest(f"unknown member {_shown(unknown[0])}: expected some of {', '.join(_FIELDS)}")
        text = content.get("text")
        texts = [text] if isinstance(text, str) else text
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise BadRequest("'text' is missing or no text: expected a string, or a list of strings")
        if len(texts) > _MOST_TEXTS:
            raise BadRequest(f"{len(texts)} texts: expected at most {_MOST_TEXTS} in one request")
        named = content.get("method", methods[0])
        method = shown_name(named) if isinstance(named, str) else None
        if method not in methods:
            raise BadRequest(f"method {_shown(named)}: expected one of {', '.join(methods)}")
        all_text = content.get("all_text", False)
        if not isinstance(all_text, bool):
            raise BadRequest(f"all_text {_shown(all_text)}: expected true or false")
        return cls(
            texts=tuple(texts),
            single=isinstance(text, str),
            method=method,
            insertion_penalty=_penalty(content, "insertion_penalty"),
            deletion_penalty=_penalty(content, "deletion_penalty"),
            all_text=all_text,
        )


class RepairService:
    """Repairs with methods that were named at the start; requests cannot name files or code."""

    def __init__(self, methods: tuple[str, ...]):
        self.methods = methods
        self._loaded: dict[str, Repairer] = {}

    def load(self) -> None:
        """Loads all methods, and repairs enough with each that its loops are compiled."""
        for name in self.methods:
            self._loaded[name] = Repairer.load(name)
            self._loaded[name].repair(_WARM_UP)

    def answer(self, request: RepairRequest) -> bytes:
        """The answer as JSON."""
        repairer = self._repairer(request)
        repairs = repairer.repair_with_edits(list(request.texts))
        answers = [_answer(one) for one in repairs]
        found: dict[str, Any] = answers[0] if request.single else {"repairs": answers}
        # Escapes keep lone surrogates, which JSON can hold and UTF-8 cannot.
        return json.dumps({**found, "method": request.method, "identity": repairer.method.identity}).encode("ascii")

    def _repairer(self, request: RepairRequest) -> Repairer:
        loaded = self._loaded[request.method]
        method = copy.copy(loaded.method)  # weights are shared, penalties are the request's own
        for name in ("insertion_penalty", "deletion_penalty"):
            wanted = getattr(request, name)
            if wanted is None:
                continue
            if not hasattr(method, name):
                raise BadRequest(f"{name} {wanted:g}: {request.method} has no penalties. Leave it out")
            setattr(method, name, wanted)
        return Repairer(method, all_text=request.all_text, judge=loaded.judge)


def shown_name(method: str) -> str:
    """The name under which a method is shown: one that has two names is shown once.

    >>> shown_name("default"), shown_name("greedy")
    ('fast', 'greedy')
    """
    return "fast" if method == ALIASES["fast"] else method


def own_penalties(method: str) -> dict[str, float] | None:
    """The model's own penalties, or None where a method has none."""
    model = ALIASES.get(method, method)
    if model not in shipped_models():
        return None
    insertion, deletion = penalties_in_force(load_config(model), None, None)
    return {"insertion": insertion, "deletion": deletion}


def _penalty(content: dict[str, Any], name: str) -> float | None:
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1000 or math.isnan(value):
        raise BadRequest(f"{name} {_shown(value)}: expected a number from 0 to 1000")
    return float(value)


def _answer(repair: Repair) -> dict[str, Any]:
    return {
        "text": repair.text,
        "edits": [{"gap": one.gap, "kind": one.kind, "confidence": round(one.confidence, 6)} for one in repair.edits],
        "left_alone": [{"reason": one.reason, "start": one.start, "stop": one.stop} for one in repair.left_alone],
    }


def _shown(value: object) -> str:
    """A value in a message: not more of it than a person wants to read."""
    shown = repr(value) if not isinstance(value, (dict, list)) else type(value).__name__
    return shown if len(shown) <= 60 else shown[:60] + "…"
