//! Rows of our CSV files, of one table or of many.

use super::{Declared, shape};
use crate::error::{Error, Result};
use crate::exchange::flat::{FILE_ROWS, IS_LAST, ORIGIN, ROW, name_column};
use crate::import::encoding::Decoded;
use crate::import::lines::note_unended;
use crate::numbers::items;
use crate::trace::sink::{Need, ProcessInfo, Sink};
use hashbrown::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use trace_format::columns::{Batch, BytesColumn, Column, Values};
use trace_format::schema::{ColumnType, Role, TableSpec};
use trace_format::tables;

/// Rows kept open per table and process.
const BATCH_ROWS: usize = 65_536;

/// Where a file has which column.
struct Header(HashMap<String, usize>);

impl Header {
    fn at(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }
}

/// Where a column of the registry comes from.
enum From {
    Nowhere,
    /// A field that holds the value itself.
    Field(usize),
    /// A field that holds a name.
    Name(usize),
    /// The fields of a launch shape.
    Shape,
}

/// Rows of one table of one process that are not handed over yet.
struct Open {
    table: &'static TableSpec,
    sources: Vec<From>,
    rows: usize,
    values: Vec<Values>,
    validity: Vec<Vec<bool>>,
}

impl Open {
    fn new(table: &'static TableSpec, header: &Header) -> Open {
        let source = |column: &trace_format::schema::ColumnSpec| match column.unit {
            unit if unit.is_shape() => From::Shape,
            unit if unit.is_name() => header.at(name_column(column.name)).map_or(From::Nowhere, From::Name),
            _ => header.at(column.name).map_or(From::Nowhere, From::Field),
        };
        let sources = table.columns.iter().map(source).collect();
        let mut open = Open { table, sources, rows: 0, values: Vec::new(), validity: Vec::new() };
        open.clear();
        open
    }

    fn clear(&mut self) {
        self.rows = 0;
        self.values = self.table.columns.iter().map(|column| Values::defaults(column.ty, 0)).collect();
        self.validity = self.table.columns.iter().map(|_| Vec::new()).collect();
    }

    fn take(&mut self) -> Batch {
        let values = std::mem::take(&mut self.values).into_iter().zip(std::mem::take(&mut self.validity));
        let columns = values
            .map(|(values, valid)| {
                let validity = valid.iter().any(|v| !v).then_some(valid);
                Column { values, validity }
            })
            .collect();
        let mut batch = Batch { table: self.table, rows: self.rows, columns };
        super::forget_ends_of_marks(&mut batch);
        self.clear();
        batch
    }
}

/// Reads all rows of wanted tables.
///
/// # Errors
/// Fails if the file cannot be opened or has no heading. Rows that make no sense are counted and noted.
pub fn read(path: &Path, need: &Need, sink: &mut Sink, declared: &mut Declared) -> Result<()> {
    let file = File::open(path).map_err(|e| Error::at(path, format_args!("cannot be opened: {e}")))?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    let packed =
        std::io::BufRead::fill_buf(&mut file).is_ok_and(|bytes| bytes.starts_with(&super::super::GZIP_MAGIC));
    let text: Box<dyn Read> =
        if packed { Box::new(flate2::bufread::MultiGzDecoder::new(file)) } else { Box::new(file) };
    let text = Tail { input: Decoded::new(text), last: b'\n' };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let headings =
        reader.byte_headers().map_err(|e| Error::at(path, format_args!("its heading cannot be read: {e}")))?;
    let named = headings.iter().enumerate().map(|(i, name)| (String::from_utf8_lossy(name).into_owned(), i));
    let header = Header(named.collect());
    let fields = headings.len();
    let at = |wanted: &str| headings.iter().position(|name| name == wanted.as_bytes());
    let (row, is_last, file_rows) = (at(ROW), at(IS_LAST), at(FILE_ROWS));
    let mut rows = Rows {
        shape_fields: shape::COLUMNS.map(|name| header.at(name)),
        process: header.at("process"),
        table: header.at("table"),
        header,
        open: HashMap::new(),
        odd: 0,
    };
    let mut record = csv::ByteRecord::new();
    let (mut count, mut closing, mut failed) = (0u64, None, false);
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            // Every row has a value or a separator for every column: what has fewer was cut off or put together.
            Ok(true) if record.len() != fields => {
                count += 1;
                rows.odd += 1;
            }
            Ok(true) => {
                count += 1;
                let value = |at: Option<usize>| at.and_then(|at| record.get(at)).and_then(number::<u64>);
                closing = match is_last {
                    Some(_) => value(row).filter(|_| value(is_last) == Some(1)),
                    None => value(file_rows),
                };
                rows.take(&record, need, sink, declared);
            }
            Err(error) => {
                failed = true;
                let at = reader.position().byte();
                let text = format!(
                    "{}: cannot be read beyond byte {at}: {error}; what stands before is used",
                    path.display()
                );
                sink.note("incomplete-file", text);
                break;
            }
        }
    }
    let odd = rows.odd;
    let has_end = matches!(reader.get_ref().last, b'\n' | b'\r');
    rows.finish(sink, declared);
    match (is_last.or(file_rows), closing) {
        _ if failed => {}
        (Some(_), Some(written)) if written == count => {}
        (Some(_), Some(written)) => {
            let text = format!(
                "{}: {} there and {written} were written; copy it again",
                path.display(),
                items(count, "row is", "rows are")
            );
            sink.note("cut-off-file", text);
        }
        (Some(_), None) => {
            let text = format!(
                "{}: cut off behind row {count}: the last row does not say that it is the last; copy it again",
                path.display()
            );
            sink.note("cut-off-file", text);
        }
        // Exports of older versions do not say how many rows they have.
        (None, _) if has_end => {}
        (None, _) => note_unended(path, count + 1, sink),
    }
    if odd > 0 {
        let text = format!(
            "{}: {} left out: a value is missing or is not a number, or the table is not known",
            path.display(),
            items(odd, "row is", "rows are")
        );
        sink.note("unreadable-rows", text);
    }
    Ok(())
}

