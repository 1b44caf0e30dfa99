# Replication on a CPU:
#   docker build -t respace .
#   docker run --rm -v "$PWD/data:/data" -v "$PWD/runs:/runs" respace evaluate --input /data/benchmarks/dev --output /runs/evaluation
#   docker run --rm -v "$PWD/corpus:/corpus:ro" -v "$PWD/runs:/runs" respace repair_corpus --input /corpus --output /runs/repaired
#   docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/data:/data" respace webapp --host 0.0.0.0 --benchmarks /data/benchmarks/dev
# Its steps without a daemon, in a clean environment: scripts/check_container.sh
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends poppler-utils && rm -rf /var/lib/apt/lists/*
WORKDIR /respace
COPY pyproject.toml setup.py README.md LICENSE ./
COPY respace respace
COPY models models
COPY transforms transforms
COPY pipelines pipelines
COPY training training
COPY runners runners
COPY webapp webapp
COPY scripts scripts
RUN pip install --no-cache-dir '.[baselines,spelling,web]' && useradd --create-home respace
USER respace
# Loops are compiled once, for the processor of the machine that builds; another kind of processor compiles again.
RUN respace < README.md > /dev/null
ENV TF_CPP_MIN_LOG_LEVEL=3
EXPOSE 8000
ENTRYPOINT ["scripts/entrypoint.sh"]
CMD ["--help"]
