"""Finds what is under test: carried in .gpu-check (packed by `scripts/gpu-check --pack`), or beside cargo's own output."""

import lzma
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lab import ROOT

# The names under which programs ask for what the simulator stands in for.
SIM_NAMES = {
    "libsim_cuda.so": ["libcuda.so.1", "libcuda.so"],
    "libsim_cupti.so": ["libcupti.so.13"],
    "libsim_cudart.so": ["libcudart.so.13", "libcudart.so"],
}


SIM_CUPTI = b"13.0"


@dataclass
class Parts:
    so: Path
    cli: Path = None
    examples: list = field(default_factory=list)
    sim: dict = field(default_factory=dict)


def find(options, scratch):
    """The parts, unpacked under `scratch`; ends the program with a remedy when the library is missing."""
    carried = ROOT / ".gpu-check"
    if options.libraries:
        folder = Path(options.libraries)
        parts = Parts(folder / "libgpuprof.so")
        parts.sim = {name: folder / name for name in SIM_NAMES}
    elif carried.is_dir() and not options.dry_run:
        parts = _unpack(carried, scratch)
    else:
        folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "deps"
        parts = Parts(folder / "libgpuprof.so", _if_there(folder.parent / "gpuprof"))
        parts.examples = _examples(folder.parent / "examples")
        parts.sim = {name: folder / name for name in SIM_NAMES}
    if options.cli:
        parts.cli = Path(options.cli)
    if options.examples:
        parts.examples = _examples(Path(options.examples))
    missing = [p for p in [parts.so, *(parts.sim.values() if options.dry_run else [])] if not p.exists()]
    if missing:
        sys.exit(f"gpu-check: {missing[0]} is missing: run `scripts/gpu-check --pack` first"
                 + (" (dry run: `cargo test --no-run`, or --libraries DIR)" if options.dry_run else ""))
    return parts


def _examples(folder):
    """Those that use a GPU; cargo leaves more than programs there."""
    return sorted(p for p in folder.glob("0[1235]_*") if "." not in p.name and "-" not in p.name)


def _if_there(path):
    return path if path.exists() else None


def _unpack(carried, scratch):
    """Compressed parts are written out; the library keeps its name, since it finds its own path."""
    target = scratch / "parts"
    target.mkdir()
    for source in carried.iterdir():
        name = source.name.removesuffix(".xz")
        with (lzma.open(source) if source.suffix == ".xz" else open(source, "rb")) as packed, open(target / name, "wb") as out:
            shutil.copyfileobj(packed, out)
        (target / name).chmod(0o755)
    return Parts(target / "libgpuprof.so", _if_there(target / "gpuprof"), _examples(target))


def install_sim(parts, scratch, version=SIM_CUPTI):
    """A folder in which the simulator answers to the vendor's names; returns the environment that finds it."""
    folder = scratch / f"sim-{version.decode()}"
    folder.mkdir()
    for source, names in SIM_NAMES.items():
        # Built with a placeholder for a SONAME: it is what the loader and others go by.
        data = parts.sim[source].read_bytes()
        marker = b"SIM-CUPTI-FILE-VERSION="
        at = data.find(marker) + len(marker)
        if at >= len(marker):  # plays the newest CUPTI unless told which
            data = data[:at] + version.ljust(16, b"\0") + data[at + 16:]
        placeholder = names[0].split(".so")[0].encode() + b".so.SIMULATED"
        (folder / names[0]).write_bytes(data.replace(placeholder, names[0].encode().ljust(len(placeholder), b"\0")))
        for name in names[1:]:
            (folder / name).symlink_to(names[0])
    return {"LD_LIBRARY_PATH": str(folder)}