/// Remembers the last byte of a text.
struct Tail<R> {
    input: R,
    last: u8,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(buffer)?;
        if let Some(&last) = buffer[..count].last() {
            self.last = last;
        }
        Ok(count)
    }
}

/// All rows being read.
struct Rows {
    header: Header,
    shape_fields: [Option<usize>; shape::COLUMNS.len()],
    process: Option<usize>,
    table: Option<usize>,
    open: HashMap<(u32, u16), Open>,
    odd: u64,
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

impl Rows {
    fn take(&mut self, record: &csv::ByteRecord, need: &Need, sink: &mut Sink, declared: &mut Declared) {
        let field = |at: Option<usize>| at.and_then(|at| record.get(at)).filter(|bytes| !bytes.is_empty());
        let name = field(self.table).and_then(|name| std::str::from_utf8(name).ok());
        let Some(table) = name.and_then(tables::by_name).filter(|table| table.role != Role::Json) else {
            self.odd += 1;
            return;
        };
        if table.role != Role::Defining && !need.wants(table) {
            return;
        }
        let ordinal: u32 = field(self.process).and_then(number).unwrap_or(0);
        let head = |name: &str| field(self.header.at(name));
        let info = || ProcessInfo {
            pid: head("pid").and_then(number),
            rank: head("rank").and_then(number),
            unix_offset_ns: (head("clock") == Some(b"unix")).then_some(0),
            ..ProcessInfo::default()
        };
        let counts_from_1970 = head("clock") == Some(b"unix");
        if let (true, Some(origin_ns)) = (counts_from_1970, head(ORIGIN).and_then(number)) {
            declared.origins_ns.entry(ordinal).or_insert(origin_ns);
        }
        let process = declared.process(sink, ordinal, info);
        if table.role == Role::Defining && !declared.has_table.contains(&table.id) {
            declared.has_table.push(table.id);
        }
        for (id, name, known) in
            [("device", "device_name", &mut declared.devices), ("tid", "thread_name", &mut declared.threads)]
        {
            if let (Some(id), Some(name)) = (head(id).and_then(number), head(name))
                && !known.contains_key(&(ordinal, id))
            {
                known.insert((ordinal, id), name.to_vec());
            }
        }
        let header = &self.header;
        let open = self.open.entry((ordinal, table.id)).or_insert_with(|| Open::new(table, header));
        if !push(open, record, &self.shape_fields, sink) {
            self.odd += 1;
        } else if open.rows >= BATCH_ROWS {
            let batch = open.take();
            sink.keep(process, batch);
        }
    }

