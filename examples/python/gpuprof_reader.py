"""Opens a .gpuprof trace as Arrow tables, with pyarrow alone.

    import gpuprof_reader
    trace = gpuprof_reader.Trace("run.gpuprof")
    kernels = trace.table("kernel", names=True, shapes=True, unix=True)
    kernels.to_pandas().groupby("name").duration_ns.sum()
    trace.table("memcpy", words=True).to_pandas().groupby("kind_name").bytes.sum()

A trace is a file header and then frames: 64 bytes of header and a payload, which for a table with columns is a small
Parquet file of its own. Cut out, any Parquet library opens it. trace-format/FORMAT.md says what every byte and column
means; this file is that document in Python, and reads what it says is a trace: any prefix of a file, damaged files too.

`python gpuprof_reader.py run.gpuprof` lists the tables; with a table's name behind it, the first rows of that one.
"""

import json
import struct
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MAGIC = b"GPUPROF\n"
MAJOR = 1
PREFIX_BYTES = 48
HEADER_BYTES = 64
MAX_ROWS = 65536
MAX_PAYLOAD_BYTES = 64 << 20
FLAG_JSON, FLAG_REPEAT = 2, 4

# Written from the registry by `GPUPROF_BLESS=1 cargo test -p gpuprof --test exports`.
# BEGIN TABLES
NUMBERS = {
    1: "process",
    2: "string",
    3: "shape",
    4: "device",
    5: "context",
    6: "stream",
    7: "thread",
    16: "kernel",
    17: "memcpy",
    18: "memset",
    19: "api",
    20: "sync",
    21: "overhead",
    22: "graph",
    23: "memory",
    24: "uvm",
    25: "event",
    26: "external",
    27: "jit",
    28: "openacc",
    29: "openmp",
    30: "range",
    40: "capture",
    41: "loss",
    42: "clock",
    43: "note",
    44: "sample",
    8: "frame",
    9: "stack",
    31: "cpu_sample",
    32: "launch_stack",
    33: "host_call",
    34: "foreign",
    35: "details",
    60: "index",
    61: "closed",
}
DEFINITIONS = {"string", "shape", "device", "context", "stream", "thread", "frame", "stack"}
COLUMNS = {
    "string": "id:u32:key bytes:bytes:",
    "shape": "id:u32:key name_id:u32:string grid_x:i64:count grid_y:i64:count grid_z:i64:count block_x:i64:count block_y:i64:count block_z:i64:count cluster_x:i64:count cluster_y:i64:count cluster_z:i64:count registers:i64:count static_smem_bytes:i64:bytes dynamic_smem_bytes:i64:bytes local_mem_per_thread_bytes:i64:bytes local_mem_total_bytes:i64:bytes demangled_id:u32:string base_id:u32:string",
    "device": "device:u32:key name_id:u32:string compute_major:u32: compute_minor:u32: multiprocessors:i64:count core_clock_khz:i64: memory_bytes:i64:bytes memory_bandwidth_kb_per_s:i64: l2_cache_bytes:i64:bytes max_warps_per_multiprocessor:i64:count uuid:bytes: pci_bus_id:bytes:",
    "context": "context:u32:key device:u32:device api_kind:u32:code=compute_api null_stream:u32:stream parent_context:u32:context",
    "stream": "context:u32:context stream:u32:key priority:i64: flag:u32:code=stream_flag name_id:u32:string",
    "thread": "tid:u32:key name_id:u32:string",
    "kernel": "start_ns:i64:time duration_ns:i64:length shape_id:u32:shape device:u32:device context:u32:context stream:u32:stream correlation:u64:api graph_id:u32:id graph_node_id:u64:id queued_ns:i64:time submitted_ns:i64:time channel:u32:id priority:i64: flags:u32:code",
    "memcpy": "start_ns:i64:time duration_ns:i64:length kind:u32:code=memcpy_kind src_kind:u32:code=memory_kind dst_kind:u32:code=memory_kind bytes:i64:bytes device:u32:device context:u32:context stream:u32:stream src_device:u32:device dst_device:u32:device src_context:u32:context dst_context:u32:context correlation:u64:api graph_id:u32:id graph_node_id:u64:id flags:u32:code channel:u32:id",
    "memset": "start_ns:i64:time duration_ns:i64:length value:u32: bytes:i64:bytes mem_kind:u32:code=memory_kind device:u32:device context:u32:context stream:u32:stream correlation:u64:api graph_id:u32:id graph_node_id:u64:id flags:u32:code",
    "api": "start_ns:i64:time duration_ns:i64:length domain:u32:code=api_domain cbid:u32:code name_id:u32:string tid:u32:thread correlation:u64:key result:u32:code",
    "sync": "start_ns:i64:time duration_ns:i64:length kind:u32:code=sync_kind context:u32:context stream:u32:stream event:u32:id correlation:u64:api result:u32:code",
    "overhead": "start_ns:i64:time duration_ns:i64:length kind:u32:code=overhead_kind tid:u32:thread correlation:u64:api",
    "graph": "start_ns:i64:time duration_ns:i64:length graph_id:u32:id device:u32:device context:u32:context stream:u32:stream correlation:u64:api",
    "memory": "start_ns:i64:time operation:u32:code=memory_operation mem_kind:u32:code=memory_kind address:u64: bytes:i64:bytes device:u32:device context:u32:context stream:u32:stream correlation:u64:api name_id:u32:string",
    "uvm": "start_ns:i64:time duration_ns:i64:length kind:u32:code=uvm_kind value:i64: address:u64: src_device:u32:device dst_device:u32:device stream:u32:stream flags:u32:code pc:u64:",
    "event": "start_ns:i64:time event:u32:id context:u32:context stream:u32:stream correlation:u64:api",
    "external": "correlation:u64:api external_kind:u32:code=external_kind external_id:u64:id",
    "jit": "start_ns:i64:time duration_ns:i64:length kind:u32:code=jit_kind operation:u32:code=jit_operation device:u32:device correlation:u64:api cache_bytes:i64:bytes",
    "openacc": "start_ns:i64:time duration_ns:i64:length kind:u32:code=openacc_kind parent_construct:u32:code=openacc_construct tid:u32:thread line:i64: file_id:u32:string function_id:u32:string variable_id:u32:string bytes:i64:bytes implicit:bool: external_id:u32:id device:u32:device context:u32:context stream:u32:stream",
    "openmp": "start_ns:i64:time duration_ns:i64:length kind:u32:code=openmp_kind tid:u32:thread",
    "range": "start_ns:i64:time end_ns:i64:time style:u32:code=range_style range_id:u64:id domain_id:u32:string name_id:u32:string category:u32: color:u32: payload_i64:i64: payload_f64:f64: tid:u32:thread",
    "capture": "start_ns:i64:time end_ns:i64:time first_correlation:u64:id last_correlation:u64:id starts:i64:count stops:i64:count excluded_rows:i64:count",
    "loss": "start_ns:i64:time end_ns:i64:time rows:i64:count cause:u32:code=loss_cause detail_id:u32:string",
    "clock": "trace_ns:i64:time unix_ns:i64:time monotonic_ns:i64:time provisional:bool:",
    "note": "start_ns:i64:time text_id:u32:string detail_id:u32:string",
    "sample": "start_ns:i64:time metric_id:u32:string device:u32:device value:f64: of_pid:u32:id",
    "frame": "id:u32:key name_id:u32:string file_id:u32:string line:i64:count kind:u32:code=frame_kind",
    "stack": "id:u32:key parent_id:u32:stack frame_id:u32:frame",
    "cpu_sample": "start_ns:i64:time of_pid:u32:id tid:u32:thread stack_id:u32:stack weight_ns:i64:length flags:u32:code",
    "launch_stack": "correlation:u64:api stack_id:u32:stack",
    "host_call": "start_ns:i64:time duration_ns:i64:length domain:u32:code=host_call_domain kind:u32:code=mpi_kind name_id:u32:string tid:u32:thread returned:i64:",
    "foreign": "start_ns:i64:time duration_ns:i64:length form:u32:code=foreign_form category_name_id:u32:string name_id:u32:string device:u32:device stream:u32:stream tid:u32:thread arrow:u64:id arguments_id:u32:string",
    "details": "start_ns:i64:time duration_ns:i64:length of_table:u32:code of_id:u64:id tid:u32:thread name_id:u32:string event_index:i64: sequence:i64: torch_id:i64:id parent_id:i64:id arguments_id:u32:string",
}
WORDS = {
    "api_domain": {0: "runtime", 1: "driver"},
    "compute_api": {0: "unknown", 1: "CUDA", 2: "CUDA under MPS"},
    "external_kind": {0: "invalid", 1: "unknown", 2: "openacc", 3: "custom 0", 4: "custom 1", 5: "custom 2"},
    "foreign_form": {0: "slice", 1: "mark", 2: "arrow begins", 3: "arrow passes", 4: "arrow ends"},
    "frame_kind": {0: "Python", 1: "native"},
    "host_call_domain": {2: "OS runtime", 3: "MPI"},
    "jit_kind": {0: "invalid", 1: "PTX to cubin", 2: "NVVM IR to PTX"},
    "jit_operation": {0: "invalid", 1: "cache load", 2: "cache store", 3: "compile"},
    "loss_cause": {1: "queue full", 2: "CUPTI dropped them", 3: "unknown record kind", 4: "names full", 5: "disk full", 6: "size limit", 7: "CUPTI taken over", 8: "flush deadline missed"},
    "memcpy_kind": {0: "unknown", 1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "unified HtoD", 12: "unified DtoH", 13: "unified DtoD"},
    "memory_kind": {0: "unknown", 1: "pageable", 2: "pinned", 3: "device", 4: "array", 5: "managed", 6: "device static", 7: "managed static"},
    "memory_operation": {0: "invalid", 1: "allocation", 2: "release", 17: "pool creation", 18: "pool destruction", 19: "pool trim"},
    "mpi_kind": {1: "p2p", 2: "collectives", 3: "start/wait", 4: "other"},
    "openacc_construct": {0: "unknown", 1: "parallel", 2: "kernels", 3: "loop", 4: "data", 5: "enter data", 6: "exit data", 7: "host data", 8: "atomic", 9: "declare", 10: "init", 11: "shutdown", 12: "set", 13: "update", 14: "routine", 15: "wait", 16: "runtime api"},
    "openacc_kind": {0: "invalid", 1: "device_init", 2: "device_shutdown", 3: "runtime_shutdown", 4: "enqueue_launch", 5: "enqueue_upload", 6: "enqueue_download", 7: "wait", 8: "implicit_wait", 9: "compute_construct", 10: "update", 11: "enter_data", 12: "exit_data", 13: "create", 14: "delete", 15: "alloc", 16: "free"},
    "openmp_kind": {0: "invalid", 1: "parallel", 2: "task", 3: "thread", 4: "idle", 5: "wait barrier", 6: "wait taskwait"},
    "overhead_kind": {0: "unknown", 1: "driver compiler", 65536: "buffer flush", 131072: "instrumentation", 196608: "resource", 262144: "module loading", 327680: "lazy function loading", 393216: "command buffer full", 458752: "activity buffer request", 524288: "unified memory activity"},
    "range_style": {0: "push/pop", 1: "start/end", 2: "mark", 3: "operator", 4: "annotation", 5: "Python function"},
    "stream_flag": {0: "unknown", 1: "default", 2: "non-blocking", 3: "null"},
    "sync_kind": {0: "unknown", 1: "event", 2: "stream wait event", 3: "stream", 4: "context"},
    "uvm_kind": {0: "unknown", 1: "bytes HtoD", 2: "bytes DtoH", 3: "CPU page faults", 4: "GPU page faults", 5: "thrashing", 6: "throttling", 7: "remote map", 8: "bytes DtoD"},
}
# END TABLES

