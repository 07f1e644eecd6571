#!/usr/bin/env bash
# Measures `gpuprof query` beside DuckDB on 10 million records and writes benches/QUERY.md.
#
#   benches/query.sh
#   GPUPROF_BENCH_BEFORE=/path/to/an/older/gpuprof benches/query.sh     with a column for that build
#   GPUPROF_BENCH_GPUPROF=/path/to/gpuprof benches/query.sh             measures a release that is there already
set -euo pipefail
cd "$(dirname "$0")/.."
data=${GPUPROF_BENCH_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuprof-bench}
records=${GPUPROF_BENCH_RECORDS:-10000000}
mkdir -p "$data"
gpuprof=${GPUPROF_BENCH_GPUPROF:-}
make_native=${GPUPROF_BENCH_MAKE_NATIVE:-}
if [ -z "$gpuprof" ]; then
    cargo build --release --locked --bin gpuprof --example make_native
    target=$(cargo metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
    gpuprof=$target/release/gpuprof make_native=$target/release/examples/make_native
fi
python=$data/venv-export/bin/python
if [ ! -x "$python" ]; then
    python3 -m venv "$data/venv-export"
    "$data/venv-export/bin/pip" install -q duckdb==1.4.2 orjson==3.11.4 || { rm -rf "$data/venv-export"; exit 2; }
fi
trace=$data/export_$records.gpuprof
[ -e "$trace" ] || { "$make_native" "$trace.part" --records "$records" && mv "$trace.part" "$trace"; }
tables=$data/export_$records.tables
[ -d "$tables" ] || "$gpuprof" export --quiet --format parquet "$trace" -o "$tables"
before=()
[ -z "${GPUPROF_BENCH_BEFORE:-}" ] || before=(--before "$GPUPROF_BENCH_BEFORE")
PYTHONDONTWRITEBYTECODE=1 "$python" benches/query.py "$gpuprof" "$trace" "$tables" "${before[@]}" \
    --runs "${GPUPROF_BENCH_RUNS:-5}" --out "${GPUPROF_BENCH_RESULTS:-benches/QUERY.md}"
