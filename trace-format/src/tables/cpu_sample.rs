//! Table `cpu_sample`.

crate::table! {
    /// What one thread was doing at one moment, seen from outside the program.
    CPU_SAMPLE = 31, "cpu_sample", Activity, CpuSampleRow, CpuSampleBuilder {
        /// When.
        start_ns: i64 = Delta, Time;
        /// The process whose thread it is; the trace is that of the launcher, who looked.
        of_pid: u32 = Dictionary, Object;
        /// Operating system thread id; 0 where it could not be told.
        tid: u32 = Dictionary, Id(thread);
        /// Its stack, see `stack`.
        stack_id: u32 = Delta, Id(stack);
        /// The time that the sample stands for: the sampling interval.
        weight_ns: i64 = Dictionary, Length;
        /// Bit 0: the thread was running, or ready to. Bit 1: it held Python's global interpreter lock.
        flags: u32 = Dictionary, Code;
    }
}