    fn finish(self, sink: &mut Sink, declared: &Declared) {
        let mut open: Vec<_> = self.open.into_iter().filter(|(_, open)| open.rows > 0).collect();
        open.sort_by_key(|(key, _)| *key);
        for ((ordinal, _), mut open) in open {
            if let Some(process) = declared.processes.get(&ordinal) {
                sink.keep(*process, open.take());
            }
        }
    }
}

/// One value, read.
enum Value<'a> {
    Null,
    U32(u32),
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    Bytes(&'a [u8]),
    Owned(Vec<u8>),
}

/// Appends one record; false, and nothing appended, if a value in it is none.
fn push(
    open: &mut Open,
    record: &csv::ByteRecord,
    shape_fields: &[Option<usize>; shape::COLUMNS.len()],
    sink: &mut Sink,
) -> bool {
    let mut values = Vec::with_capacity(open.sources.len());
    for (spec, source) in open.table.columns.iter().zip(&open.sources) {
        let value = match source {
            From::Nowhere => Some(Value::Null),
            From::Field(at) => record.get(*at).map_or(Some(Value::Null), |bytes| value_of(spec.ty, bytes)),
            From::Name(at) => Some(match record.get(*at) {
                None | Some(b"") => Value::Null,
                Some(name) => Value::U32(sink.name(name)),
            }),
            From::Shape => shape_of(record, shape_fields, sink).map(Value::U32),
        };
        match value {
            Some(value) => values.push(value),
            None => return false,
        }
    }
    for ((value, column), validity) in values.into_iter().zip(&mut open.values).zip(&mut open.validity) {
        validity.push(!matches!(value, Value::Null));
        match (column, value) {
            (Values::U32(v), Value::U32(x)) => v.push(x),
            (Values::U64(v), Value::U64(x)) => v.push(x),
            (Values::I64(v), Value::I64(x)) => v.push(x),
            (Values::F64(v), Value::F64(x)) => v.push(x),
            (Values::Bool(v), Value::Bool(x)) => v.push(x),
            (Values::Bytes(v), Value::Bytes(x)) => v.push(x),
            (Values::Bytes(v), Value::Owned(x)) => v.push(&x),
            (column, _) => push_default(column),
        }
    }
    open.rows += 1;
    // A column that may not be null reads as its default where the file has nothing.
    for (spec, validity) in open.table.columns.iter().zip(&mut open.validity) {
        if !spec.nullable
            && let Some(last) = validity.last_mut()
        {
            *last = true;
        }
    }
    true
}

fn push_default(column: &mut Values) {
    match column {
        Values::U32(v) => v.push(0),
        Values::U64(v) => v.push(0),
        Values::I64(v) => v.push(0),
        Values::F64(v) => v.push(0.0),
        Values::Bool(v) => v.push(false),
        Values::Bytes(v) => BytesColumn::push(v, b""),
    }
}

fn value_of(ty: ColumnType, bytes: &[u8]) -> Option<Value<'_>> {
    if bytes.is_empty() {
        return Some(Value::Null);
    }
    Some(match ty {
        ColumnType::U32 => Value::U32(number(bytes)?),
        ColumnType::U64 => Value::U64(number(bytes)?),
        ColumnType::I64 => Value::I64(number(bytes)?),
        ColumnType::F64 => Value::F64(number(bytes)?),
        ColumnType::Bool => Value::Bool(number(bytes)?),
        ColumnType::Bytes => match unhex(bytes) {
            Some(bytes) => Value::Owned(bytes),
            None => Value::Bytes(bytes),
        },
    })
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    let pairs = text.chunks(2).map(|pair| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    });
    pairs.collect()
}

fn shape_of(
    record: &csv::ByteRecord,
    fields: &[Option<usize>; shape::COLUMNS.len()],
    sink: &mut Sink,
) -> Option<u32> {
    let field = |at: usize| fields[at].and_then(|at| record.get(at)).filter(|bytes| !bytes.is_empty());
    let mut names = [None; shape::NAMES];
    for (i, name) in names.iter_mut().enumerate() {
        *name = field(i).map(|text| sink.name(text));
    }
    let mut numbers = [None; shape::COLUMNS.len() - shape::NAMES];
    for (i, slot) in numbers.iter_mut().enumerate() {
        *slot = match field(shape::NAMES + i) {
            None => None,
            Some(text) => Some(number(text)?),
        };
    }
    Some(shape::intern(sink, names, numbers))
}
