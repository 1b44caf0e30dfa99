"""What text from LaTeX sources buys on the arXiv benchmarks.

    python -m pipelines.match_arxiv --source_only --characters_per_source 600000 \\
        --input $RESPACE_DATA/corpora/latex_sources.parquet --output runs/latex
    python -m performance.latex_text --benchmarks $RESPACE_DATA/benchmarks/dev [--steps 600]

Two small networks of FAST's kind are trained from nothing on as many characters, with the same settings and the same
dictionary: one on the text of `training/configs/fast.json`, one on the same without the LaTeX text. Printed is what
each of them reaches with the penalties that suit it.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from itertools import islice

BENCHMARKS = ("arXiv.OCR", "arXiv.pdftotext", "Wiki")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="training/configs/fast.json")
    parser.add_argument("--latex", default="runs/latex", help="the source that is left out")
    parser.add_argument("--benchmarks", required=True, help="directory of benchmarks in the public layout")
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=600)
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import numpy as np

    from models.fast.dictionary import Dictionary
    from models.fast.features import Features
    from models.fast.model import FastModel
    from models.fast.shape import FastConfig
    from models.files import load_model
    from respace.benchmarks import read_benchmarks
    from training.data.background import InBackground
    from training.data.stream import batches
    from training.fast.config import TrainConfig
    from training.fast.trainer import FastTrainer
    from training.score import score_fast

    features = Features(ngrams=((3, 1 << 16), (5, 1 << 18), (8, 1 << 18)), straddles=((2, 1 << 16),), word_rows=1 << 18)
    network = FastConfig(features=features, hidden=96, dilations=(1, 2, 4, 8))
    config = replace(TrainConfig.read(arguments.config), network=network)
    dictionary = Dictionary.from_weights(load_model("default").weights)
    benchmarks = [one for one in read_benchmarks(arguments.benchmarks, arguments.sequences) if one.name in BENCHMARKS]
    without = tuple(source for source in config.sources if source.path != arguments.latex)
    for name, sources in (("with LaTeX text", config.sources), ("without it", without)):
        its_config = replace(config, sources=sources)
        trainer = FastTrainer(its_config, np.zeros((features.rows, network.row_width), np.float32), dictionary)
        stream = InBackground(batches, its_config.stream(dictionary))
        for step, batch in enumerate(islice(stream, arguments.steps)):
            loss = trainer.train(batch, min(1.0, 3 * (1 - step / arguments.steps)))
            if step % 100 == 99:
                print(
                    f"{name}: step {step + 1}, {trainer.characters / 1e6:.1f} M characters, loss {loss:.4f}", flush=True
                )
        stream.close()
        scores = score_fast(FastModel(network, trainer.weights()), benchmarks)
        for benchmark, (penalties, score) in scores.fitted.items():
            print(
                f"{name}: {benchmark:16} F {100 * score.f_score:.1f}, sequence accuracy "
                f"{100 * score.sequence_accuracy:.1f} (penalties {penalties.insertion:g}, {penalties.deletion:g})",
                flush=True,
            )


if __name__ == "__main__":
    main()
