"""What to do to a text: all rates and mixture weights of the noise in one place."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from respace.noise.typos import Half

# The space noise of a row, in the order of `Recipe.space_weights`. `Corrupted.kinds` are indices into it.
NOISE_KINDS = ("clean", "light", "spans", "bursts", "pdf", "every", "none")
CHARACTER_KINDS = ("clean", "ocr", "human", "mixed")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Every row gets one kind of character noise and, independently, one kind of space noise.

    Attributes:
        characters_clean, characters_ocr, characters_human, characters_mixed: weights of the kinds of character noise;
            ``mixed`` rows get the errors of OCR and of people.
        spaces_clean ... spaces_none: weights of the kinds of space noise.
        hyphenation_rate: spurious hyphens per token that can be hyphenated (OCR); as measured if None.
        span_start_rate: probability that an erroneous span starts at a token (OCR); as measured if None.
        spans_by_letter: the share of rows whose spans get their spaces where OCR puts them, mostly beside narrow
            letters; in the others, as in the paper, all gaps of a span are alike.
        misspelling_rate: probability that a word is misspelled, if the typo collection knows it (human).
        slip_share: of the words that are misspelled, this share gets a slip of the fingers in place of a misspelling
            from the collection; short words as often as long ones, and words that the collection does not know (human).
        random_letter_rate: insertions, deletions, replacements and swaps of letters, per letter (human).
        light_low, light_high: space errors per token of a ``light`` row are drawn between these.
        light_deletions_low, light_deletions_high: the share of them that are lost spaces is drawn between these.
        burst_rate: bursts per token of a row with ``bursts``.
        burst_tokens: a burst is 1 to this many tokens long.
        pdf_intensity_low, pdf_intensity_high: the gap model's probabilities times a factor drawn (on a logarithmic
            scale) between these.
        typos: a file of misspellings; codespell's dictionary if None.
        typo_half: the half of the misspellings to use; training uses ``train``, benchmarks ``test``.
        confusions: a file of OCR confusions; those of ``parameters`` if None.
        parameters: a directory written by the noise estimator; the default estimates if None.
    """

    characters_clean: float = 0.4
    characters_ocr: float = 0.25
    characters_human: float = 0.2
    characters_mixed: float = 0.15
    spaces_clean: float = 0.2
    spaces_light: float = 0.27
    spaces_spans: float = 0.15
    spaces_bursts: float = 0.08
    spaces_pdf: float = 0.12
    spaces_every: float = 0.03
    spaces_none: float = 0.15
    hyphenation_rate: float | None = None
    span_start_rate: float | None = None
    spans_by_letter: float = 0.5
    misspelling_rate: float = 0.1
    slip_share: float = 0.0
    random_letter_rate: float = 0.004
    light_low: float = 0.01
    light_high: float = 0.2
    light_deletions_low: float = 0.2
    light_deletions_high: float = 0.8
    burst_rate: float = 0.08
    burst_tokens: int = 4
    pdf_intensity_low: float = 1.0
    pdf_intensity_high: float = 8.0
    typos: str | None = None
    typo_half: Half = "train"
    confusions: str | None = None
    parameters: str | None = None

    def __post_init__(self) -> None:
        for name in _names("characters_") + _names("spaces_") + ["pdf_intensity_low", "light_deletions_low"]:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} = {getattr(self, name)}: expected a number of at least 0")
        for name in (
            "hyphenation_rate",
            "span_start_rate",
            "spans_by_letter",
            "misspelling_rate",
            "slip_share",
            "random_letter_rate",
            "burst_rate",
        ):
            rate = getattr(self, name)
            if rate is not None and not 0 <= rate <= 1:
                raise ValueError(f"{name} = {rate}: expected a probability, between 0 and 1")
        for low, high in (("light_low", "light_high"), ("pdf_intensity_low", "pdf_intensity_high")):
            if not 0 < getattr(self, low) <= getattr(self, high):
                raise ValueError(
                    f"{low} = {getattr(self, low)}, {high} = {getattr(self, high)}: expected 0 < low <= high"
                )
        if not sum(self.character_weights) > 0 or not sum(self.space_weights) > 0:
            raise ValueError("all weights are 0: expected a positive one among characters_... and among spaces_...")
        if self.burst_tokens < 1:
            raise ValueError(f"burst_tokens = {self.burst_tokens}: expected at least 1")
        if self.typo_half not in ("train", "test", "all"):
            raise ValueError(f"typo_half = {self.typo_half!r}: expected 'train', 'test' or 'all'")

    @property
    def character_weights(self) -> list[float]:
        return [getattr(self, f"characters_{kind}") for kind in CHARACTER_KINDS]

    @property
    def space_weights(self) -> list[float]:
        return [getattr(self, f"spaces_{kind}") for kind in NOISE_KINDS]

    @classmethod
    def training(cls, **changes: Any) -> Recipe:
        """The default mixture: every kind of error there is, and enough clean rows to learn caution from."""
        return cls(**changes)

    @classmethod
    def ocr(cls, **changes: Any) -> Recipe:
        """The benchmark "arXiv OCR": hyphens and erroneous spans at the rates that the paper prints."""
        published = {"hyphenation_rate": 0.035, "span_start_rate": 0.058, "spans_by_letter": 0.0}
        return cls._only("ocr", "spans", published | changes)

    @classmethod
    def wiki(cls, errors_per_token: float = 0.1, **changes: Any) -> Recipe:
        """The benchmark "Wiki": correct spelling, so many space errors per token, half of them lost spaces."""
        return cls._only("clean", "light", _light(errors_per_token) | changes)

    @classmethod
    def wiki_plus(cls, errors_per_token: float = 0.01, **changes: Any) -> Recipe:
        """The benchmark "Wiki+": misspellings from the half that training never sees, and few space errors."""
        return cls._only("human", "light", _light(errors_per_token) | _TEST_TYPOS | changes)

    @classmethod
    def no_spaces(cls, **changes: Any) -> Recipe:
        """The benchmark "Wiki+ no spaces": misspellings, and all spaces lost."""
        return cls._only("human", "none", _TEST_TYPOS | changes)

    @classmethod
    def pdf(cls, **changes: Any) -> Recipe:
        """Correct characters with the space errors of a PDF extractor, at the rates of the gap model."""
        return cls._only("clean", "pdf", {"pdf_intensity_low": 1.0, "pdf_intensity_high": 1.0} | changes)

    @classmethod
    def _only(cls, characters: str, spaces: str, changes: dict[str, Any]) -> Recipe:
        weights = dict.fromkeys(_names("characters_") + _names("spaces_"), 0.0)
        weights |= {f"characters_{characters}": 1.0, f"spaces_{spaces}": 1.0}
        return cls(**(weights | changes))

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        data = json.loads(text)
        known = [field.name for field in dataclasses.fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise ValueError(f"unknown recipe entries {unknown}: expected some of {known}")
        return cls(**data)


_TEST_TYPOS: dict[str, Any] = {"typo_half": "test", "random_letter_rate": 0.0}


def _light(errors_per_token: float) -> dict[str, Any]:
    exact = {"light_low": errors_per_token, "light_high": errors_per_token}
    return exact | {"light_deletions_low": 0.5, "light_deletions_high": 0.5}


def _names(prefix: str) -> list[str]:
    return [field.name for field in dataclasses.fields(Recipe) if field.name.startswith(prefix)]
