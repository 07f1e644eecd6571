#!/usr/bin/env bash
# Measures `gpuprof report` beside other programs on the same records and writes benches/RESULTS.md.
#
#   benches/report.sh
#   GPUPROF_BENCH_ONLY='Kineto|native 10' GPUPROF_BENCH_RUNS=3 GPUPROF_BENCH_RESULTS=/tmp/r.md benches/report.sh
#
# Inputs, the Python packages and NVIDIA's programs are made or fetched once, into GPUPROF_BENCH_DATA (about 3 GB; the
# first time takes some minutes). NVIDIA's nvprof and nsys come from Debian's non-free archive and are only unpacked;
# where that cannot be reached they are left out, and RESULTS.md says so.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
data=${GPUPROF_BENCH_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuprof-bench}
results=$(realpath -m "${GPUPROF_BENCH_RESULTS:-benches/RESULTS.md}")
mkdir -p "$data"
data=$(realpath "$data")

if [ ! -x /usr/bin/time ]; then
    echo "gpuprof: /usr/bin/time is missing: install the package \"time\"" >&2
    exit 2
fi
cargo build --release --bin gpuprof --example make_native
target=$(cargo metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
gpuprof=$target/release/gpuprof
make_native=$target/release/examples/make_native

python=${GPUPROF_BENCH_PYTHON:-$data/venv/bin/python}
if [ ! -x "$python" ]; then
    python3 -m venv "$data/venv"
    "$data/venv/bin/pip" install -q numpy pandas pyarrow polars duckdb msgspec
fi
hta=${GPUPROF_BENCH_HTA:-$data/venv_hta/bin/python}
if [ ! -x "$hta" ]; then # has dependencies of its own that do not go with the others
    python3 -m venv "$data/venv_hta" && "$data/venv_hta/bin/pip" install -q HolisticTraceAnalysis ijson ||
        rm -rf "$data/venv_hta"
fi

# What is being made has another name until it is whole.
ensure() { # ensure FILE COMMAND...: the command's {} is the file
    local file=$data/$1
    shift
    if [ ! -e "$file" ]; then
        echo "gpuprof: making $file" >&2
        "${@//\{\}/$file.part}"
        mv "$file.part" "$file"
    fi
}
generate=("$python" benches/gen_trace.py)
ensure trace_1m.parquet "${generate[@]}" parquet --records 1000000 --out {}
ensure trace_10m.parquet "${generate[@]}" parquet --records 10000000 --out {}
ensure nsys_1m.sqlite "${generate[@]}" sqlite --records 1000000 --out {}
ensure kineto_1m.json.gz "${generate[@]}" kineto --records 1000000 --out {}
ensure trace_1m.nvvp "$python" benches/nvprof_db.py "$data/trace_1m.parquet" {}
ensure large_100m.gpuprof "$make_native" {} --records 100000000
# The Parquet library that gpuprof is built with has no codecs.
ensure plain_10m.parquet "$python" -c '
import sys, pyarrow.parquet as pq
source = pq.ParquetFile(sys.argv[1])
with pq.ParquetWriter(sys.argv[2], source.schema_arrow, compression="none", use_dictionary=["name", "kind"]) as target:
    for group in range(source.num_row_groups):
        target.write_table(source.read_row_group(group), row_group_size=1 << 20)
' "$data/trace_10m.parquet" {}
# The lines that the converter counts by itself must have the digest that all programs agree on.
convert() { # convert OUT OPTIONS...
    local out=$1
    shift
    local found
    found=$("$make_native" "$out" --parquet "$data/plain_10m.parquet" --lines "$@" | sha256sum | cut -c1-12)
    if [ "$found" != 9dd52a2bb7a3 ]; then
        echo "gpuprof: $out: the rows have digest $found instead of 9dd52a2bb7a3" >&2
        return 2
    fi
}
ensure trace_10m.gpuprof convert {}
ensure small_10m.gpuprof convert {} --rows-per-frame 512

if [ ! -e "$data/nvidia/env" ] && ! bash benches/fetch-nvidia-tools.sh "$data/nvidia" >"$data/nvidia.log" 2>&1; then
    echo "gpuprof: NVIDIA's programs could not be fetched ($data/nvidia.log); going on without them" >&2
    rm -f "$data/nvidia/env"
fi
# Their libraries are older than what Python and gpuprof should find, so only they get to see them.
if [ -e "$data/nvidia/env" ]; then
    mkdir -p "$data/bin"
    for tool in nvprof nsys; do
        printf '#!/bin/sh\n. "%s"\nexec %s "$@"\n' "$data/nvidia/env" "$tool" >"$data/bin/$tool"
        chmod +x "$data/bin/$tool"
    done
fi
cd "$here"
GPUPROF_BENCH_HTA=$hta PYTHONPATH=benches PYTHONDONTWRITEBYTECODE=1 PATH="$PATH:$data/bin" \
    "$python" benches/compare.py "$gpuprof" "$data" "$results"
echo "gpuprof: wrote $results" >&2
