//! Table `details`.

crate::table! {
    /// What a foreign trace says about a row of another table beside what that table has columns for.
    /// The row is the one of the same table, start, duration, id, thread and name.
    DETAILS = 35, "details", Activity, DetailsRow, DetailsBuilder {
        /// Start of the row, on the trace clock (see `clock`).
        start_ns: i64 = Delta, Time;
        /// Duration of the row; null: it has none that is valid.
        duration_ns: Option<i64> = Delta, Length;
        /// Number of the row's table.
        of_table: u32 = Dictionary, Code;
        /// The row's correlation id; of a range its `range_id`.
        of_id: u64 = Delta, Object;
        /// The row's thread; null where its table has none.
        tid: Option<u32> = Dictionary, Id(thread);
        /// The name of a range; null for rows of other tables.
        name_id: Option<u32> = Dictionary, Id(string);
        /// PyTorch's `Ev Idx`: the place of the event among those that its profiler collected.
        event_index: Option<i64> = Delta, Other;
        /// PyTorch's `Sequence number`, which an operator shares with its backward operator.
        sequence: Option<i64> = Delta, Other;
        /// PyTorch's `Record function id`; of a Python function its `Python id`.
        torch_id: Option<i64> = Delta, Object;
        /// PyTorch's `Python parent id`.
        parent_id: Option<i64> = Delta, Object;
        /// All other arguments, as the fields of a JSON object without the brackets.
        arguments_id: Option<u32> = Delta, Id(string);
    }
}
