#!/bin/sh
# The first argument names a job of pipelines/, or the web application; the others are its options.
set -e
case "${1:-}" in
  "" | -h | --help)
    echo "usage: respace JOB OPTIONS, with JOB one of webapp, evaluate, evaluate_spelling, repair_corpus, revert_corpus,"
    echo "extract_wikipedia, match_arxiv, make_training_shards, make_benchmarks. Options: respace JOB --help"
    ;;
  webapp) shift; exec python -m webapp "$@" ;;
  evaluate | evaluate_spelling | repair_corpus | revert_corpus | extract_wikipedia | match_arxiv | make_training_shards | make_benchmarks)
    job="$1"; shift; exec python -m "pipelines.$job" "$@" ;;
  *) echo "error: unknown job '$1'. See: respace --help" >&2; exit 2 ;;
esac
