from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from transforms.shards.watch import ManifestWatch


@dataclass(frozen=True)
class Piece:
    name: str
    size: int = 10


PIECES = {"a": [Piece("a")], "b": [Piece("b/0"), Piece("b/1")], "c": [Piece("c")]}


def write(folder: Path, name: str, text: str = "{}") -> None:
    path = folder / f"_manifest/{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_new_manifests_are_told_once(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    write(tmp_path, "c", "old")
    with ManifestWatch(str(tmp_path), PIECES, "_parts", told.update, seconds=1000) as watch:
        watch.look()
        assert told == {}
        write(tmp_path, "a")
        write(tmp_path / "_parts", "b/1")
        watch.look()
        assert told == {"shards": 2, "bytes": 20}
        (tmp_path / "_parts/_manifest/b/1.json").unlink()  # the file was put together
        write(tmp_path, "b")
        watch.look()
        assert told == {"shards": 3, "bytes": 30}
        write(tmp_path, "c", "done again")
    assert told == {"shards": 4, "bytes": 40}


def test_a_job_that_failed_is_not_looked_at_again(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    try:
        with ManifestWatch(str(tmp_path), PIECES, "", told.update, seconds=1000):
            write(tmp_path, "a")
            raise ZeroDivisionError
    except ZeroDivisionError:
        assert told == {}
