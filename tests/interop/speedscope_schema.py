"""Checks files against the JSON schema that the npm package speedscope 1.25.0 ships.

usage: speedscope_schema.py CACHE FILE...

The schema and the Python package jsonschema are fetched once, into CACHE. Exit status 0: all files are valid. 1: one is
not. 3: schema or package cannot be had here.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile

SPEEDSCOPE = "1.25.0"
JSONSCHEMA = "4.26.0"


def unreachable(why):
    print(why)
    sys.exit(3)


def schema(cache):
    path = os.path.join(cache, f"speedscope-{SPEEDSCOPE}.schema.json")
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory() as folder:
            try:
                command = ["npm", "pack", "--silent", f"speedscope@{SPEEDSCOPE}"]
                subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
                with tarfile.open(os.path.join(folder, f"speedscope-{SPEEDSCOPE}.tgz")) as package:
                    text = package.extractfile("package/dist/release/file-format-schema.json").read()
            except (OSError, subprocess.SubprocessError, KeyError) as error:
                unreachable(f"speedscope {SPEEDSCOPE} from npm: {error}")
        os.makedirs(cache, exist_ok=True)
        with open(path + ".part", "wb") as file:
            file.write(text)
        os.replace(path + ".part", path)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def jsonschema(cache):
    folder = os.path.join(cache, f"jsonschema-{JSONSCHEMA}")
    if not os.path.isdir(folder):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder + ".part"]
        try:
            subprocess.run([*command, f"jsonschema=={JSONSCHEMA}"], check=True, capture_output=True, timeout=120)
            os.rename(folder + ".part", folder)
        except (OSError, subprocess.SubprocessError) as error:
            unreachable(f"jsonschema {JSONSCHEMA} from PyPI: {error}")
    sys.path.insert(0, folder)
    import jsonschema as module

    return module


def main():
    cache, files = sys.argv[1], sys.argv[2:]
    rules = schema(cache)
    validator = jsonschema(cache).Draft7Validator(rules)
    # A schema that takes everything would prove nothing.
    assert not validator.is_valid({"profiles": [{"type": "evented"}]})
    for path in files:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        for error in validator.iter_errors(document):
            print(f"{path}: {error.json_path}: {error.message[:500]}")
            sys.exit(1)
    print(f"valid: {len(files)}")


main()
