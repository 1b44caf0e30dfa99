"""`python -m webapp`: error analysis, a page to try it, corpus review, and a JSON API.

python -m webapp --benchmarks $RESPACE_DATA/benchmarks/dev --predictions runs/evaluation
python -m webapp --corpus output/example
python -m webapp --benchmarks … --predictions … --export site
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from respace.storage.errors import BadOption, UserError
from respace.storage.installing import install_hint


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
    found.add_argument("--port", type=int, default=8000, help="default: 8000")
    found.add_argument("--waiting", type=int, default=16, metavar="N", help="requests that may wait (default: 16)")
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
    for name, least, most in (("port", 0, 65535), ("waiting", 1, 10_000), ("sequences", 1, 10**9)):
        value = getattr(options, name)
        if value is not None and not least <= value <= most:
            raise BadOption(f"--{name} {value}: expected a number from {least} to {most}")
    try:
        import uvicorn

        from webapp.app import Limits, Settings, make_app
        from webapp.catalogue import Catalogue
        from webapp.corpus import Corpus
        from webapp.export import export
        from webapp.repair_service import RepairService
    except ImportError as error:
        raise UserError(f"{error}. Install what the application needs: {install_hint('web')}") from error

    catalogue = Catalogue.find(options.benchmarks, options.predictions, options.sequences)
    for line in catalogue.left_out:
        print(f"left out: {line}", file=sys.stderr)
    corpus = Corpus(options.corpus, options.review) if options.corpus else None
    if options.export:
        print(f"files in {options.export}: {export(catalogue, corpus, options.export)}")
        return 0
    service = RepairService(_methods(options.methods))
    settings = Settings(catalogue=catalogue, corpus=corpus, service=service, limits=Limits(waiting=options.waiting))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    uvicorn.run(make_app(settings), host=options.host, port=options.port, log_level="warning", limit_concurrency=1000)
    return 0


def _methods(names: str) -> tuple[str, ...]:
    from models.methods import method_names

    wanted = tuple(name.strip() for name in names.split(",") if name.strip())
    for name in wanted:
        if name not in method_names():
            raise BadOption(f"--methods {name}: expected some of {', '.join(method_names())}")
    if not wanted:
        raise BadOption(f"--methods {names!r}: expected some of {', '.join(method_names())}")
    return wanted


if __name__ == "__main__":
    sys.exit(main())
