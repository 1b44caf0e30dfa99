from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.job.remote import run_graph
from respace.storage.lock import LOCK_NAME, Fenced, run_lock


def test_a_job_that_cannot_be_noted_is_cancelled(tmp_path: Path) -> None:
    """The lock was lost while the job was submitted: nobody would know of it, and its workers may not publish."""
    cancelled = []
    result = SimpleNamespace(cancel=lambda: cancelled.append(True))

    def submit() -> Any:
        os.remove(tmp_path / LOCK_NAME)
        return result

    options: Any = SimpleNamespace(
        output=str(tmp_path), runs_locally=False, detach=False, engine_arguments=[], runner="PortableRunner"
    )
    pipeline: Any = SimpleNamespace(run=submit)
    with pytest.raises(Fenced), run_lock(str(tmp_path)):
        run_graph(pipeline, options)
    assert cancelled == [True]
