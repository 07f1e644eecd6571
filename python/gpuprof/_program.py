"""The program ``gpuprof``: where it is, and how it is asked.

Everything about traces is answered by the program. An extension module would hold all of it a second time, and would
have to be built for every version of Python.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence

from ._errors import Error, PartialTrace

#: Exit statuses of the program: done; done, and there is nothing to show.
DONE, NOTHING = 0, 1


class Answer(NamedTuple):
    """What a run of the program left: its status (0 or 1), its standard output, the remarks that it made."""

    status: int
    output: bytes
    notes: List[str]


def program() -> str:
    """The path of the program: ``GPUPROF_PROGRAM``, else the one that was installed with this package, else the one on
    ``PATH``.

    Raises ``Error`` if there is none.
    """
    chosen = os.environ.get("GPUPROF_PROGRAM")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise Error(f"GPUPROF_PROGRAM: {chosen} is not a program; name the program gpuprof, or unset it")
        return chosen
    for folder in _folders():
        path = folder / "gpuprof"
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    on_path = shutil.which("gpuprof")
    if on_path:
        return on_path
    raise Error("the program gpuprof is not found; install the package gpuprof-cuda, or name it with GPUPROF_PROGRAM")


def _folders() -> List[Path]:
    """Where installers put programs of a package: of this environment, of the user, and of ``pip install --target``."""
    folders = [Path(sysconfig.get_path("scripts"))]
    scheme = f"{os.name}_user"
    if scheme in sysconfig.get_scheme_names():
        folders.append(Path(sysconfig.get_path("scripts", scheme=scheme)))
    folders.append(Path(__file__).resolve().parent.parent / "bin")
    return folders


def ask(
    arguments: Sequence[str], given: Optional[str] = None, environment: Optional[Mapping[str, str]] = None
) -> Answer:
    """Runs the program. ``given`` is its standard input, ``environment`` is added to the variables of this process.

    Raises ``Error`` with the text of the program if it fails.
    """
    # What is asked is not to be recorded itself.
    variables = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "GPUPROF_OUTPUT")}
    variables.update(environment or {})
    try:
        ended = subprocess.run(
            [program(), *arguments],
            input=None if given is None else given.encode(),
            stdin=subprocess.DEVNULL if given is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            check=False,
        )
    except OSError as error:
        raise Error(f"{program()}: cannot be started: {error.strerror}") from error
    text = ended.stderr.decode(errors="replace").strip()
    if ended.returncode not in (DONE, NOTHING):
        raise Error(_without_prefix(text) or f"{program()} ended with status {ended.returncode} and without a word")
    lines = [_without_prefix(line) for line in text.splitlines() if line]
    if ended.returncode == NOTHING and lines:
        # Its last line says that there is nothing, which is no remark about the trace.
        lines.pop()
    return Answer(ended.returncode, ended.stdout, lines)


def ask_json(arguments: Sequence[str], given: Optional[str] = None) -> Any:
    """As :func:`ask`, for an answer in JSON."""
    return json.loads(ask(arguments, given).output)


def warn(notes: Sequence[str]) -> None:
    """Says what is partial, where the caller of this package stands."""
    level = 1
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("gpuprof."):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    for note in notes:
        warnings.warn(note, PartialTrace, stacklevel=level)


def _without_prefix(line: str) -> str:
    return line[len("gpuprof: ") :] if line.startswith("gpuprof: ") else line
