"""The benchmarks and predictions that the error analysis shows: found once, at the start; requests only name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from respace.benchmarks import CORRECT, CORRUPT, PREDICTIONS, find_benchmarks, find_predictions, read_lines
from respace.sequence_scores import CharactersDiffer, score_sequences
from respace.storage.errors import BadFile, UserError
from respace.storage.files import filesystem, join_url
from webapp.repair_service import shown_name


@dataclass
class Catalogue:
    """Benchmarks by name: their lines, those of each method, and predictions that cannot be shown."""

    texts: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    _f_scores: dict[tuple[str, str], float] = field(default_factory=dict)

    @classmethod
    def find(cls, benchmarks: Sequence[str], predictions: Sequence[str], limit: int | None = None) -> Catalogue:
        """
        Args:
            benchmarks: directories that are or hold benchmarks.
            predictions: outputs of `pipelines.evaluate`: ``<benchmark>/predictions/<method>.txt``.
            limit: only the first sequences of each.

        Raises:
            UserError: a benchmark cannot be read.
        """
        found = cls()
        try:
            urls = find_benchmarks(benchmarks) if benchmarks else {}
            for name, url in urls.items():
                texts = {file: read_lines(join_url(url, file), limit) for file in (CORRUPT, CORRECT)}
                if len(texts[CORRUPT]) != len(texts[CORRECT]):
                    raise BadFile(
                        f"{url}: {len(texts[CORRUPT])} lines in {CORRUPT}, {len(texts[CORRECT])} in {CORRECT}. "
                        "Expected as many"
                    )
                found.texts[name] = texts
                for root in (url, *(join_url(one, name) for one in predictions)):
                    for method, where in find_predictions(root).items():
                        found._add(name, method, where, limit)
        except (BadFile, CharactersDiffer) as error:
            raise UserError(f"--benchmarks {error}") from error
        for one in predictions:
            if not filesystem(one)[0].isdir(filesystem(one)[1]):
                raise UserError(f"--predictions {one}: not found. Expected an output of pipelines.evaluate")
        return found

    def _add(self, benchmark: str, method: str, url: str, limit: int | None) -> None:
        texts = self.texts[benchmark]
        try:
            lines = read_lines(url, limit)
            wanted = len(lines)  # an evaluation of the first sequences only is as good, for those
            scores = score_sequences(texts[CORRUPT][:wanted], texts[CORRECT][:wanted], lines)
        except ValueError as error:
            self.left_out.append(f"{url}: {error}")
        else:
            texts[f"{PREDICTIONS}/{shown_name(method)}.txt"] = lines
            right, wrong, missed = scores.edits.sum(axis=0).tolist()
            self._f_scores[benchmark, shown_name(method)] = 2 * right / max(1, 2 * right + wrong + missed)

    def _f_score(self, benchmark: str, method: str) -> float:
        return self._f_scores[benchmark, method]

    def index(self) -> dict[str, Any]:
        """What can be chosen."""
        prefix = f"{PREDICTIONS}/"
        benchmarks = []
        for name, texts in self.texts.items():
            methods = [one.removeprefix(prefix).removesuffix(".txt") for one in texts if one.startswith(prefix)]
            best = max(methods, key=partial(self._f_score, name), default=None)
            benchmarks.append({"name": name, "sequences": len(texts[CORRUPT]), "methods": methods, "best": best})
        return {"benchmarks": benchmarks, "left_out": self.left_out}

    def content(self, benchmark: str, file: str) -> str | None:
        """One file, or None where there is none of that name: names are looked up, never opened."""
        lines = self.texts.get(benchmark, {}).get(file)
        return None if lines is None else "".join(line + "\n" for line in lines)
