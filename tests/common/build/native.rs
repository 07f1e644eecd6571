//! The story as our own trace.

use super::*;

/// How a native trace is cut into frames.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    pub rows_per_frame: usize,
    pub close: bool,
    /// The process is the launcher, which looked from outside.
    pub launcher: bool,
    pub host: &'static str,
    pub write: WriteOptions,
}

impl Default for Native {
    fn default() -> Self {
        Native {
            rows_per_frame: usize::MAX,
            close: true,
            launcher: false,
            host: "node7",
            write: WriteOptions::default(),
        }
    }
}

/// The story as a native trace.
pub fn native(story: &Story) -> Vec<u8> {
    native_with(story, Native::default())
}

/// The story as a native trace, cut as asked.
pub fn native_with(story: &Story, options: Native) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, story, options);
    writer.kernels(&story.kernels);
    writer.rest(story);
    if options.close {
        writer.close();
    }
    file
}

/// Writes a native trace piece by piece.
pub struct NativeWriter<W: Output> {
    pub writer: TraceWriter<W>,
    options: Native,
    strings: BTreeMap<Vec<u8>, u32>,
    new_strings: Vec<StringRow>,
    shapes: BTreeMap<(u32, [i64; 3], [i64; 3]), u32>,
    new_shapes: Vec<ShapeRow>,
}

impl<W: Output> NativeWriter<W> {
    /// Writes the header, the process, its clocks, devices and threads.
    pub fn begin(output: W, story: &Story, options: Native) -> Self {
        let id = story.pid as u8;
        let header = FileHeader {
            file_id: std::array::from_fn(|i| id ^ (i * 29 % 251) as u8),
            ..FileHeader::new("gpuprof 0.1.0", EPOCH)
        };
        let writer = TraceWriter::create(output, &header, options.write).expect("a header");
        let mut this = NativeWriter {
            writer,
            options,
            strings: BTreeMap::new(),
            new_strings: Vec::new(),
            shapes: BTreeMap::new(),
            new_shapes: Vec::new(),
        };
        let mut process = json!({"pid": story.pid, "argv": ["./app"], "host": options.host});
        if let Some((rank, world)) = story.rank {
            process["rank"] = rank.into();
            process["world_size"] = world.into();
        }
        if options.launcher {
            process["role"] = "launcher".into();
        }
        this.writer.write_json(&PROCESS, &process).expect("a process");
        if let Some(epoch) = story.epoch {
            let clock = ClockRow { trace_ns: 5_000, unix_ns: 5_000 + epoch, monotonic_ns: 17, provisional: false };
            this.rows(vec![clock]);
        }
        let devices = story.devices.iter().enumerate();
        let devices: Vec<DeviceRow> = devices
            .map(|(device, name)| DeviceRow {
                device: device as u32,
                name_id: this.string(name.as_bytes()),
                compute_major: Some(7),
                compute_minor: Some(0),
                multiprocessors: Some(80),
                memory_bytes: Some(34_000_000_000),
                // 2 TB/s: copies within the memory take half of it.
                memory_bandwidth_kb_per_s: Some(2_000_000_000),
                ..DeviceRow::default()
            })
            .collect();
        let threads: Vec<ThreadRow> = story
            .threads
            .iter()
            .map(|(tid, name)| ThreadRow { tid: *tid, name_id: this.string(name.as_bytes()) })
            .collect();
        this.define();
        this.rows(devices);
        this.rows(threads);
        this
    }

    /// The id of a name; [`NativeWriter::define`] writes it.
    pub fn string(&mut self, bytes: &[u8]) -> u32 {
        if let Some(id) = self.strings.get(bytes) {
            return *id;
        }
        let id = self.strings.len() as u32 + 1;
        self.strings.insert(bytes.to_vec(), id);
        self.new_strings.push(StringRow { id, bytes: bytes.to_vec() });
        id
    }

    /// Writes the names and shapes that are new.
    pub fn define(&mut self) {
        let strings = std::mem::take(&mut self.new_strings);
        self.rows(strings);
        let shapes = std::mem::take(&mut self.new_shapes);
        self.rows(shapes);
    }

