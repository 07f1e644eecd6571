//! Table `string`.

crate::table! {
    /// One interned byte string; every `*_id` that names something points here.
    /// Bytes as the producer gave them: mangled names stay mangled, demangling belongs to the reader.
    STRING = 2, "string", Defining, StringRow, StringBuilder {
        /// The id, unique in this file; 0 is never used and stands for "not recorded".
        id: u32 = Delta, Key;
        /// The string, not necessarily UTF-8.
        bytes: Vec<u8> = Plain, Other;
    }
}
