"""What cargo and binutils say about a build, for build.py: seconds by crate, bytes by crate, bytes by section."""
import collections
import json
import re
import subprocess

SHOWN = 25

OURS, POLARS, SQL, LIBRARIES = "ours", "Polars", "SQL (polars-sql, sqlparser)", "other libraries"
STD, C, NAMELESS = "Rust's own libraries", "C libraries", "no symbol"
GROUPS = [OURS, SQL, POLARS, LIBRARIES, STD, C, NAMELESS]

STD_CRATES = {"core", "alloc", "std", "proc_macro", "test", "compiler_builtins", "panic_unwind", "panic_abort",
              "unwind", "std_detect", "rustc_demangle", "addr2line", "gimli", "__rustc", "rustc_std_workspace_core"}
SQL_CRATES = {"polars_sql", "sqlparser", "sqlparser_derive"}

# Libraries in C by how their symbols begin. Only SQLite has static functions that do not say whose they are; they
# follow the name of its one file.
C_LIBRARIES = [("SQLite", r"sqlite3|sqlite_"), ("lz4", r"LZ4|XXH|lz4_"), ("psm", r"rust_psm"),
               ("zstd", r"_?(ZSTD|HUF|FSE|HIST|COVER|FASTCOVER|POOL|ERR_|ZDICT|BIT_|divsufsort|trsort|sssort)")]
C_FILES = [("SQLite", r"sqlite3\.c$"), ("zstd", r"(zstd|huf|fse|zdict|cover|fastcover|hist|entropy|pool|divsufsort)"),
           ("lz4", r"(lz4|xxhash)")]
OTHER_C = "other C and assembly"

# Sections that take no room in the file.
ONLY_IN_MEMORY = {".bss", ".tbss", ".relro_padding"}

# One file of symbols that rustc made: crate, hash and number.
CODEGEN_UNIT = re.compile(r"^(\w+)\.[0-9a-f]+-cgu\.\d+")
# A symbol as `nm --print-size --radix=d` writes it: address, size where it has one, kind, name.
SYMBOL = re.compile(r"^(\d+) (?:(\d+) )?(\S) ?(.*)$")
# The first crate in a demangled name: of `<&[a::A] as b::B>::f` it is a, of `<T as b::B>::f` it is b.
FIRST_CRATE = re.compile(r"(?<![\w:}>])([A-Za-z_]\w*)(?:\[[0-9a-f]+\])?::")


def group(crate, own):
    """The group of a crate; `own` are the packages of the workspace."""
    name = crate.replace("-", "_")
    if name in own:
        return OURS
    if name in SQL_CRATES:
        return SQL
    return POLARS if name == "polars" or name.startswith("polars_") else LIBRARIES


def own_packages(sources):
    """The names of the workspace's packages, as code writes them."""
    text = output(["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"], cwd=sources)
    return {package["name"].replace("-", "_") for package in json.loads(text)["packages"]}


def seconds_by_crate(report):
    """Seconds by crate from the page that `cargo build --timings` writes: its libraries, build scripts and programs
    together, all versions of it together."""
    with open(report, encoding="utf-8") as file:
        page = file.read()
    marker = "const UNIT_DATA = "
    units, _ = json.JSONDecoder().raw_decode(page, page.index(marker) + len(marker))
    seconds = collections.Counter()
    for unit in units:
        seconds[unit["name"]] += unit["duration"]
    return seconds


def seconds_by_group(seconds, own):
    sums = collections.Counter()
    for crate, amount in seconds.items():
        sums[group(crate, own)] += amount
    return {name: round(amount, 1) for name, amount in sums.items()}


def largest(amounts, digits=None):
    """The largest as [name, amount], and how many others there are with what they sum to."""
    ordered = sorted(amounts.items(), key=lambda item: (-item[1], item[0]))
    rest = ordered[SHOWN:]
    return {"top": [[name, round(amount, digits)] for name, amount in ordered[:SHOWN]], "others": len(rest),
            "rest": round(sum(amount for _, amount in rest), digits)}


def crate_named(name):
    """The crate of the first path in a demangled name; None for what is not Rust's."""
    found = FIRST_CRATE.search(name)
    if found:
        return found.group(1)
    return "core" if name.startswith("<") else None  # `<str>::trim`


def c_library(name, file):
    for library, pattern in C_LIBRARIES:
        if re.match(pattern, name):
            return library
    for library, pattern in C_FILES:
        if re.match(pattern, file):
            return library
    return OTHER_C


def symbols(program):
    """(name, file, bytes) of all symbols that have bytes in the program. The file is where the linker found it: a C
    file, or rustc's name of a part of a crate; empty for those that the program exports."""
    lines = output(["nm", "--no-sort", "--debug-syms", "--print-size", "--radix=d", "--demangle", program])
    file, seen = "", set()
    for line in lines.splitlines():
        found = SYMBOL.match(line)
        if not found:
            continue
        address, size, kind, name = found.groups()
        if kind == "a" and size is None:
            file = name
        elif size and kind not in "bBnN" and (address, size) not in seen:
            seen.add((address, size))  # two names for one place are one place
            yield name, file if kind.islower() else "", int(size)


def bytes_by_crate(program):
    """Two counts of bytes: by the crate that a symbol's name begins with, and by the crate that was being compiled
    when the code was made, which also has the instances of other crates' generic functions. What a crate exports to
    others has lost its file; there the name has to do for both."""
    named, made = collections.Counter(), collections.Counter()
    for name, file, size in symbols(program):
        unit = CODEGEN_UNIT.match(file)
        crate = crate_named(name) or (unit.group(1) if unit else None)
        library = crate or c_library(name, file)
        named[library] += size
        made[unit.group(1) if unit else library] += size
    return named, made


def group_of_bytes(library, own):
    if library in STD_CRATES:
        return STD
    if library == OTHER_C or library in dict(C_LIBRARIES):
        return C
    return group(library, own)


def bytes_by_group(counts, size, own):
    sums = collections.Counter({NAMELESS: size - sum(counts.values())})
    for library, amount in counts.items():
        sums[group_of_bytes(library, own)] += amount
    return dict(sums)


def contents(program, size, own):
    """What is in the program: `program` is linked with its symbols, `size` is that of the stripped one."""
    named, made = bytes_by_crate(program)
    groups = {"named": bytes_by_group(named, size, own), "made": bytes_by_group(made, size, own)}
    return {"named": largest(named), "made": largest(made), "groups": groups}


def sections(program):
    """[name, bytes] of all sections that take room in the file, largest first."""
    rows = []
    for line in output(["size", "-A", "-d", program]).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1].isdigit() and fields[0] not in ONLY_IN_MEMORY:
            rows.append([fields[0], int(fields[1])])
    return sorted(rows, key=lambda row: -row[1])


def output(command, cwd=None):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True, errors="replace").stdout