TYPES = {
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "i64": pa.int64(),
    "f64": pa.float64(),
    "bool": pa.bool_(),
    "bytes": pa.binary(),
}


class Column:
    """A column of the format: its name, its Arrow type, its unit ("time" and "length" in nanoseconds, "bytes", "string",
    "shape", ...), and what its numbers mean if they are codes."""

    def __init__(self, text):
        self.name, kind, unit = text.split(":")
        self.unit, _, vocabulary = unit.partition("=")
        self.type = TYPES[kind]
        self.words = WORDS.get(vocabulary)


def columns_of(table):
    """The columns of a table of the format, in order."""
    return [Column(text) for text in COLUMNS[table].split()]


class NotATrace(Exception):
    """The file is no trace, or one that needs a newer reader."""


class Frame:
    """Where a frame is, and what its header says."""

    __slots__ = ("offset", "table", "flags", "rows", "payload_len", "payload_crc", "seq", "first_row", "min_start_ns", "max_end_ns")

    def __init__(self, offset, header):
        self.offset = offset
        fields = struct.unpack("<HHIIIQQqq", header[8:56])
        (self.table, self.flags, self.rows, self.payload_len, self.payload_crc) = fields[:5]
        (self.seq, self.first_row, self.min_start_ns, self.max_end_ns) = fields[5:]

    @property
    def end(self):
        """Where the next frame begins."""
        return self.offset + HEADER_BYTES + (self.payload_len + 7) // 8 * 8


