//! Columns that several tables have under one name and with one meaning: for what is done alike with rows of different
//! tables.

use crate::schema::TypedColumn;

macro_rules! any {
    ($($column:ident: $cells:ty = $name:literal;)+) => {
        $(
            #[doc = concat!("Column `", $name, "` of whichever table has one.")]
            pub const $column: &TypedColumn<$cells> = &TypedColumn::of_any($name);
        )+

        /// Name and type of each.
        #[cfg(test)]
        const ALL: &[(&str, crate::schema::ColumnType)] =
            &[$(($name, <$cells as crate::columns::Cell>::TYPE)),+];
    };
}

any! {
    START_NS: i64 = "start_ns";
    DURATION_NS: i64 = "duration_ns";
    END_NS: i64 = "end_ns";
    DEVICE: u32 = "device";
    CONTEXT: u32 = "context";
    STREAM: u32 = "stream";
    CORRELATION: u64 = "correlation";
    TID: u32 = "tid";
    NAME_ID: u32 = "name_id";
    BYTES: i64 = "bytes";
    KIND: u32 = "kind";
    DOMAIN: u32 = "domain";
    RESULT: u32 = "result";
    GRAPH_ID: u32 = "graph_id";
    GRAPH_NODE_ID: u64 = "graph_node_id";
    SRC_DEVICE: u32 = "src_device";
    DST_DEVICE: u32 = "dst_device";
    MEM_KIND: u32 = "mem_kind";
    OPERATION: u32 = "operation";
    ADDRESS: u64 = "address";
    EVENT: u32 = "event";
    OF_PID: u32 = "of_pid";
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use crate::tables;

    #[test]
    fn each_is_a_column_of_several_tables_and_has_one_type_in_all() {
        for &(name, ty) in ALL {
            let is_size = |table: &str| name == "bytes" && table == "string"; // There it holds the text itself.
            let tables = tables::ALL.iter().filter(|table| !is_size(table.name));
            let types: Vec<_> =
                tables.flat_map(|table| table.columns).filter(|c| c.name == name).map(|c| c.ty).collect();
            assert!(types.len() >= 2, "{name} is in {} tables; name the table's own column", types.len());
            assert!(types.iter().all(|other| *other == ty), "{name}: {types:?}");
        }
    }
}
