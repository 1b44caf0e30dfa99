"""The whole job: every row once, shuffled, deterministic, in both formats; and training from each of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.make_training_shards import main
from respace.gaps import join
from respace.noise import Recipe
from respace.training_examples import unpack_bits
from transforms.shards.dead_letters import read_dead_letters

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "seven", "wizards", "watch"]


def write_input(folder: Path, files: int = 3, rows: int = 200, row_group: int = 50) -> list[str]:
    """Clean text of our own, in several files; returns all of it."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    every = []
    for file in range(files):
        texts = [" ".join(draw.choice(WORDS, 12)) + f" {file} {row}." for row in range(rows)]
        pq.write_table(pa.table({"text": texts}), folder / f"{file}.parquet", row_group_size=row_group)
        every += texts
    return every


def run(tmp_path: Path, output: str, *arguments: str) -> int:
    common = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / output), "--local_workers", "1"]
    return main([*common, *arguments])


def parquet_rows(output: Path) -> list[dict[str, object]]:
    return [row for path in sorted(output.glob("parquet/*.parquet")) for row in pq.read_table(path).to_pylist()]


def true_text(row: dict[str, object]) -> str:
    characters = str(row["characters"])
    bits = row["true_bits"]
    assert isinstance(bits, bytes)
    return join(characters, unpack_bits(bits, len(characters)))


def shard_bytes(output: Path) -> dict[str, bytes]:
    return {str(path.relative_to(output)): path.read_bytes() for path in sorted(output.glob("[a-z]*/*"))}


def space_noise_only(tmp_path: Path) -> str:
    recipe = Recipe.training(characters_ocr=0.0, characters_human=0.0, characters_mixed=0.0, spaces_spans=0.0)
    (tmp_path / "recipe.json").write_text(recipe.to_json())
    return str(tmp_path / "recipe.json")


def test_every_row_once_shuffled_over_all_shards(tmp_path: Path) -> None:
    texts = write_input(tmp_path / "in")
    assert run(tmp_path, "out", "--num_shards", "4", "--recipe", space_noise_only(tmp_path)) == 0
    rows = parquet_rows(tmp_path / "out")
    assert sorted(true_text(row) for row in rows) == sorted(texts)
    assert len({row["source_id"] for row in rows}) == len(texts)
    assert {row["noise_kind"] for row in rows} == {"clean", "light", "bursts", "pdf", "every", "none"}
    files = [str(row["source_id"]).partition(".")[0] for row in rows]
    # Shuffled: neighbours come from the same of three files in about a third of the cases, not nearly always.
    assert 0.25 < np.mean([one == other for one, other in pairwise(files)]) < 0.42
    for path in (tmp_path / "out" / "parquet").iterdir():
        assert 100 < pq.ParquetFile(path).metadata.num_rows < 200
    assert not list((tmp_path / "out" / "_scattered").rglob("*.arrow"))


@pytest.mark.parametrize("formats", [["parquet"], pytest.param(["parquet", "tfrecord"], marks=pytest.mark.slow)])
def test_the_output_depends_on_nothing_but_input_options_and_seed(tmp_path: Path, formats: list[str]) -> None:
    write_input(tmp_path / "in")
    both = ("--num_shards", "3", "--formats", *formats, "--copies", "2")
    assert run(tmp_path, "one", *both) == 0
    assert (
        main(["--input", str(tmp_path / "in"), "--output", str(tmp_path / "two"), "--local_workers", "2", *both]) == 0
    )
    one = shard_bytes(tmp_path / "one")
    assert sorted(one) == sorted(f"{kind}/part-0000{number}-of-00003.{kind}" for kind in formats for number in range(3))
    assert shard_bytes(tmp_path / "two") == one
    # The same rows, cut differently into row groups.
    for path in (tmp_path / "in").iterdir():
        pq.write_table(pq.read_table(path), path, row_group_size=11)
    assert run(tmp_path, "three", *both) == 0
    assert shard_bytes(tmp_path / "three") == one
    assert run(tmp_path, "four", *both, "--seed", "1") == 0
    assert shard_bytes(tmp_path / "four") != one


def test_copies_are_corrupted_differently(tmp_path: Path) -> None:
    texts = write_input(tmp_path / "in", files=1)
    assert run(tmp_path, "out", "--copies", "3", "--recipe", space_noise_only(tmp_path)) == 0
    rows = parquet_rows(tmp_path / "out")
    assert sorted(true_text(row) for row in rows) == sorted(texts * 3)
    given: dict[str, set[object]] = {}
    for row in rows:
        given.setdefault(str(row["characters"]), set()).add(row["given_bits"])
    assert sum(len(different) > 1 for different in given.values()) > 0.8 * len(texts)


