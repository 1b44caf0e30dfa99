"""Flink's own view of its jobs, over its REST interface.

Beam's job server forgets a job that it is told to cancel, and Flink goes on with it: whoever wants it to end must ask
Flink.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any

_OVER = ("FINISHED", "CANCELED", "FAILED", "SUSPENDED")
_SECONDS = 10.0


def running_jobs(master: str, name: str) -> list[str]:
    """Ids of the jobs of this name that have not ended.

    Raises:
        OSError: Flink does not answer.
    """
    jobs = _ask("GET", f"{_url(master)}/jobs/overview")["jobs"]
    return [str(job["jid"]) for job in jobs if job["name"] == name and job["state"] not in _OVER]


def cancel_jobs(master: str, name: str) -> None:
    """Asks Flink to end all jobs of this name; it may take a moment.

    Raises:
        OSError: Flink does not answer.
    """
    for job in running_jobs(master, name):
        _ask("PATCH", f"{_url(master)}/jobs/{job}?mode=cancel")


def _ask(method: str, url: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=_SECONDS) as answer:
        return json.load(answer)


def _url(master: str) -> str:
    """
    >>> _url("localhost:8081"), _url("https://flink.example/")
    ('http://localhost:8081', 'https://flink.example')
    """
    return (master if "://" in master else f"http://{master}").rstrip("/")
