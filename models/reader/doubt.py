"""Passages around the uncertain gaps of texts, with what FAST says of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.fast.inputs import Inputs
from models.reader.passages import CONTEXT, LONGEST, Passages, spans_around
from respace.gaps import Bits


def passages_around(
    inputs: Inputs,
    network_logits: NDArray[np.float32],
    logits: NDArray[np.float32],
    texts: Sequence[slice],
    uncertain: Bits,
    context: int = CONTEXT,
    longest: int = LONGEST,
) -> tuple[Passages, NDArray[np.int64]]:
    """Passages of texts that lie one after the other, without FAST's last layer, and where their gaps are.

    Args:
        inputs: of FAST.
        network_logits, logits: before and after rescoring.
        texts: where each lies.
        uncertain: the gaps to decide.
        context, longest: see `spans_around`.
    """
    spans, gaps = [], []
    for text in texts:
        start, asked = text.start, np.flatnonzero(uncertain[text])
        reading = logits[text] > 0
        for span in spans_around(asked, reading, context, longest):
            spans.append((start + span.start, start + span.stop))
            inside = asked[(asked >= span.first) & (asked <= span.last)]
            gaps.append(start + inside)
    sizes = [stop - start for start, stop in spans]
    offsets = np.cumsum([0, *sizes])
    places = np.concatenate([np.arange(start, stop) for start, stop in spans] or [np.zeros(0, dtype=np.int64)])
    shifts = [offset - start for offset, (start, _) in zip(offsets[:-1], spans, strict=True)]
    wanted = np.concatenate(gaps or [np.zeros(0, dtype=np.int64)]).astype(np.int64)
    moved = [one + shift for one, shift in zip(gaps, shifts, strict=True)]
    return Passages(
        offsets=offsets.astype(np.int64),
        characters=inputs.characters[places],
        given=inputs.bits[places],
        logits=logits[places],
        gaps=np.concatenate(moved or [np.zeros(0, dtype=np.int64)]).astype(np.int64),
        layer=np.zeros((len(wanted), 0), dtype=np.float32),
        evidence=inputs.evidence[wanted],
        network_logits=network_logits[wanted],
    ), wanted
