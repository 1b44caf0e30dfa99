"""What the beam search may leave out. No TensorFlow here: identities name these settings before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_BEAMS = 5


@dataclass(frozen=True, kw_only=True)
class Pruning:
    """What a search may leave out. By default, what does not change its answers.

    Attributes:
        skip_hopeless: do not try a space that could not survive even if the character after it were certain. The
            surviving states stay exactly the same.
        margin: states that are this much worse than the best one (in nats) are dropped.
        same_bits: of states whose last so many gaps are alike, only the best is kept: the language model has nearly
            forgotten in what they differ, so that the others will stay behind it. The room goes to other states, so
            that some answers change; nothing is merged if None.
    """

    skip_hopeless: bool = True
    margin: float | None = 12.0
    same_bits: int | None = None

    def __str__(self) -> str:
        return f"{self.skip_hopeless},{self.margin},{self.same_bits}"

    def __post_init__(self) -> None:
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"margin {self.margin}: expected a number above 0")
        if self.same_bits is not None and not 1 <= self.same_bits <= 62:
            raise ValueError(f"same_bits {self.same_bits}: expected a number from 1 to 62")


FULL_SEARCH = Pruning(skip_hopeless=False, margin=None, same_bits=None)


def search_settings(
    language_weight: float = 1.0, beams: int = DEFAULT_BEAMS, pruning: Pruning | None = None
) -> dict[str, object]:
    """What decides in a search beside its networks and penalties; by default as a model directory is loaded."""
    return {"beams": beams, "language_weight": f"{language_weight:g}", "pruning": pruning or Pruning()}
