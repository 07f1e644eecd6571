#!/usr/bin/env bash
# Measures what building gpuprof costs and what is in the program, and writes benches/BUILD.md.
#
#   benches/build.sh
#   GPUPROF_BUILD_ONLY='release' benches/build.sh      only these of dev, tests (on top of dev) and release
#   GPUPROF_BUILD_TESTS=run benches/build.sh           has the tests run too, not only compiled
#   GPUPROF_BUILD_RESULTS=/tmp/b.md benches/build.sh   writes another file
#
# Every measurement begins with an empty target folder, so all of it takes about an hour on two cores, and some 8 GB in
# a folder of its own below GPUPROF_BUILD_DIR (~/.cache), which goes away afterwards. A copy of the checkout is built:
# the one here can be worked on meanwhile, and keeps its own target folder.
set -euo pipefail
cd "$(dirname "$0")/.."
results=$(realpath -m "${GPUPROF_BUILD_RESULTS:-benches/BUILD.md}")

./scripts/prepare
for tool in git python3 nm size du; do
    if ! command -v "$tool" >/dev/null; then
        echo "gpuprof: $tool is missing; Debian's packages are git, python3, binutils and coreutils" >&2
        exit 2
    fi
done
# Whatever changes how or where cargo builds: what is measured is what a stranger gets.
unset CARGO_TARGET_DIR CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR CARGO_BUILD_JOBS CARGO_INCREMENTAL
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
unset RUSTC_WRAPPER CARGO_BUILD_RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER
unset "${!CARGO_PROFILE_@}" GPUPROF_SHIM_SO

parent=${GPUPROF_BUILD_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}}
mkdir -p "$parent"
work=$(mktemp -d "$(realpath "$parent")/gpuprof-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Of what git knows and what it would take, whatever is not deleted. The copy has no .git: the commit is named here.
mkdir "$work/sources"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi
done | tar --null --files-from=- --create | tar --extract --directory "$work/sources"
GPUPROF_COMMIT=$(git rev-parse --short=10 HEAD)
export GPUPROF_COMMIT
changes=
if [ -n "$(git status --porcelain -- . ':!benches/BUILD.md')" ]; then changes=" with changes"; fi

# Downloading is not building.
cargo fetch --locked --quiet --manifest-path "$work/sources/Cargo.toml"
GPUPROF_BUILD_COMMIT=$GPUPROF_COMMIT$changes PYTHONDONTWRITEBYTECODE=1 python3 benches/build.py "$work" "$results"
