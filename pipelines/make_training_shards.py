"""`python -m pipelines.make_training_shards`: clean text to shuffled, noisy training shards.

    python -m pipelines.make_training_shards --input clean.parquet --output shards --formats parquet tfrecord

Columns: `characters`, `true_bits`, `given_bits` (packed), `noise_kind`, `source_id`. `training.data.datasets` reads
both formats. The same input, options and seed give the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import (
    Stage,
    StageResult,
    is_complete,
    opened_output,
    option_from_file,
    readable_files,
    run_stage,
    total_counts,
)
from pipelines.job.summary import check_errors, print_summary
from respace.hashing import json_digest
from respace.noise.contents import contents_digest
from respace.noise.recipe import Recipe
from respace.storage.errors import BadOption
from respace.storage.files import join_url, read_bytes, remove
from respace.storage.inputs import list_inputs
from transforms.shards.contract import fingerprint_of
from transforms.shards.manifests import read_manifests

# Text of one output shard, and of one slice of the input, unless the user says otherwise.
_SHARD_BYTES = 32 << 20
_LARGEST_SLICE, _SMALLEST_SLICE = 32 << 20, 4 << 20
# How much text is in a byte of a compressed file, about.
_PACKED, _PACKED_RATIO = (".parquet", ".gz", ".bz2", ".zst", ".xz"), 3


@dataclass(frozen=True, kw_only=True)
class ShardsOptions(JobOptions):
    """Noisy training shards, globally shuffled, from clean text (Parquet, JSONL, text lines)."""

    text_column: str = option("text", "column or member that holds the text (default text)", metavar="NAME")
    id_column: str | None = option(None, "column that names a row (default: file and row number)", metavar="NAME")
    num_shards: int | None = option(None, "shards to write (default: one for 32 MB of text)", metavar="N", least=1)
    formats: tuple[str, ...] = option(
        ("parquet",), "parquet (default), tfrecord, or both", metavar="FORMAT", choices=("parquet", "tfrecord")
    )
    copies: int = option(1, "differently corrupted copies of each row (default 1)", metavar="N", least=1)
    recipe: str | None = option(None, "noise recipe in JSON (default: the training mixture)", metavar="FILE")
    typos: str | None = option(None, "misspellings: correct, misspelled, count, separated by tabs", metavar="FILE")
    confusions: str | None = option(None, "OCR confusions: correct, wrong, count, separated by tabs", metavar="FILE")
    seed: int = option(0, "of shuffle and noise (default 0)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.formats or len(set(self.formats)) != len(self.formats):
            raise BadOption(f"--formats {' '.join(self.formats)}: expected each format at most once")


def noise_recipe(options: ShardsOptions) -> Recipe:
    """The noise to inject. The test half of the misspellings is never trained on."""
    recipe = Recipe.training()
    if options.recipe is not None:
        recipe = option_from_file("recipe", options.recipe, lambda path: Recipe.from_json(read_bytes(path).decode()))
    changes = {name: getattr(options, name) for name in ("typos", "confusions") if getattr(options, name) is not None}
    recipe = replace(recipe, **changes)
    if recipe.typo_half != "train":
        raise BadOption(
            f"--recipe {options.recipe}: typo_half is {recipe.typo_half!r}, expected 'train': "
            "benchmarks are made from the other half, and training must never see it"
        )
    check_noise_files(recipe)
    return recipe


def check_noise_files(recipe: Recipe) -> None:
    """Fails before any text is read if a file of the recipe is not what it should be."""
    from respace.noise.parameters import confusion_table
    from respace.noise.typos import typo_table

    if recipe.typos is not None:
        option_from_file("typos", recipe.typos, lambda path: typo_table(path, recipe.typo_half))
    if recipe.confusions is not None:
        option_from_file("confusions", recipe.confusions, lambda path: confusion_table(path, recipe.parameters))


def job(options: ShardsOptions) -> int:
    from transforms.formats.registry import SUFFIXES
    from transforms.formats.rows import CleanText, TextSlice
    from transforms.training_shards import GATHER, SCATTER, Gather, OutputShard, Scatter

    recipe = noise_recipe(options)
    reader = CleanText(text_column=options.text_column, id_column=options.id_column)
    found = list_inputs(options.input, SUFFIXES)
    files = readable_files(options, found, reader.check)
    total = sum(file.size * (_PACKED_RATIO if file.name.endswith(_PACKED) else 1) for file in files)
    shards = options.num_shards or max(1, round(total * options.copies / _SHARD_BYTES))
    # The size of a slice depends on the input alone, so that a run with other workers can go on with what is there.
    target = min(_LARGEST_SLICE, max(_SMALLEST_SLICE, total // 16))
    slices = [
        TextSlice(name=f"{SCATTER}/{file.name}/{number:05}", file=file, span=part.span, size=part.text_bytes)
        for file in files
        for number, part in enumerate(reader.cut(file, target))
    ][: options.limit]
    scatter = Scatter(output=options.output, reader=reader, copies=options.copies, shards=shards, seed=options.seed)
    described = [[part.name, dict(fingerprint_of(scatter, part))] for part in slices]
    gather = Gather(
        output=options.output,
        slices=tuple(part.name for part in slices),
        recipe=recipe,
        seed=options.seed,
        shards=shards,
        formats=options.formats,
        source=json_digest([described, contents_digest(recipe)]),
    )
    share = sum(part.size for part in slices) * options.copies // shards
    outputs = [OutputShard(name=f"{GATHER}/part-{number:05}", number=number, size=share) for number in range(shards)]
    writing = Stage(title="injecting noise", work=gather, shards=outputs, folder=GATHER, limited=False)
    reading = Stage(title="shuffling", work=scatter, shards=slices, folder=SCATTER, limited=False)
    with opened_output(options):
        if is_complete(options, writing):
            if not options.dry_run:
                remove_scattered(options.output, gather.slices)
            print(f"{options.output}: all {shards} shards are done, and nothing they depend on has changed")
            counts = total_counts(read_manifests(options.output, gather.slices))
            check_errors(options, counts["dead_letters"], counts["rows"])
            return 0
        scattered = run_stage(options, reading)
        if options.dry_run:
            print(f"then {shards} shards would be written to {options.output} ({', '.join(options.formats)})")
            return 0
        readable = tuple(name for name in gather.slices if name in scattered.manifests)
        gathered = run_stage(options, replace(writing, work=replace(gather, slices=readable)))
        remove_scattered(options.output, gather.slices)
    summarise(options, scattered, gathered, len(found) - len(files))
    check_errors(options, scattered.counts["dead_letters"], scattered.counts["rows"])
    return 0


def remove_scattered(output: str, slices: Sequence[str]) -> None:
    """The shards are whole: what they were made from may go. The manifests stay, for what they counted."""
    from transforms.training_shards import scattered_url

    for name in slices:
        remove(scattered_url(output, name))


def summarise(options: ShardsOptions, scattered: StageResult, gathered: StageResult, unreadable: int) -> None:
    counts = gathered.counts
    seconds = scattered.seconds + gathered.seconds
    megabytes = scattered.counts["text_bytes"] / 1e6
    kinds = {name.removeprefix("noise:"): count for name, count in counts.items() if name.startswith("noise:")}
    rows: list[tuple[str, object]] = [
        ("rows read", scattered.counts["rows"]),
        ("empty rows", scattered.counts["empty_rows"]),
        ("dead letters", scattered.counts["dead_letters"]),
        ("unreadable files", unreadable),
        ("unreadable slices", len(scattered.failed)),
        ("examples", counts["examples"]),
        ("characters", counts["characters"]),
        ("space errors", counts["space_errors"]),
        (
            "noise",
            ", ".join(f"{name} {count / max(1, counts['examples']):.1%}" for name, count in sorted(kinds.items())),
        ),
        (
            "shards",
            f"{len(gathered.manifests)} in {', '.join(join_url(options.output, name) for name in options.formats)}",
        ),
    ]
    if megabytes >= 1:  # the time of less text is that in which processes start
        rows.append(
            ("speed", f"{megabytes:.1f} MB of text in {seconds:.1f} s: {megabytes / max(seconds, 1e-9):.2f} MB/s")
        )
    print_summary(f"written to {options.output}", rows)


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, ShardsOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
