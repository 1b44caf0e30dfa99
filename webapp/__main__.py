"""`python -m webapp`: error analysis, a page to try it, corpus review, and a JSON API.

python -m webapp --benchmarks $RESPACE_DATA/benchmarks/dev --predictions runs/evaluation
python -m webapp --corpus output/example
python -m webapp --benchmarks … --predictions … --export site
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from respace.extras import require
from respace.storage.errors import BadOption, UserError

if TYPE_CHECKING:
    from webapp.catalogue import Catalogue
    from webapp.corpus import Corpus


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m webapp", description="Respace in a browser.", allow_abbrev=False)
    found.add_argument(
        "--benchmarks", nargs="+", default=[], metavar="DIRECTORY", help="benchmarks, or what holds them"
    )
    found.add_argument(
        "--predictions", nargs="+", default=[], metavar="DIRECTORY", help="outputs of pipelines.evaluate"
    )
    found.add_argument("--sequences", type=int, metavar="N", help="only the first N sequences of each benchmark")
    found.add_argument("--corpus", metavar="DIRECTORY", help="an output of pipelines.repair_corpus, to be reviewed")
    found.add_argument("--review", metavar="FILE", help="the review file (default: _review.jsonl in the corpus)")
    found.add_argument("--methods", default="fast", metavar="A,B", help="methods that visitors may use (default: fast)")
    found.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    found.add_argument(
        "--allowed_hosts", default="", metavar="A,B", help="other names of this machine, as browsers address it"
    )
    found.add_argument("--token", help="asked for before a corpus is shown (default: made up if --host is not local)")
    found.add_argument("--port", type=int, default=8000, help="default: 8000")
    found.add_argument("--waiting", type=int, default=16, metavar="N", help="requests that may wait (default: 16)")
    found.add_argument("--processes", type=int, default=1, metavar="N", help="processes that repair (default: 1)")
    found.add_argument("--seconds", type=float, default=30, metavar="S", help="time for one request (default: 30)")
    found.add_argument(
        "--export", metavar="DIRECTORY", help="write the error analysis and the report of the corpus as files, and end"
    )
    return found


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        return run(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def run(options: argparse.Namespace) -> int:
    for name, least, most in (
        ("port", 0, 65535),
        ("waiting", 1, 10_000),
        ("sequences", 1, 10**9),
        ("processes", 1, 1000),
        ("seconds", 0.1, 3600),
    ):
        value = getattr(options, name)
        if value is not None and not least <= value <= most:
            raise BadOption(f"--{name} {value}: expected a number from {least} to {most}")
    for package in ("starlette", "uvicorn"):
        require(package, "python -m webapp")
    from webapp.catalogue import Catalogue
    from webapp.corpus import Corpus
    from webapp.export import export

    catalogue = Catalogue.find(options.benchmarks, options.predictions, options.sequences)
    for line in catalogue.left_out:
        print(f"left out: {line}", file=sys.stderr)
    corpus = Corpus(options.corpus, options.review) if options.corpus else None
    if options.export:
        print(f"files in {options.export}: {export(catalogue, corpus, options.export)}")
        return 0
    serve(options, catalogue, corpus)
    return 0


def serve(options: argparse.Namespace, catalogue: Catalogue, corpus: Corpus | None) -> None:
    """Until the process is told to end."""
    import uvicorn

    from webapp.access import Access
    from webapp.app import Limits, Settings, make_app
    from webapp.connections import LimitedConnection
    from webapp.workers import RepairWorkers

    access = Access.of(options.host, _names(options.allowed_hosts), options.token)
    methods = _methods(options.methods)
    limits = Limits(waiting=options.waiting, seconds=options.seconds)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    signal.signal(signal.SIGTERM, _end)
    with RepairWorkers(methods, processes=options.processes, waiting=limits.waiting, seconds=limits.seconds) as repairs:
        settings = Settings(catalogue=catalogue, corpus=corpus, repairs=repairs, access=access, limits=limits)
        for line in greeting(options.host, options.port, access.token, corpus is not None):
            print(line, flush=True)
        uvicorn.run(
            make_app(settings),
            host=options.host,
            port=options.port,
            http=LimitedConnection,
            ws="none",
            log_level="error",
            timeout_graceful_shutdown=5,
        )


def _end(number: int, frame: object) -> None:
    """uvicorn ends the process by the signal that ended it; ours has processes to end before."""
    sys.exit(128 + number)


def greeting(host: str, port: int, token: str | None, has_corpus: bool) -> list[str]:
    """What is printed at the start: where to look, and who can.

    >>> greeting("127.0.0.1", 8000, None, True)
    ['http://127.0.0.1:8000']
    """
    from webapp.access import is_loopback

    here = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
    address = f"http://[{here}]:{port}" if ":" in here else f"http://{here}:{port}"
    lines = [f"{address}/corpus.html?token={token}" if has_corpus and token is not None else address]
    if not is_loopback(host):
        lines.append("Other machines can reach this: everybody there sees the error analysis and can repair texts.")
        if has_corpus:
            lines.append("The corpus is shown, and reviewed, with the token only.")
    return lines


def _methods(names: str) -> tuple[str, ...]:
    from models.methods import method_names
    from webapp.repair_service import shown_name

    wanted = tuple(dict.fromkeys(shown_name(name) for name in _names(names)))
    known = list(dict.fromkeys(map(shown_name, method_names())))
    for name in wanted:
        if name not in known:
            raise BadOption(f"--methods {name}: expected some of {', '.join(known)}")
    if not wanted:
        raise BadOption(f"--methods {names!r}: expected some of {', '.join(known)}")
    return wanted


def _names(given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip())


if __name__ == "__main__":
    sys.exit(main())
