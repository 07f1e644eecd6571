#!/usr/bin/env python3
"""Writes tests/fixtures/nvprof/*.golden: what the real nvprof prints of the databases that the *.sql files beside them make.

    scripts/nvprof_goldens.py TOOLS [NAME...]

TOOLS is a folder with nvprof 11.8 unpacked in it (its `env` sets the paths). Each NAME.sql is rows for the tables of
schema.sql; lines that begin with `-- nvprof` are the options of one call each. nvprof needs no GPU to read a database.
"""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures/nvprof"


def calls(sql):
    """The options of each call, as one string."""
    return [line.removeprefix("-- nvprof").strip() for line in sql.splitlines() if line.startswith("-- nvprof")]


def main():
    tools, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    schema = (FOLDER / "schema.sql").read_text()
    for path in sorted(FOLDER.glob("*.sql")):
        if path.name == "schema.sql" or (wanted and path.stem not in wanted):
            continue
        sql = path.read_text()
        with tempfile.TemporaryDirectory() as folder:
            database = f"{folder}/{path.stem}.nvvp"
            connection = sqlite3.connect(database)
            connection.executescript(schema + sql)
            connection.close()
            golden = ""
            for options in calls(sql):
                command = f". {tools}/env; nvprof -i {database} {options} 2>&1"
                run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
                golden += f"$ nvprof {options}".rstrip() + "\n" + run.stdout
        path.with_suffix(".golden").write_text(golden)


main()
