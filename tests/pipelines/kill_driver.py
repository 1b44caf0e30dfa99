"""Runs the repair job in real processes and kills them, for `test_repair_kill` and `test_many_kills`.

Importing Beam takes seconds; so this process imports it once, before it has any thread, and every run is a fork of it.

    python -m tests.pipelines.kill_driver INPUT UNDISTURBED DISTURBED KILLS SEED [MODEL]
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time

from pipelines.repair_corpus import main
from tests.transforms.corpora import RULES, different, tree

# Kills in a row are spread over what is left of a run.
_IN_A_ROW = 10


def start(source: str, output: str, workers: int, model: str) -> int:
    """Starts a run and returns its process id."""
    process = os.fork()
    if process:
        return process
    os.setpgid(0, 0)
    arguments = ["--input", source, "--output", output, "--model", model, "--provenance", "--max_error_fraction", "1"]
    os._exit(main([*arguments, "--local_workers", str(workers)]))


def finish(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def drive(source: str, undisturbed: str, disturbed: str, kills: int, seed: int, model: str = RULES) -> None:
    # Not at the top of the module, which the worker processes of the job import too.
    from transforms import shards  # noqa: F401  it imports Beam, for all forks

    chosen = random.Random(seed)
    for _ in range(2):  # the first may have loops to compile, and what comes later is not as long
        shutil.rmtree(undisturbed, ignore_errors=True)
        started = time.monotonic()
        if finish(start(source, undisturbed, workers=1, model=model)):
            raise SystemExit("the undisturbed run failed")
        seconds = time.monotonic() - started
    killed = 0
    while killed < kills:
        process = start(source, disturbed, workers=chosen.choice([1, 1, 2]), model=model)
        # A killed run has done some shards, so later ones are shorter; the moment must fall inside of them.
        time.sleep(chosen.uniform(0, seconds * (1 - killed % _IN_A_ROW / (_IN_A_ROW + 2))))
        os.kill(process, signal.SIGKILL)
        if finish(process) == -signal.SIGKILL:
            killed += 1
            print(
                f"killed {killed}: {sum(len(names) for _, _, names in os.walk(disturbed))} files are there", flush=True
            )
        else:
            print("it was done before it could be killed: from the start again", flush=True)
            check_same(undisturbed, disturbed)
            shutil.rmtree(disturbed)
    if finish(start(source, disturbed, workers=2, model=model)):
        raise SystemExit("the last run failed")
    check_same(undisturbed, disturbed)


def check_same(undisturbed: str, disturbed: str) -> None:
    """What was killed and went on must have become what a run without a kill gives, and nothing else."""
    aside = ("_manifest", "_report")
    names = different(tree(disturbed, without=aside), tree(undisturbed, without=aside))
    if names:
        raise SystemExit(f"different from the undisturbed run: {names}")


if __name__ == "__main__":
    drive(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), *sys.argv[6:])
