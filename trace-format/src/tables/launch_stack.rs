//! Table `launch_stack`.

crate::table! {
    /// The Python stack from which a kernel or graph was launched (`--launch-stacks`).
    LAUNCH_STACK = 32, "launch_stack", Activity, LaunchStackRow, LaunchStackBuilder {
        /// Joins it to the API call and the GPU work of the same process.
        correlation: u64 = Delta, Id(api);
        /// The innermost frames at the call, see `stack`.
        stack_id: u32 = Dictionary, Id(stack);
    }
}
