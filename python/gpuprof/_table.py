"""Answers as tables, for whichever of polars, pyarrow and pandas is installed, or none of them."""

import html
import importlib
import importlib.util
import mmap
import os
import tempfile
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from ._errors import missing_package

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Rows that a notebook shows.
SHOWN_ROWS = 20

#: Names of kernels are long: they are broken, so that the numbers beside them are seen, but into no shorter lines.
TEXT_CHARACTERS = 24
TEXT_STYLE = "text-align:left;vertical-align:top;max-width:36em;overflow-wrap:anywhere"

#: One row: values by the name of their column.
Row = Dict[str, Any]


def _package(name: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing_package(name.split(".")[0], what) from error


def _first_package(names: Sequence[str]) -> Optional[str]:
    return next((name for name in names if importlib.util.find_spec(name)), None)


class Table:
    """A table of any columns: rows of :meth:`gpuprof.Trace.table`, of a query, or of a view.

    Times, durations and sizes are whole numbers in base units (nanoseconds, bytes), which their names or headings say.
    Other libraries take a table over through the Arrow PyCapsule interface: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``duckdb.sql("SELECT * FROM table")``.
    """

    #: What of the trace is missing, damaged or estimated.
    notes: List[str]

    @property
    def columns(self) -> List[str]:
        """The names of the columns, in order."""
        raise NotImplementedError

    def __len__(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    def rows(self) -> List[Row]:
        """All rows as dictionaries. Needs no package, and is slow for millions of rows."""
        raise NotImplementedError

    def to_arrow(self) -> "pyarrow.Table":
        """The table as a ``pyarrow.Table``. Raises :class:`gpuprof.MissingPackage` without pyarrow."""
        raise NotImplementedError

    def to_polars(self) -> "polars.DataFrame":
        """The table as a ``polars.DataFrame``. Raises :class:`gpuprof.MissingPackage` without polars."""
        raise NotImplementedError

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a ``pandas.DataFrame``. Raises :class:`gpuprof.MissingPackage` without pandas."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """The table through the Arrow C stream interface, by pyarrow or polars, whichever is installed."""
        name = _first_package(["pyarrow", "polars"])
        if name is None:
            raise missing_package("pyarrow", "handing a table to another library")
        made: Any = self.to_arrow() if name == "pyarrow" else self.to_polars()
        return made.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __repr__(self) -> str:
        return f"<gpuprof.Table of {len(self):,} rows: {', '.join(self.columns)}>"

    def _head(self, count: int) -> List[Row]:
        return self.rows()[:count]

    def _repr_html_(self) -> str:
        cells = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        lines = [f"<tr>{cells}</tr>"]
        for row in self._head(SHOWN_ROWS):
            cells = "".join(_cell(row.get(name)) for name in self.columns)
            lines.append(f"<tr>{cells}</tr>")
        more = len(self) - SHOWN_ROWS
        rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<div class='gpuprof'>{notes}<table>{''.join(lines)}</table>{rest}</div>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
        return f"<td style='text-align:right;vertical-align:top'>{text}</td>"
    text = str(value)
    style = f"{TEXT_STYLE};min-width:{min(len(text), TEXT_CHARACTERS)}ch"
    return f"<td style='{style}'>{html.escape(text)}</td>"


class RowsTable(Table):
    """A table that came as rows: a view."""

    def __init__(self, name: str, title: str, rows: List[Row], notes: Sequence[str]) -> None:
        self.name = name
        self.title = title
        self.notes = list(notes)
        self._rows = rows

    @property
    def columns(self) -> List[str]:
        """The headings of the view, in order; none of a view without rows."""
        return list(self._rows[0]) if self._rows else []

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> List[Row]:
        """All rows as dictionaries."""
        return list(self._rows)

    def to_arrow(self) -> "pyarrow.Table":
        """The table as a ``pyarrow.Table``."""
        pyarrow = _package("pyarrow", "Table.to_arrow()")
        return pyarrow.Table.from_pylist(self._rows)

    def to_polars(self) -> "polars.DataFrame":
        """The table as a ``polars.DataFrame``."""
        polars = _package("polars", "Table.to_polars()")
        return polars.DataFrame(self._rows, infer_schema_length=None)

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a ``pandas.DataFrame``."""
        pandas = _package("pandas", "Table.to_pandas()")
        return pandas.DataFrame(self._rows)


class ArrowTable(Table):
    """A table that the program wrote as an Arrow file, which is mapped into memory and has no name any more."""

    def __init__(self, file: "ArrowFile", notes: Sequence[str], as_json: Callable[[], List[Row]]) -> None:
        """``as_json`` asks the program for the same rows again, where no package can read the file."""
        self.notes = list(notes)
        self._file = file
        self._as_json = as_json
        self._known: Optional[Tuple[List[str], int]] = None

    def _shape(self) -> Tuple[List[str], int]:
        """Names of columns, and the number of rows."""
        if self._known is None:
            name = _first_package(["pyarrow", "polars"])
            if name == "pyarrow":
                table = self.to_arrow()
                self._known = (table.column_names, table.num_rows)
            elif name == "polars":
                frame = self.to_polars()
                self._known = (frame.columns, frame.height)
            else:
                rows = self._as_json()
                self._known = (list(rows[0]) if rows else [], len(rows))
        return self._known

    @property
    def columns(self) -> List[str]:
        """The names of the columns, in order."""
        return list(self._shape()[0])

    def __len__(self) -> int:
        return self._shape()[1]

    def rows(self) -> List[Row]:
        """All rows as dictionaries."""
        return self._first_rows(None)

    def _head(self, count: int) -> List[Row]:
        return self._first_rows(count)

    def _first_rows(self, count: Optional[int]) -> List[Row]:
        name = _first_package(["pyarrow", "polars"])
        if name == "pyarrow":
            rows: List[Row] = self.to_arrow().slice(0, count).to_pylist()
        elif name == "polars":
            rows = self.to_polars().slice(0, count).to_dicts()
        else:
            rows = self._as_json()[:count]
        return rows

    def to_arrow(self) -> "pyarrow.Table":
        """The table as a ``pyarrow.Table``, without a copy: its columns lie in the file that is mapped. Text is a
        dictionary."""
        ipc = _package("pyarrow.ipc", "Table.to_arrow()")
        pyarrow = _package("pyarrow", "Table.to_arrow()")
        return ipc.open_file(pyarrow.py_buffer(self._file.mapped())).read_all()

    def to_polars(self) -> "polars.DataFrame":
        """The table as a ``polars.DataFrame``. Text is ``Categorical``: ``.cast(polars.String)`` makes it text."""
        polars = _package("polars", "Table.to_polars()")
        if _first_package(["pyarrow"]):
            return polars.from_arrow(self.to_arrow())
        # The path of an open file: the file has no name of its own any more.
        return polars.read_ipc(self._file.path())

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a ``pandas.DataFrame``, by pyarrow. Text is a category; whole numbers with NULLs among them are
        pandas' nullable integers and not decimals, which would change times."""
        pandas = _package("pandas", "Table.to_pandas()")
        _package("pyarrow", "Table.to_pandas()")
        nullable = {
            "int64": pandas.Int64Dtype(),
            "uint32": pandas.UInt32Dtype(),
            "uint64": pandas.UInt64Dtype(),
            "bool": pandas.BooleanDtype(),
        }
        arrow = self.to_arrow()
        with_nulls = {str(c.type) for c in arrow.columns if c.null_count}
        return arrow.to_pandas(types_mapper=lambda kind: nullable.get(str(kind)) if str(kind) in with_nulls else None)


class ArrowFile:
    """A file in memory (``/dev/shm``), or where that has no room among temporary files, that goes with this object."""

    def __init__(self, size_hint: int = 0) -> None:
        folder = "/dev/shm" if _has_room("/dev/shm", size_hint) else None
        self._fd, self.name = tempfile.mkstemp(prefix="gpuprof-", suffix=".arrow", dir=folder)
        self._mapped: Optional[mmap.mmap] = None

    def settle(self) -> None:
        """Opens what was written under the name, and takes the name away: nothing is left when this process ends."""
        os.close(self._fd)
        self._fd = os.open(self.name, os.O_RDONLY | os.O_CLOEXEC)
        os.unlink(self.name)

    def discard(self) -> None:
        """Removes a file that nothing was written into."""
        os.unlink(self.name)

    def path(self) -> str:
        """A path for whoever opens files by their path."""
        return f"/proc/self/fd/{self._fd}"

    def mapped(self) -> mmap.mmap:
        """The bytes, mapped into memory once."""
        if self._mapped is None:
            self._mapped = mmap.mmap(self._fd, 0, access=mmap.ACCESS_READ)
        return self._mapped

    def __del__(self) -> None:
        try:
            os.close(self._fd)
        except (OSError, AttributeError):
            pass


def _has_room(folder: str, size: int) -> bool:
    try:
        there = os.statvfs(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and there.f_bavail * there.f_frsize > max(size, 256 << 20)