class Trace:
    """One trace file.

    header: the JSON of the file header. process: who was recorded. closed: whether the file was closed in order.
    problems: what was damaged, in words; rows there are missing. unix_offset_ns: what to add to times to get Unix
    nanoseconds, None if the trace does not know.
    """

    def __init__(self, path, check=False):
        """Opens `path`. With `check`, checksums of payloads are compared too, which takes Python minutes per GB."""
        self.path = str(path)
        self.check = check
        self.problems = []
        self.closed = False
        self.process = {}
        self._file = open(path, "rb")
        self._size = self._file.seek(0, 2)
        self._strings = None
        self._shapes = None
        self._read_header()
        self._frames = {}
        self._read_frames()
        self.unix_offset_ns = self._unix_offset()

    def close(self):
        """Closes the file."""
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ------------------------------------------------------------------------------------------------ the file

    def _pread(self, offset, length):
        self._file.seek(offset)
        return self._file.read(length)

    def _read_header(self):
        prefix = self._pread(0, PREFIX_BYTES)
        if prefix[:8] != MAGIC:
            raise NotATrace(f"{self.path}: no gpuprof trace")
        if len(prefix) < PREFIX_BYTES or crc32c(prefix[:44]) != struct.unpack("<I", prefix[44:48])[0]:
            raise NotATrace(f"{self.path}: the file header is damaged or incomplete")
        self.version = struct.unpack("<HH", prefix[8:12])
        if self.version[0] != MAJOR:
            raise NotATrace(
                f"{self.path}: trace of version {self.version[0]}.{self.version[1]}, this reader knows {MAJOR}.x: "
                "take the gpuprof_reader.py of a newer gpuprof"
            )
        self._first = struct.unpack("<I", prefix[12:16])[0]
        self.file_id = prefix[16:32]
        self._marker = bytes([prefix[16] | 0x80]) + prefix[17:24]
        length, checksum = struct.unpack("<II", prefix[32:40])
        text = self._pread(PREFIX_BYTES, min(length, self._size))
        if crc32c(text) != checksum:
            raise NotATrace(f"{self.path}: the file header is damaged or incomplete")
        self.header = json.loads(text)

    def _frame_at(self, offset):
        """The frame whose header stands at `offset`; None where there is none, or none that can be trusted."""
        header = self._pread(offset, HEADER_BYTES)
        if len(header) < HEADER_BYTES or header[:8] != self._marker:
            return None
        if crc32c(header[:60]) != struct.unpack("<I", header[60:64])[0]:
            return None
        frame = Frame(offset, header)
        return frame if frame.payload_len <= MAX_PAYLOAD_BYTES and frame.rows <= MAX_ROWS else None

    def _read_frames(self):
        """Hops from header to header; past damage, to the next header with a higher sequence number."""
        offset, seq = self._first, -1
        while offset + HEADER_BYTES <= self._size:
            frame = self._frame_at(offset)
            if frame is None or frame.seq <= seq:
                if self.closed:
                    return  # the trailer
                found = self._next_frame(offset + 8, seq)
                upto = self._size if found is None else found.offset
                self.problems.append(f"damaged at byte {offset} ({upto - offset} bytes)")
                if found is None:
                    return
                frame = found
            if frame.offset + HEADER_BYTES + frame.payload_len > self._size:
                return  # a frame that was being written
            seq, offset = frame.seq, frame.end
            name = NUMBERS.get(frame.table)
            if frame.flags & FLAG_JSON:
                if name == "closed":
                    self.closed = True
                if name == "process":
                    payload = self._payload(frame)
                    if payload is not None:
                        self.process = json.loads(payload)
            elif name is not None:  # a table of a newer minor version is passed over
                self._frames.setdefault(name, []).append(frame)

    def _next_frame(self, offset, seq):
        """The first header with a sequence number above `seq` at or after `offset`."""
        offset = (offset + 7) // 8 * 8
        while offset < self._size:
            chunk = self._pread(offset, 1 << 20)
            at = chunk.find(self._marker)
            while at >= 0:
                if at % 8 == 0:
                    frame = self._frame_at(offset + at)
                    if frame is not None and frame.seq > seq:
                        return frame
                at = chunk.find(self._marker, at + 1)
            offset += len(chunk) - len(chunk) % 8 if len(chunk) >= 8 else 8
        return None

    def _payload(self, frame):
        payload = self._pread(frame.offset + HEADER_BYTES, frame.payload_len)
        if (self.check or frame.flags & FLAG_JSON) and crc32c(payload) != frame.payload_crc:
            self.problems.append(f"{NUMBERS.get(frame.table)}: payload damaged at byte {frame.offset}")
            return None
        return payload

    # ------------------------------------------------------------------------------------------------ tables

    def tables(self):
        """Names of the tables that have rows, and how many."""
        return {name: sum(f.rows for f in self._whole(frames)) for name, frames in self._frames.items()}

    @staticmethod
    def _whole(frames):
        return [frame for frame in frames if not frame.flags & FLAG_REPEAT]

    def batches(self, name, columns=None):
        """The rows of a table, one Arrow table per frame: memory stays that of one frame. `columns`: names, all if
        None. Columns that a frame leaves out, because every row is null, are filled in."""
        specs = [c for c in columns_of(name) if columns is None or c.name in columns]
        unknown = set(columns or []) - {c.name for c in specs}
        if unknown:
            raise KeyError(f"table {name} has no column {', '.join(sorted(unknown))}")
        seen = []
        for frame in self._frames.get(name, []):
            # Definitions are repeated, so that a damaged frame of them is made good by the next repetition.
            missing = _minus(frame.first_row, frame.first_row + frame.rows, seen)
            if not missing:
                continue
            batch = self._decode(frame, specs)
            if batch is None:
                continue
            for begin, end in missing:
                yield batch.slice(begin - frame.first_row, end - begin)
            if frame.flags & FLAG_REPEAT or name in DEFINITIONS:
                seen.extend(missing)

    def _decode(self, frame, specs):
        payload = self._payload(frame)
        if payload is None:
            return None
        try:
            file = pq.ParquetFile(pa.BufferReader(payload))
            present = [c.name for c in specs if c.name in file.schema_arrow.names]
            read = file.read(columns=present) if present else None
        except (pa.ArrowException, OSError) as error:
            self.problems.append(f"frame at byte {frame.offset} cannot be decoded: {error}")
            return None
        arrays = [
            read.column(c.name).cast(c.type) if c.name in present else pa.nulls(frame.rows, c.type) for c in specs
        ]
        if any(len(array) != frame.rows for array in arrays):
            self.problems.append(f"frame at byte {frame.offset} has not the {frame.rows} rows it promises")
            return None
        return pa.table(dict(zip([c.name for c in specs], arrays)))

    def table(self, name, columns=None, names=False, shapes=False, unix=False, words=False):
        """All rows of a table as one Arrow table.

        columns: which, all if None. names: adds text beside every id that names something (`name` beside `name_id`).
        shapes: adds grid, block, registers and the like beside `shape_id`. unix: makes times Unix nanoseconds.
        words: adds what a code means beside it (`kind_name` beside `kind`).
        Kernel names are as CUPTI gave them, mangled; `gpuprof query` demangles.
        """
        specs = [c for c in columns_of(name) if columns is None or c.name in columns]
        schema = pa.schema([(c.name, c.type) for c in specs])
        parts = list(self.batches(name, columns))
        table = pa.concat_tables(parts) if parts else schema.empty_table()
        if unix and name != "clock":
            table = self._as_unix(table, specs)
        for spec in specs:
            if names and spec.unit == "string":
                table = self._add(table, spec.name[: -len("_id")], self.strings(table[spec.name]))
            if spec.unit == "shape" and (names or shapes):
                table = self._with_shape(table, spec.name, names, shapes)
            if words and spec.words:
                table = self._add(table, f"{spec.name}_name", words_of(table[spec.name], spec.words))
        return table

    def _as_unix(self, table, specs):
        if self.unix_offset_ns is None:
            raise ValueError(f"{self.path}: the trace does not know Unix time; leave out unix=True")
        for spec in specs:
            if spec.unit == "time":
                at = table.schema.get_field_index(spec.name)
                table = table.set_column(at, spec.name, pc.add(table[spec.name], self.unix_offset_ns))
        return table

    @staticmethod
    def _add(table, name, column):
        # A column of that name is the file's own; it stays.
        return table if name in table.column_names else table.append_column(name, column)

    def _with_shape(self, table, column, names, shapes):
        if self._shapes is None:
            self._shapes = self.table("shape")
        rows = pc.index_in(table[column], value_set=self._shapes["id"].combine_chunks())
        if names:
            table = self._add(table, "name", self.strings(self._shapes["name_id"].take(rows)))
        if shapes:
            for spec in columns_of("shape"):
                if spec.unit in ("count", "bytes"):
                    table = self._add(table, spec.name, self._shapes[spec.name].take(rows))
        return table

    def strings(self, ids):
        """Text for a column of name ids; null where an id names nothing. Bytes that are no UTF-8 are replaced."""
        if self._strings is None:
            rows = self.table("string")
            texts = [bytes.decode("utf-8", "replace") for bytes in rows["bytes"].to_pylist()]
            self._strings = (rows["id"].combine_chunks(), pa.array(texts, pa.large_string()))
        known, texts = self._strings
        return texts.take(pc.index_in(ids, value_set=known).combine_chunks()) if len(ids) else pa.nulls(0, pa.large_string())

    def _unix_offset(self):
        clocks = self.table("clock").to_pylist()
        settled = [clock for clock in clocks if not clock["provisional"]] or clocks[-1:]
        return settled[0]["unix_ns"] - settled[0]["trace_ns"] if settled else None