def test_training_from_both_formats(tmp_path: Path) -> None:
    import tensorflow as tf

    from training.data.datasets import examples, padded_batches

    write_input(tmp_path / "in", files=1, rows=400)
    assert run(tmp_path, "out", "--num_shards", "2", "--formats", "parquet", "tfrecord") == 0
    read = {kind: list(examples(tmp_path / "out" / kind).as_numpy_iterator()) for kind in ("parquet", "tfrecord")}
    rows = parquet_rows(tmp_path / "out")
    assert len(read["parquet"]) == len(read["tfrecord"]) == len(rows) == 400
    for row, *both in zip(rows, read["parquet"], read["tfrecord"], strict=True):
        for example in both:
            length = len(str(row["characters"]))
            assert "".join(map(chr, example["characters"])) == row["characters"]
            assert np.array_equal(example["true_bits"], unpack_bits(row["true_bits"], length))  # type: ignore[arg-type]
            assert np.array_equal(example["given_bits"], unpack_bits(row["given_bits"], length))  # type: ignore[arg-type]
            assert example["noise_kind"].decode() == row["noise_kind"]
            assert example["source_id"].decode() == row["source_id"]
    losses: dict[str, list[float]] = {}
    for kind in read:
        tf.keras.utils.set_random_seed(1)
        letters, given = tf.keras.layers.Embedding(256, 16), tf.keras.layers.Embedding(2, 4)
        context, logit = tf.keras.layers.Conv1D(32, 5, padding="same", activation="relu"), tf.keras.layers.Dense(1)
        optimizer = tf.keras.optimizers.Adam(0.01)
        losses[kind] = []
        for batch in padded_batches(examples(tmp_path / "out" / kind).repeat(), batch_size=32, length=64).take(20):
            with tf.GradientTape() as tape:
                inputs = [letters(tf.minimum(batch["characters"], 255)), given(tf.cast(batch["given_bits"], tf.int32))]
                logits = logit(context(tf.concat(inputs, axis=-1)))[..., 0]
                each = tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(batch["true_bits"], tf.float32), logits)
                loss = tf.reduce_mean(tf.boolean_mask(each, batch["counts"]))
            weights = [w for layer in (letters, given, context, logit) for w in layer.trainable_variables]
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            losses[kind].append(float(loss))
    assert losses["parquet"] == pytest.approx(losses["tfrecord"])
    assert losses["parquet"][-1] < 0.6 * losses["parquet"][0]


def test_resume_and_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_input(tmp_path / "in", files=1)
    assert run(tmp_path, "out", "--dry_run") == 0
    assert "shards would be written" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
    assert run(tmp_path, "out", "--num_shards", "2") == 0
    one = shard_bytes(tmp_path / "out")
    assert run(tmp_path, "out", "--num_shards", "2") == 0
    assert "all 2 shards are done" in capsys.readouterr().out
    (tmp_path / "out" / "parquet" / "part-00001-of-00002.parquet").unlink()
    assert run(tmp_path, "out", "--num_shards", "2") == 0
    assert shard_bytes(tmp_path / "out") == one
    assert run(tmp_path, "out", "--num_shards", "2", "--seed", "7") == 1
    assert "seed was 0 and is now 7" in capsys.readouterr().err
    assert run(tmp_path, "out", "--num_shards", "1", "--overwrite") == 0
    assert list(shard_bytes(tmp_path / "out")) == ["parquet/part-00000-of-00001.parquet"]


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    write_input(tmp_path / "in", files=12, rows=3000)
    both = ("--num_shards", "6")
    assert run(tmp_path, "whole", *both) == 0
    command = [sys.executable, "-m", "pipelines.make_training_shards", "--input", str(tmp_path / "in"), *both]
    command += ["--output", str(tmp_path / "killed"), "--local_workers", "2"]
    seconds = 2.0
    killed = 0
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert process.wait(seconds) == 0
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
            seconds *= 1.5
    assert killed >= 1
    assert shard_bytes(tmp_path / "killed") == shard_bytes(tmp_path / "whole")
    left = [path for path in (tmp_path / "killed").rglob("*") if path.suffix in (".arrow", ".respace-tmp")]
    assert left == []


