"""Traces of any format that the program reads, and what can be asked of them."""

import base64
import html
import os
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Union

from ._errors import Error
from ._program import ask, ask_json, warn
from ._table import ArrowFile, ArrowTable, Row, RowsTable

PathLike = Union[str, "os.PathLike[str]"]

#: Pixels of the picture that a notebook shows of a trace, and about how many rows it has.
PICTURE_WIDTH, PICTURE_ROWS = 900, 14

#: Kernels in the summary that a notebook shows of a trace.
SUMMARY_KERNELS = 5


def open_trace(paths: Union[PathLike, Sequence[PathLike]]) -> "Trace":
    """Opens a trace: a file, folder or glob of any format that gpuprof reads, or a list of them, which are then one
    trace of several processes.

    Reading needs neither CUDA nor a GPU. What a large trace of another tool holds is read anew for every question:
    ``gpuprof convert`` makes a ``.gpuprof`` of it, of which only the columns in question are read.

    Raises :class:`gpuprof.Error` if a path holds no trace.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several:
        raise Error("no trace was named; give the path of a file or folder")
    return Trace([os.fspath(path) for path in several])


class Trace:
    """An open trace. Made by :func:`gpuprof.open`."""

    def __init__(self, paths: List[str]) -> None:
        # A name that begins with a dash is a path here and never an option.
        self.paths = [f"./{path}" if path.startswith("-") else path for path in paths]
        self._info: Dict[str, List[Row]] = {}
        document = ask_json(["info", "--format", "json", *self.paths])
        for table in document["tables"]:
            self._info[table["name"]] = table["rows"]
        self.notes: List[str] = [note["text"] for note in document["notes"]]

    @property
    def files(self) -> List[Row]:
        """The files of the trace: path, kind, size in bytes, first and last moment in ns."""
        return list(self._info.get("files", []))

    @property
    def processes(self) -> List[Row]:
        """The recorded processes: ordinal, pid, rank."""
        return list(self._info.get("processes", []))

    @property
    def devices(self) -> List[Row]:
        """The GPUs that each process knew."""
        return list(self._info.get("devices", []))

    @property
    def tables(self) -> Dict[str, int]:
        """The names of the tables that have rows, and how many each has. ``docs/schema.md`` describes their columns."""
        return {row["Table"]: row["Rows"] for row in self._info.get("tables", [])}

    def sql(self, query: str) -> ArrowTable:
        """The answer to a query in SQL (``docs/query.md``) over the tables and views of ``docs/schema.md``.

        Raises :class:`gpuprof.Error` with the program's explanation if the query cannot be answered.
        """
        file = ArrowFile(size_hint=64 * sum(self.tables.values()))
        try:
            arguments = ["query", *self.paths, "--file", "-"]
            answer = ask([*arguments, "--format", "arrow", "--output", file.name], given=query)
        except Error:
            file.discard()
            raise
        file.settle()
        warn(answer.notes)

        def as_json() -> List[Row]:
            rows: List[Row] = ask_json([*arguments, "--format", "json"], given=query)["tables"][0]["rows"]
            return rows

        return ArrowTable(file, answer.notes, as_json)

    def table(self, name: str, columns: Optional[Sequence[str]] = None, where: Optional[str] = None) -> ArrowTable:
        """The rows of a table or ready view of ``docs/schema.md``, such as ``kernel`` (or ``kernels``), ``memcpy``,
        ``api``, ``gpu``, ``launches``, in the order of the file.

        ``columns`` are the columns to read, in this order; all of them where it is not given, which takes longer.
        ``where`` is a condition in SQL.

        Raises :class:`gpuprof.Error` if there is no such table or column; the text lists those that there are.
        """
        chosen = "*" if columns is None else ", ".join(_quoted(column) for column in columns)
        condition = "" if where is None else f" WHERE {where}"
        try:
            return self.sql(f"SELECT {chosen} FROM {_quoted(name)}{condition}")
        except Error:
            if name.endswith("s") and name[:-1] in self._table_names():
                return self.table(name[:-1], columns, where)
            raise

    def _table_names(self) -> List[str]:
        rows = ask_json(["query", *self.paths, "--format", "json", "--file", "-"], given="SHOW TABLES")
        return [row["name"] for row in rows["tables"][0]["rows"]]

    def view(
        self,
        name: str,
        filters: Sequence[str] = (),
        from_time: Optional[str] = None,
        to_time: Optional[str] = None,
    ) -> RowsTable:
        """A table of ``gpuprof report --view``, such as ``cuda_gpu_kern_sum`` or ``cuda_api_sum:base``.

        ``filters``, ``from_time`` and ``to_time`` choose rows as ``--filter``, ``--from`` and ``--to`` do.

        Raises :class:`gpuprof.Error` if there is no such view; the text lists those that there are.
        """
        arguments = ["report", *self.paths, "--quiet", "--format", "json", "--view", name]
        for condition in filters:
            arguments += ["--filter", condition]
        for option, value in (("--from", from_time), ("--to", to_time)):
            if value is not None:
                arguments += [option, value]
        document = ask_json(arguments)
        notes = [note["text"] for note in document["notes"]]
        warn(notes)
        if not document["tables"]:
            return RowsTable(name, name, [], notes)
        table = document["tables"][0]
        return RowsTable(table["name"], table["title"], table["rows"], notes)

    def insights(self) -> RowsTable:
        """What costs the most time, with evidence, a query that shows it, and advice: a row for each finding, the one
        with the most to gain first."""
        return self.view("insights")

    def timeline(self, height: int = 600) -> "Page":
        """The interactive timeline, which a notebook shows. ``height`` is in pixels; :meth:`Page.save` writes a file.

        All of it is put into the notebook: for a large trace ``gpuprof timeline --serve`` serves better.
        """
        page = ask(["timeline", *self.paths, "--quiet", "--format", "html", "--output", "-"])
        return Page(page.output.decode(), height)

    def picture(self, width: int = PICTURE_WIDTH, rows: int = PICTURE_ROWS) -> str:
        """A picture of the timeline, as the text of an SVG. ``width`` is in pixels, ``rows`` about how many it has."""
        size = ["--width", str(width), "--rows", str(rows)]
        answer = ask(["timeline", *self.paths, "--quiet", "--format", "svg", *size, "--output", "-"])
        return answer.output.decode()

    def __repr__(self) -> str:
        return f"<gpuprof.Trace {', '.join(self.paths)}: {self._counts()}>"

    def _counts(self) -> str:
        activity = ["kernel", "memcpy", "memset", "api", "range"]
        counts = [f"{self.tables[name]:,} rows of {name}" for name in activity if name in self.tables]
        return ", ".join(counts) or "no activity"

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(', '.join(self.paths))}</b><br>{html.escape(self._counts())}</p>"]
        parts += [f"<p>{html.escape(note)}</p>" for note in self.notes]
        try:
            # An image of its own: the style of an SVG inside a page would be that of the whole page.
            picture = base64.b64encode(self.picture().encode()).decode()
            parts.append(f"<img alt='timeline' style='max-width:100%' src='data:image/svg+xml;base64,{picture}'>")
        except Error as error:
            parts.append(f"<p>{html.escape(str(error))}</p>")
        if self.tables.get("kernel"):
            shown = ["total_ns", "share", "count", "name"]
            query = f"SELECT {', '.join(shown)} FROM kernels_by_name ORDER BY total_ns DESC LIMIT {SUMMARY_KERNELS}"
            parts.append(self.sql(query)._repr_html_())
        return f"<div class='gpuprof'>{''.join(parts)}</div>"


class Page:
    """The timeline as a page."""

    def __init__(self, text: str, height: int) -> None:
        self.html = text
        self.height = height

    def save(self, path: PathLike) -> Path:
        """Writes the page to a file, which every browser opens, and returns its path."""
        saved = Path(path)
        saved.write_text(self.html, encoding="utf-8")
        return saved

    def __repr__(self) -> str:
        return f"<gpuprof.Page of {len(self.html):,} characters>"

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f"<iframe srcdoc=\"{page}\" style='width:100%;height:{self.height}px;border:0'></iframe>"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
