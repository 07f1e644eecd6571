#!/usr/bin/env bash
# Measures `gpuprof export` beside DuckDB's COPY and orjson on the same rows, in one run, and writes benches/EXPORT.md.
#
#   benches/export.sh
#   GPUPROF_BENCH_RECORDS=1000000 GPUPROF_BENCH_RUNS=3 benches/export.sh
#
# Inputs and Python packages are made or fetched once, into GPUPROF_BENCH_DATA. Runs are interleaved; the figures are
# medians. gpuprof's seconds are those of the whole command: start, reading, merging into one order, writing. The
# peers' seconds are those of writing alone, from rows that are sorted already.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${GPUPROF_BENCH_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuprof-bench}
records=${GPUPROF_BENCH_RECORDS:-10000000}
runs=${GPUPROF_BENCH_RUNS:-3}
results=$(realpath -m "${GPUPROF_BENCH_RESULTS:-benches/EXPORT.md}")
mkdir -p "$data"
data=$(realpath "$data")

target=$(cargo metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
# GPUPROF_BENCH_PROFILE=ours: our own code optimised as in a release, the libraries as the tests have them. A release
# of Polars takes half an hour; what this measures is a lower bound of what a release does.
case ${GPUPROF_BENCH_PROFILE:-release} in
release)
    cargo build --release --locked --bin gpuprof --example make_native
    built=$target/release profile="release" ;;
ours)
    optimised=()
    for crate in gpuprof trace-format; do
        optimised+=(--config "profile.dev.package.$crate.opt-level=3")
    done
    cargo build "${optimised[@]}" --locked --bin gpuprof --example make_native
    built=$target/debug profile="our crates at opt-level 3, libraries at opt-level 1" ;;
given)
    # A release that is there already: GPUPROF_BENCH_GPUPROF names it, and traces are there from a run before.
    built= profile="release ($("$GPUPROF_BENCH_GPUPROF" --version))" ;;
esac
mkdir -p "$data/bin"
if [ -n "$built" ]; then
    cp "$built/gpuprof" "$built/examples/make_native" "$data/bin/"
else
    cp "$GPUPROF_BENCH_GPUPROF" "$data/bin/gpuprof"
fi
gpuprof=$data/bin/gpuprof
python=$data/venv-export/bin/python
if [ ! -x "$python" ]; then
    python3 -m venv "$data/venv-export"
    "$data/venv-export/bin/pip" install -q duckdb==1.4.2 orjson==3.11.4 || { rm -rf "$data/venv-export"; exit 2; }
fi

trace=$data/export_$records.gpuprof
[ -e "$trace" ] || { "$data/bin/make_native" "$trace.part" --records "$records" && mv "$trace.part" "$trace"; }
small=$data/export_1000000.gpuprof
[ -e "$small" ] || { "$data/bin/make_native" "$small.part" --records 1000000 && mv "$small.part" "$small"; }
tables=$data/export_$records.tables
[ -d "$tables" ] || "$gpuprof" export --quiet --format parquet "$trace" -o "$tables"
events=$data/export_1000000.json
[ -e "$events" ] || "$gpuprof" export --quiet --format chrome "$small" -o "$events"

out=$data/export.out
times=$(mktemp -d)
trap 'rm -rf "$times" "$out"' EXIT
ours() { # ours NAME ARGUMENTS...: seconds and peak memory of one export
    local name=$1
    shift
    rm -rf "$out"
    /usr/bin/time -f '%e %M' -a -o "$times/$name" "$gpuprof" export --quiet "$@" -o "$out"
    du -sb "$out" | cut -f1 >"$times/$name.bytes"
}
theirs() { # theirs NAME ARGUMENTS...: what the peer says it took
    local name=$1
    shift
    rm -rf "$out"
    /usr/bin/time -f '%M' -o "$times/memory" "$python" benches/export_peers.py "$@" "$out" >"$times/seconds"
    echo "$(cat "$times/seconds") $(cat "$times/memory")" >>"$times/$name"
    du -sb "$out" | cut -f1 >"$times/$name.bytes"
}
for _ in $(seq "$runs"); do
    ours csv --format csv "$trace"
    ours csv-tables --format csv-tables "$trace"
    theirs duckdb-csv duckdb-csv "$tables"
    ours parquet --format parquet "$trace"
    theirs duckdb-parquet duckdb-parquet "$tables"
    ours arrow --format arrow "$trace"
    ours gpuprof --format gpuprof "$trace"
    ours chrome --format chrome "$small"
    theirs orjson orjson "$events"
    ours perfetto --format perfetto "$small"
    ours sqlite --format sqlite "$small"
done
median() { # median NAME COLUMN
    sort -n -k"$2" "$times/$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}
row() { # row TITLE NAME [PEER]
    local seconds peer=
    seconds=$(median "$2" 1)
    if [ $# = 3 ]; then
        peer=$(awk -v a="$(median "$3" 1)" -v b="$seconds" 'BEGIN { printf "%.2f", a / b }')
    fi
    awk -v t="$1" -v s="$seconds" -v m="$(median "$2" 2)" -v b="$(cat "$times/$2.bytes")" -v p="$peer" \
        'BEGIN { printf "| %s | %.2f | %.0f | %.0f | %s |\n", t, s, m / 1024, b / 1e6, p }'
}
{
    echo "# gpuprof export beside others"
    echo
    echo "Written by \`benches/export.sh\`: medians of $runs interleaved runs on $(nproc) cores"
    echo "($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)), gpuprof $(git rev-parse --short HEAD), $(date -u +%F), $profile."
    echo "gpuprof's seconds are the whole command; the peers' are writing alone, from sorted Parquet (DuckDB) or from"
    echo "objects in memory (orjson)."
    echo
    echo "| what | s | peak MiB | MB written | times faster than its peer |"
    echo "|---|---:|---:|---:|---:|"
    row "csv, $records records" csv duckdb-csv
    row "csv-tables, $records" csv-tables duckdb-csv
    row "DuckDB COPY to CSV, $records" duckdb-csv
    row "parquet, $records" parquet duckdb-parquet
    row "DuckDB COPY to Parquet, zstd, $records" duckdb-parquet
    row "arrow, $records" arrow
    row "gpuprof, $records" gpuprof
    row "chrome, 1000000" chrome orjson
    row "orjson.dumps of the same events, 1000000" orjson
    row "perfetto, 1000000" perfetto
    row "sqlite, 1000000" sqlite
} >"$results"
cat "$results"