@pytest.mark.slow
def test_another_runner_gives_the_same_bytes(tmp_path: Path) -> None:
    """Beam's portable runner, with a job service in a process of its own."""
    write_input(tmp_path / "in", files=1)
    assert run(tmp_path, "local", "--num_shards", "2") == 0
    port_file = tmp_path / "port"
    service = subprocess.Popen(
        [sys.executable, "-m", "apache_beam.runners.portability.local_job_service_main", "--port_file", str(port_file)]
    )
    try:
        deadline = time.monotonic() + 300
        while not port_file.exists() and time.monotonic() < deadline:
            time.sleep(0.5)
        portable = ["--runner", "PortableRunner", "--job_endpoint", f"localhost:{port_file.read_text()}"]
        assert run(tmp_path, "portable", "--num_shards", "2", *portable, "--environment_type", "LOOPBACK") == 0
    finally:
        service.kill()
        service.wait()
    assert shard_bytes(tmp_path / "portable") == shard_bytes(tmp_path / "local")


def test_training_never_sees_the_test_half_of_the_typos(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_input(tmp_path / "in", files=1)
    for half in ("test", "all"):
        (tmp_path / "recipe.json").write_text(Recipe.training(typo_half=half).to_json())
        assert run(tmp_path, "out", "--recipe", str(tmp_path / "recipe.json")) == 2
        assert "training must never see it" in capsys.readouterr().err


def test_broken_lines_are_dead_letters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"text": f"good line {number}"}) for number in range(9)] + ["{broken"]
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines))
    assert run(tmp_path, "out", "--recipe", space_noise_only(tmp_path)) == 1
    assert "1 of 10 documents failed" in capsys.readouterr().err
    assert run(tmp_path, "out", "--recipe", space_noise_only(tmp_path)) == 1  # a second run finds no other result
    assert "1 of 10 documents failed" in capsys.readouterr().err
    assert len(parquet_rows(tmp_path / "out")) == 9
    (letters,) = (tmp_path / "out" / "_dead_letters").rglob("*.parquet")
    assert read_dead_letters(str(letters))["text"].to_pylist() == ["{broken"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--num_shards", "0"], "--num_shards 0: expected at least 1"),
        (["--formats", "csv"], "--formats csv: expected one of parquet, tfrecord"),
        (["--copies", "0"], "--copies 0: expected at least 1"),
        (["--recipe", "missing.json"], "--recipe missing.json"),
        (["--typos", "missing.tsv"], "--typos missing.tsv"),
    ],
)
def test_bad_options(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    write_input(tmp_path / "in", files=1, rows=1)
    assert run(tmp_path, "out", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = write_input(tmp_path / "in", files=1)
    pq.write_table(pa.table({"body": ["a"]}), tmp_path / "in" / "bad.parquet")
    assert run(tmp_path, "out") == 1
    assert "no column 'text'" in capsys.readouterr().err
    assert run(tmp_path, "out", "--on_bad_file", "skip") == 0
    assert re.search(r"unreadable files +1\n", capsys.readouterr().out)
    assert len(parquet_rows(tmp_path / "out")) == len(texts)


def test_a_dry_run_removes_nothing(tmp_path: Path) -> None:
    write_input(tmp_path / "in")
    assert run(tmp_path, "out", "--num_shards", "2") == 0
    # As after a kill between the last shard and the clearing up.
    left_over = tmp_path / "out" / "_scattered" / "scatter" / "0.parquet" / "00000.arrow"
    left_over.parent.mkdir(parents=True, exist_ok=True)
    left_over.write_bytes(b"left over")
    before = sorted(path for path in (tmp_path / "out").rglob("*"))
    assert run(tmp_path, "out", "--num_shards", "2", "--dry_run") == 0
    assert sorted(path for path in (tmp_path / "out").rglob("*")) == before


def test_other_contents_of_the_noise_are_other_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shutil

    from respace.noise.parameters import DEFAULTS

    write_input(tmp_path / "in", files=1)
    shutil.copytree(DEFAULTS, tmp_path / "noise")
    (tmp_path / "recipe.json").write_text(json.dumps({"parameters": str(tmp_path / "noise")}))
    arguments = ("--num_shards", "1", "--recipe", str(tmp_path / "recipe.json"))
    assert run(tmp_path, "out", *arguments) == 0
    (tmp_path / "noise" / "ocr.json").touch()
    assert run(tmp_path, "out", *arguments) == 0
    assert "all 1 shards are done" in capsys.readouterr().out
    content = (tmp_path / "noise" / "ocr.json").read_text()
    (tmp_path / "noise" / "ocr.json").write_text(content.replace('"hyphenation_rate":0.', '"hyphenation_rate":0.1'))
    assert run(tmp_path, "out", *arguments) == 1
    assert "was written with different settings: input was" in capsys.readouterr().err
