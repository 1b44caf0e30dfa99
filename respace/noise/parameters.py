"""What was measured on real errors, and is injected again: erroneous spans, hyphens, confusions, the gap model.

`python -m training.estimate_noise` writes these files; the defaults in this package were estimated in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Codes
from respace.noise.confusions import Confusion, ConfusionTable, read_confusions
from respace.noise.gap_model import GapModel
from respace.storage.publish import publish_bytes

OCR_FILE = "ocr.json"
GAP_MODEL_FILE = "gap_model.json"
DEFAULTS = Path(__file__).parent / "defaults"

_ESTIMATOR = "`python -m training.estimate_noise --output`"

# Characters beyond have no factor of their own: they are too rare.
_LAST_IN_TABLE = 0x2FFF

# How a spurious hyphen is written: inside the word, before a space, between two spaces.
HYPHEN_FORMS = ("-", "- ", " - ")


@dataclass(frozen=True, kw_only=True)
class OcrParameters:
    """The error model of OCR.

    Attributes:
        hyphenation_rate: spurious hyphens per token that can be hyphenated.
        hyphen_forms: how often each of `HYPHEN_FORMS` was seen.
        span_start_rate: probability that an erroneous span starts at a token that is not in one.
        span_lengths: length in tokens of every span seen.
        span_insertion_rates: for each span, spaces inserted per gap inside its words.
        span_deletion_rates: for each span, spaces lost per space inside it.
        span_replacement_rates: for each span, characters replaced per character.
        insertion_factors: how much more often than elsewhere a space is inserted after a character, and before one.
            OCR takes the white around narrow letters and stops for spaces (`F inal ly`, `i l lustrated`).
        confusions: which characters are read as which, with counts.
        occurrences: how often each correct side of a confusion occurs per character of ordinary text.
    """

    hyphenation_rate: float
    hyphen_forms: tuple[int, ...]
    span_start_rate: float
    span_lengths: NDArray[np.int64]
    span_insertion_rates: NDArray[np.float64]
    span_deletion_rates: NDArray[np.float64]
    span_replacement_rates: NDArray[np.float64]
    insertion_factors: tuple[Mapping[str, float], Mapping[str, float]]
    confusions: tuple[Confusion, ...]
    occurrences: Mapping[str, float]

    @cached_property
    def confusion_table(self) -> ConfusionTable:
        return ConfusionTable(self.confusions, dict(self.occurrences))

    def insertion_factor(self, left: Codes, right: Codes) -> NDArray[np.float64]:
        """The factor of the gap between these characters."""
        after, before = self._factor_tables
        return after[np.minimum(left, _LAST_IN_TABLE)] * before[np.minimum(right, _LAST_IN_TABLE)]

    @cached_property
    def _factor_tables(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        tables = np.ones((2, _LAST_IN_TABLE + 1))
        for table, factors in zip(tables, self.insertion_factors, strict=True):
            for character, factor in factors.items():
                table[min(ord(character), _LAST_IN_TABLE)] = factor
        return tables[0], tables[1]

    def to_json(self) -> dict[str, Any]:
        return {
            "hyphenation_rate": round(self.hyphenation_rate, 6),
            "hyphen_forms": list(self.hyphen_forms),
            "span_start_rate": round(self.span_start_rate, 6),
            "spans": {
                "lengths": self.span_lengths.tolist(),
                "insertion_rates": _short(self.span_insertion_rates),
                "deletion_rates": _short(self.span_deletion_rates),
                "replacement_rates": _short(self.span_replacement_rates),
            },
            "insertion_factors": [
                {character: float(f"{factor:.3g}") for character, factor in sorted(factors.items())}
                for factors in self.insertion_factors
            ],
            "confusions": [list(confusion) for confusion in self.confusions],
            "occurrences": {side: float(f"{share:.4g}") for side, share in sorted(self.occurrences.items())},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> OcrParameters:
        spans = data["spans"]
        return cls(
            hyphenation_rate=data["hyphenation_rate"],
            hyphen_forms=tuple(data["hyphen_forms"]),
            span_start_rate=data["span_start_rate"],
            span_lengths=np.array(spans["lengths"], dtype=np.int64),
            span_insertion_rates=np.array(spans["insertion_rates"], dtype=np.float64),
            span_deletion_rates=np.array(spans["deletion_rates"], dtype=np.float64),
            span_replacement_rates=np.array(spans["replacement_rates"], dtype=np.float64),
            insertion_factors=tuple(data["insertion_factors"]),
            confusions=tuple(Confusion(*confusion) for confusion in data["confusions"]),
            occurrences=data["occurrences"],
        )


@lru_cache(maxsize=8)
def ocr_parameters(directory: str | None) -> OcrParameters:
    """From a directory that the estimator wrote, or the defaults; cached."""
    return OcrParameters.from_json(_read_json(directory, OCR_FILE))


@lru_cache(maxsize=8)
def gap_model(directory: str | None) -> GapModel:
    """From a directory that the estimator wrote, or the default; cached."""
    return GapModel.from_json(_read_json(directory, GAP_MODEL_FILE))


@lru_cache(maxsize=8)
def confusion_table(path: str | None, directory: str | None) -> ConfusionTable:
    """Of a file of confusions, or of the estimated parameters; cached."""
    parameters = ocr_parameters(directory)
    if path is None:
        return parameters.confusion_table
    return ConfusionTable(read_confusions(path), dict(parameters.occurrences))


def write_json(directory: str | Path, name: str, data: Mapping[str, Any]) -> Path:
    """Compact, with one line per top-level entry, so that a changed estimate can be seen in a diff."""
    lines = [
        f"{json.dumps(key)}:{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
        for key, value in data.items()
    ]
    path = Path(directory) / name
    publish_bytes(str(path), ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    return path


def _read_json(directory: str | None, name: str) -> dict[str, Any]:
    path = (DEFAULTS if directory is None else Path(directory)) / name
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file. Expected a directory that {_ESTIMATOR} wrote")
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path}: not a file of noise parameters ({error}). Write it again with {_ESTIMATOR}"
        ) from error
    return data


def _short(rates: NDArray[np.float64]) -> list[float]:
    return [float(f"{rate:.4g}") for rate in rates.tolist()]
