#!/bin/sh
# Builds the wheel and the source distribution, installs them away from the checkout, and runs all that they bring.
# usage: scripts/check_release.sh [PYTHON]
set -eu
python="${1:-python3}"
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH
say() { printf '\n== %s\n' "$*"; }

say "build, from what is committed"
git -C "$root" archive --prefix=source/ HEAD | tar -x -C "$work"
cp -r "$work/source/examples" "$work/examples"
"$python" -m venv "$work/builder"
"$work/builder/bin/pip" install --quiet build
"$work/builder/bin/python" -m build --outdir "$work/dist" "$work/source" > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
rm -rf "$work/source"
ls -l "$work/dist"

say "install"
"$python" -m venv "$work/venv"
PATH="$work/venv/bin:$PATH"
pip install --quiet "$(ls "$work"/dist/*.whl)[baselines,spelling,web,pdf]"
# The source distribution gives the same files.
pip install --quiet --no-deps --target "$work/from_source" "$work"/dist/*.tar.gz
site=$(cd "$work" && python -c 'import pathlib, respace; print(pathlib.Path(respace.__file__).parents[1])')
for package in respace models transforms pipelines training runners webapp; do
  diff -r -x __pycache__ -x '*.nbi' -x '*.nbc' "$site/$package" "$work/from_source/$package"
done
cd "$work"

say "respace"
respace --version
test "$(respace 'Thealgo rithm isfast.')" = "The algorithm is fast."
python -c 'from respace import Repairer; assert Repairer.load().repair("Thealgo rithm isfast.") == "The algorithm is fast."'

say "jobs"
job() { name=$1; shift; echo "$name"; python -m "pipelines.$name" --local_workers 1 "$@" > "$work/$name.log" 2>&1 || { cat "$work/$name.log"; exit 1; }; }
job repair_corpus --input examples/corpus --output repaired --keep_original --provenance
test -s repaired/_report/index.html
job revert_corpus --input repaired --output reverted
cmp reverted/typed.txt examples/corpus/typed.txt
job extract_wikipedia --input examples/dump --output wikipedia
job match_arxiv --source_only --input examples/latex --output latex
job make_training_shards --input examples/clean --output shards
job make_benchmarks --input examples/clean --sequences 20 --output benchmarks
job evaluate --input benchmarks --output evaluation --methods do_nothing,wordsegment,fast
job evaluate_spelling --input benchmarks --output spelling --methods fast --correctors symspell
grep -q '^| fast ' evaluation/report.md

say "web application"
python -m webapp --benchmarks benchmarks --predictions evaluation --corpus repaired --export site
test -s site/index.html
python -m webapp --port 8765 > webapp.log 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
python - <<'PYTHON'
import json, time, urllib.request

request = urllib.request.Request(
    "http://127.0.0.1:8765/api/repair",
    json.dumps({"text": "Thealgo rithm isfast."}).encode(),
    {"Content-Type": "application/json"},
)
for attempt in range(60):
    try:
        answer = json.load(urllib.request.urlopen(request, timeout=30))
        break
    except urllib.error.HTTPError as error:
        if error.code != 503:  # the model is still loading
            raise
        time.sleep(1)
    except ConnectionError:
        time.sleep(1)
    except urllib.error.URLError as error:
        if not isinstance(error.reason, ConnectionError):
            raise
        time.sleep(1)
assert answer["text"] == "The algorithm is fast.", answer
print(answer["text"])
PYTHON
say "the release works"
