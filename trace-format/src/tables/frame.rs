//! Table `frame`.

crate::table! {
    /// One place in the program's code: a function, and where known the line that was running in it.
    FRAME = 8, "frame", Defining, FrameRow, FrameBuilder {
        /// The id, unique in this file; a repeated frame may get a second id.
        id: u32 = Delta, Key;
        /// Function: qualified name for Python 3.11 and later, else its name; native functions as in their symbol
        /// table (mangled), or `FILE+0xOFFSET` where it has none.
        name_id: u32 = Delta, Id(string);
        /// Source file of a Python function, as Python has it; file that a native function was loaded from.
        file_id: Option<u32> = Dictionary, Id(string);
        /// Line that was running; null: not known.
        line: Option<i64> = Dictionary, Count;
        /// What it is a function of.
        kind: u32 = Dictionary, Coded(frame_kind);
    }
}