def words_of(codes, words):
    """The words for a column of codes; a code that no word is known of is its number."""
    if not len(codes):
        return pa.nulls(0, pa.string())
    known, texts = pa.array(list(words), codes.type), pa.array(list(words.values()), pa.string())
    return pc.coalesce(pc.take(texts, pc.index_in(codes, value_set=known)), pc.cast(codes, pa.string()))


def _minus(begin, end, seen):
    """What of begin..end is in none of the ranges `seen`."""
    missing = [(begin, end)]
    for low, high in seen:
        missing = [
            piece
            for first, last in missing
            for piece in ((first, min(last, low)), (max(first, high), last))
            if piece[0] < piece[1]
        ]
    return missing


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def crc32c(data):
    """CRC-32C (Castagnoli), as the format uses it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit("usage: gpuprof_reader.py TRACE [TABLE]")
    try:
        trace = Trace(arguments[0])
    except (NotATrace, OSError) as error:
        sys.exit(f"gpuprof_reader: {error}")
    if len(arguments) == 2:
        if arguments[1] not in COLUMNS:
            sys.exit(f"gpuprof_reader: no table {arguments[1]}; there are {', '.join(COLUMNS)}")
        print(trace.table(arguments[1], names=True, shapes=True).slice(0, 20).to_string(preview_cols=100))
    else:
        for name, rows in trace.tables().items():
            print(f"{name:<10} {rows:>12}")
    for problem in trace.problems:
        print(f"gpuprof_reader: {trace.path}: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