    /// Writes rows of any table.
    pub fn rows<R: Row>(&mut self, rows: Vec<R>) {
        let mut builder = R::Builder::default();
        for row in rows {
            builder.push(row);
            if builder.len() >= self.options.rows_per_frame {
                self.writer.write_batch(&builder.take()).expect("a frame");
            }
        }
        if !builder.is_empty() {
            self.writer.write_batch(&builder.take()).expect("a frame");
        }
    }

    pub fn kernels(&mut self, kernels: &[Kernel]) {
        let rows: Vec<KernelRow> = kernels
            .iter()
            .map(|k| {
                let name_id = self.string(&k.name.mangled);
                let next = self.shapes.len() as u32 + 1;
                let id = *self.shapes.entry((name_id, k.grid, k.block)).or_insert(next);
                if id == next {
                    let [grid_x, grid_y, grid_z] = k.grid.map(Some);
                    let [block_x, block_y, block_z] = k.block.map(Some);
                    self.new_shapes.push(ShapeRow {
                        id,
                        name_id,
                        grid_x,
                        grid_y,
                        grid_z,
                        block_x,
                        block_y,
                        block_z,
                        registers: Some(32),
                        ..ShapeRow::default()
                    });
                }
                KernelRow {
                    start_ns: k.start,
                    duration_ns: valid_duration(k.start, k.end),
                    shape_id: id,
                    device: k.device,
                    context: k.context,
                    stream: k.stream,
                    correlation: k.correlation,
                    ..KernelRow::default()
                }
            })
            .collect();
        self.define();
        self.rows(rows);
    }

    /// Everything but kernels.
    pub fn rest(&mut self, story: &Story) {
        let copies = story.copies.iter().map(|c| MemcpyRow {
            start_ns: c.start,
            duration_ns: valid_duration(c.start, c.end),
            kind: c.kind,
            src_kind: c.memories().0,
            dst_kind: c.memories().1,
            bytes: c.bytes,
            device: c.device,
            context: c.context,
            stream: c.stream,
            correlation: c.correlation,
            ..MemcpyRow::default()
        });
        self.rows(copies.collect());
        let fills = story.fills.iter().map(|f| MemsetRow {
            start_ns: f.start,
            duration_ns: valid_duration(f.start, f.end),
            bytes: f.bytes,
            mem_kind: 3,
            device: f.device,
            context: f.context,
            stream: f.stream,
            correlation: f.correlation,
            ..MemsetRow::default()
        });
        self.rows(fills.collect());
        let calls: Vec<ApiRow> = story
            .calls
            .iter()
            .map(|c| ApiRow {
                start_ns: c.start,
                duration_ns: valid_duration(c.start, c.end),
                domain: c.function.2,
                cbid: c.function.1,
                name_id: self.string(c.function.0.as_bytes()),
                tid: c.tid,
                correlation: c.correlation,
                result: Some(0),
            })
            .collect();
        self.define();
        self.rows(calls);
        let ranges: Vec<RangeRow> = story
            .ranges
            .iter()
            .enumerate()
            .map(|(i, r)| RangeRow {
                start_ns: r.start,
                end_ns: r.end,
                style: r.style,
                range_id: i as u64 + 1,
                domain_id: r.domain.as_ref().map(|d| self.string(d.as_bytes())),
                name_id: self.string(r.name.as_bytes()),
                tid: r.tid,
                ..RangeRow::default()
            })
            .collect();
        self.define();
        self.rows(ranges);
        let migrations = story.migrations.iter().map(|m| UvmRow {
            start_ns: m.start,
            duration_ns: m.end.and_then(|end| valid_duration(m.start, end)),
            kind: m.kind,
            value: m.value,
            address: 0x7000_0000,
            src_device: m.src,
            dst_device: m.dst,
            ..UvmRow::default()
        });
        self.rows(migrations.collect());
        let losses = story.losses.iter().map(|&(rows, cause)| LossRow { rows, cause, ..LossRow::default() });
        self.rows(losses.collect());
    }

    pub fn close(&mut self) {
        self.writer.finish(&json!({})).expect("the end");
    }
}
