"""What a bomb may take before it is refused: at most 600 MB above what was there before."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MOST_MEGABYTES = 600
# In a process of its own: a high-water mark never falls.
MEASURE = """
import sys
from respace.storage.errors import BadFile
from respace.storage.files import describe
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import format_of

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024

file = describe(sys.argv[1])
form = format_of(file.name, FormatOptions())
before = peak()
try:
    for slice in form.cut(file, 1 << 20):
        for _ in form.read(file, slice.span):
            pass
except BadFile as error:
    assert "bomb" in str(error), error
    print(peak() - before)
"""


def one_value_in_all_rows(path: Path) -> None:
    """A text of 64 MB, which the file has once, and every row."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), pa.array(["ab c " * 12_800_000]))
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False)


def one_long_line(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=9) as stream:
        for _ in range(200):
            stream.write(b"a" * (1 << 20))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bomb.parquet", one_value_in_all_rows),
        ("bomb.txt.gz", one_long_line),
        ("bomb.jsonl.gz", one_long_line),
        ("bomb.json.gz", one_long_line),
    ],
)
def test_bombs(tmp_path: Path, name: str, make: object) -> None:
    assert callable(make)
    make(tmp_path / name)
    command = [sys.executable, "-c", MEASURE, str(tmp_path / name)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < MOST_MEGABYTES
