"""Trains the reader on passages of ``training.make_passages``:

    python -m training.train_reader --config training/configs/reader.json --encoder runs/encoder \\
        --passages runs/passages --unseen runs/unseen --run_dir runs/reader --minutes 120

An interrupted run resumes when you run the same command again, with more passages if there are more. Averaged weights
are written to RUN_DIR/reader.safetensors whenever it measures and at the end; ``--encoder RUN_DIR`` goes on from those
of another run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def main(arguments: Sequence[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", required=True, help="JSON file, see ReaderTrainConfig")
    parser.add_argument("--encoder", required=True, type=Path, help="what to begin with (training.import_encoder)")
    parser.add_argument("--passages", required=True, nargs="+", type=Path, help="directories of passages to train on")
    parser.add_argument("--unseen", type=Path, help="directory of passages to measure on")
    parser.add_argument("--run_dir", required=True, type=Path, help="directory for checkpoints and weights")
    from training.loop import add_schedule_options, schedule_of, train

    add_schedule_options(parser)
    options = parser.parse_args(arguments)
    from models.tensorflow import import_tensorflow

    import_tensorflow()
    import safetensors.numpy

    from models.reader.config import ReaderConfig, trained_shapes
    from models.reader.pieces import PieceTable
    from models.reader.tokens import tokens_of
    from respace.storage.errors import UserError
    from respace.storage.publish import publish_bytes
    from training.data.background import InBackground
    from training.reader.batches import batches_of, passage_batches
    from training.reader.config import ReaderTrainConfig
    from training.reader.passage_shards import PassageShard, shard_files
    from training.reader.trainer import ReaderTrainer

    try:
        config = ReaderTrainConfig.read(options.config)
        files = shard_files(options.passages)
        unseen = shard_files([options.unseen]) if options.unseen else []
        pieces = (options.encoder / "pieces.txt").read_text(encoding="utf-8").split("\n")
        found = json.loads((options.encoder / "reader.json").read_text(encoding="utf-8"))["reader"]
        if ReaderConfig.from_json(found) != config.reader:
            raise ValueError(f"{options.encoder} holds a reader of {found}, {options.config} expects {config.reader}")
        options.run_dir.mkdir(parents=True, exist_ok=True)
        trainer = ReaderTrainer(config, safetensors.numpy.load_file(options.encoder / "reader.safetensors"))
        checkpoint = options.run_dir / "checkpoint.npz"
        if checkpoint.exists():
            trainer.restore(checkpoint)
            print(f"resuming at step {trainer.step}, {trainer.characters / 1e6:.1f} M characters", flush=True)
    except (OSError, ValueError, UserError) as error:
        print(f"training.train_reader: {error}", file=sys.stderr)
        return 2
    count = sum(int(np.prod(shape)) for shape in trained_shapes(config.reader).values())
    print(f"{count:,} weights to train, {len(files)} shards of passages", flush=True)
    table = PieceTable.of(pieces)
    measured = [PassageShard.load(file) for file in unseen]

    def measure() -> None:
        if measured:
            batches = (
                batch
                for shard in measured
                for batch in batches_of(shard, tokens_of(shard.passages, table, config.reader.positions), config.tokens)
            )
            found = trainer.measure(batches)
            entry = {"characters": trainer.characters, "hours": round(trainer.seconds / 3600, 3)}
            trainer.history.append(entry | {name: round(value, 5) for name, value in found.items()})
            print(
                f"unseen, {trainer.characters / 1e6:.1f} M characters, {trainer.seconds / 60:.1f} min: "
                f"loss {100 * found['loss']:+.2f} %, wrong gaps {100 * found['wrong']:+.2f} %, "
                f"practice {trainer.practice_loss:.3f}",
                flush=True,
            )
        weights = trainer.arrays() | {name: array.numpy() for name, array in trainer.frozen.items()}
        publish_bytes(str(options.run_dir / "reader.safetensors"), safetensors.numpy.save(weights))
        publish_bytes(str(options.run_dir / "pieces.txt"), "\n".join(pieces).encode())
        publish_bytes(
            str(options.run_dir / "reader.json"),
            json.dumps({"reader": config.reader.to_json(), "history": trainer.history}, indent=1).encode(),
        )

    stream = InBackground(
        passage_batches, files, table, config.reader.positions, config.tokens, config.seed, trainer.block, ahead=12
    )
    try:
        train(trainer, stream, schedule_of(options), checkpoint, measure)
    finally:
        stream.close()
    measure()
    return 0


if __name__ == "__main__":
    sys.exit(main())
