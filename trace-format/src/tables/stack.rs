//! Table `stack`.

crate::table! {
    /// One call stack, as its innermost frame and the stack that called it: stacks that begin alike share their
    /// beginning, and a sample is one id.
    STACK = 9, "stack", Defining, StackRow, StackBuilder {
        /// The id, unique in this file; a repeated stack may get a second id.
        id: u32 = Delta, Key;
        /// The stack of the caller, a row before this one; null: the outermost frame that was seen.
        parent_id: Option<u32> = Delta, Id(stack);
        /// The innermost frame, see `frame`.
        frame_id: u32 = Delta, Id(frame);
    }
}
