"""What `performance.speed` lets run against each other: each is a function of texts, made in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

Work = Callable[[Sequence[str]], object]

# Transformers read so many characters at once.
_WINDOW = 512


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One way to repair spaces.

    Attributes:
        name: in tables.
        load: makes it, once in each process.
        kilobytes: of text for one measurement on one core: about a second's worth.
        needs: the package without which it cannot run.
    """

    name: str
    load: Callable[[], Work]
    kilobytes: float
    needs: str = "respace"


def _method(model: str) -> Work:
    from respace import Repairer

    repairer = Repairer.load(model)
    return lambda texts: repairer.repair_with_edits(list(texts))


def _paper_size(one_at_a_time: bool) -> Work:
    """BID with the paper's 1,024 units and random weights, which cost as much as trained ones."""
    from models.tensorflow import import_tensorflow

    import_tensorflow()
    from models.paper.bid import BidModel, bid_shapes
    from models.paper.lstm import NetworkSize, initial_weights
    from models.paper.search import SearchMethod
    from models.paper.uni import UniModel, uni_shapes
    from models.paper.vocabulary import Vocabulary
    from respace import Repairer

    size = NetworkSize.named("paper")
    vocabulary = Vocabulary(" " + "".join(map(chr, range(33, 127))) + "".join(chr(0x100 + one) for one in range(105)))
    count = len(vocabulary.characters) + 3
    method = SearchMethod(
        UniModel(vocabulary, size, initial_weights(uni_shapes(count, size), 1)),
        BidModel(vocabulary, size, initial_weights(bid_shapes(count, size), 1)),
        name="paper",
        sha256="0" * 64,
        insertion_penalty=0.0,
        deletion_penalty=0.0,
    )
    repairer = Repairer(method)
    if one_at_a_time:
        return lambda texts: [repairer.repair(text) for text in texts]
    return lambda texts: repairer.repair(list(texts))


def _wordsegment() -> Work:
    return _method("wordsegment")


def _symspell() -> Work:
    from importlib.resources import files

    from symspellpy import SymSpell

    speller = SymSpell(max_dictionary_edit_distance=0, prefix_length=7)
    speller.load_dictionary(str(files("symspellpy") / "frequency_dictionary_en_82_765.txt"), 0, 1)
    return lambda texts: [speller.word_segmentation(text.replace(" ", "")).corrected_string for text in texts]


def _wordninja() -> Work:
    import wordninja

    return lambda texts: [wordninja.split(text) for text in texts]


def _encoder(layers: int) -> Work:
    """A Transformer encoder over characters, 512 wide, as whitespace-correction has them; random weights."""
    from models.tensorflow import import_tensorflow

    import_tensorflow()
    import tensorflow as tf

    width, heads, inner, codes = 512, 8, 2048, 1024
    random = np.random.default_rng(1)

    def matrix(*shape: int) -> tf.Tensor:
        return tf.constant(random.normal(0, 0.02, shape).astype(np.float32))

    embedding, places, out = matrix(codes, width), matrix(_WINDOW, width), matrix(width, 3)
    weights = [
        (matrix(width, 3 * width), matrix(width, width), matrix(width, inner), matrix(inner, width))
        for _ in range(layers)
    ]

    def normalised(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5)

    @tf.function(input_signature=[tf.TensorSpec([None, _WINDOW], tf.int32)])  # type: ignore[untyped-decorator]
    def labels(characters: tf.Tensor) -> tf.Tensor:
        x = tf.gather(embedding, characters) + places
        batch = tf.shape(x)[0]
        for attend, project, widen, narrow in weights:
            parts = tf.reshape(tf.matmul(normalised(x), attend), [batch, _WINDOW, 3, heads, width // heads])
            query, key, value = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
            shares = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / (width // heads) ** 0.5)
            seen = tf.reshape(tf.transpose(tf.matmul(shares, value), [0, 2, 1, 3]), [batch, _WINDOW, width])
            x += tf.matmul(seen, project)
            x += tf.matmul(tf.nn.gelu(tf.matmul(normalised(x), widen)), narrow)
        return tf.argmax(tf.matmul(normalised(x), out), -1)

    def run(texts: Sequence[str]) -> object:
        text = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32) % codes
        padded = np.zeros(-(-len(text) // _WINDOW) * _WINDOW, dtype=np.int32)
        padded[: len(text)] = text
        windows = padded.reshape(-1, _WINDOW)
        return [labels(windows[first : first + 4]).numpy() for first in range(0, len(windows), 4)]

    return run


def _six_layers() -> Work:
    return _encoder(6)


def _twelve_layers() -> Work:
    return _encoder(12)


def _fast() -> Work:
    return _method(os.environ.get("RESPACE_SPEED_MODEL", "default"))


def _paper_batched() -> Work:
    return _paper_size(one_at_a_time=False)


def _paper_one_by_one() -> Work:
    return _paper_size(one_at_a_time=True)


def _our_bid() -> Work:
    return _method("bid_plus")


FAST = "FAST"
PAPER = "BID of the paper's size, 64 sequences at once"
SIX_LAYERS = "Transformer encoder 6 x 512"
SYMSPELL = "symspellpy segmentation"

CONTESTANTS = (
    Contestant(name=FAST, load=_fast, kilobytes=120),
    Contestant(name=PAPER, load=_paper_batched, kilobytes=0.6),
    Contestant(name="BID of the paper's size, one sequence at a time", load=_paper_one_by_one, kilobytes=0.15),
    Contestant(name="BID+ of our size, 64 sequences at once", load=_our_bid, kilobytes=4),
    Contestant(name=SIX_LAYERS, load=_six_layers, kilobytes=2),
    Contestant(name="Transformer encoder 12 x 512", load=_twelve_layers, kilobytes=2),
    Contestant(name=SYMSPELL, load=_symspell, kilobytes=20, needs="symspellpy"),
    Contestant(name="wordninja", load=_wordninja, kilobytes=40, needs="wordninja"),
    Contestant(name="wordsegment", load=_wordsegment, kilobytes=4, needs="wordsegment"),
)


@lru_cache(maxsize=1)
def _loaded(name: str) -> Work:
    return next(one for one in CONTESTANTS if one.name == name).load()


def run(task: tuple[str, Sequence[str]]) -> float:
    """Processor seconds that a contestant needs for texts, without those for loading it."""
    import time

    name, texts = task
    work = _loaded(name)
    before = time.process_time()
    work(texts)
    return time.process_time() - before
