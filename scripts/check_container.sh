#!/bin/sh
# The steps of the Dockerfile without a daemon: the same files, a new virtual environment, the same entry point.
# usage: scripts/check_container.sh [PYTHON]
set -eu
python="${1:-python3}"
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/respace"
# What is copied is what the Dockerfile says, so that a file that is missing there is missing here.
sed -n 's/^COPY \(.*\) [^ ]*$/\1/p' "$root/Dockerfile" | tr ' ' '\n' | while read -r name; do
  cp -r "$root/$name" "$work/respace/$name"
done
"$python" -m venv "$work/venv"
PATH="$work/venv/bin:$PATH"
unset PYTHONPATH
pip install --quiet "$work/respace[baselines,spelling,web]"
cd "$work/respace"
scripts/entrypoint.sh --help
mkdir -p "$work/dev/Wiki" "$work/corpus"
printf 'Thealgo rithm isfast.\n' | tee "$work/dev/Wiki/corrupt.txt" > "$work/corpus/a.txt"
printf 'The algorithm is fast.\n' > "$work/dev/Wiki/correct.txt"
scripts/entrypoint.sh evaluate --input "$work/dev" --output "$work/evaluation" --methods do_nothing,fast --local_workers 1
grep -q '| fast | 100.0 |' "$work/evaluation/report.md"
scripts/entrypoint.sh repair_corpus --input "$work/corpus" --output "$work/repaired" --local_workers 1
grep -q '^The algorithm is fast.$' "$work/repaired/a.txt"
scripts/entrypoint.sh webapp --benchmarks "$work/dev" --predictions "$work/evaluation" --export "$work/site"
test -s "$work/site/data/Wiki/predictions/fast.txt"
if scripts/entrypoint.sh magic 2> "$work/errors"; then exit 1; fi
grep -q "unknown job 'magic'" "$work/errors"
echo "the container's steps work"
