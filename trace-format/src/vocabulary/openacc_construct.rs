//! `CUpti_OpenAccConstructKind`.

crate::vocabulary! {
    "The enclosing construct.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `parallel`.
    PARALLEL = 1, "parallel";
    /// `kernels`.
    KERNELS = 2, "kernels";
    /// `loop`.
    LOOP = 3, "loop";
    /// `data`.
    DATA = 4, "data";
    /// `enter data`.
    ENTER_DATA = 5, "enter data";
    /// `exit data`.
    EXIT_DATA = 6, "exit data";
    /// `host data`.
    HOST_DATA = 7, "host data";
    /// `atomic`.
    ATOMIC = 8, "atomic";
    /// `declare`.
    DECLARE = 9, "declare";
    /// `init`.
    INIT = 10, "init";
    /// `shutdown`.
    SHUTDOWN = 11, "shutdown";
    /// `set`.
    SET = 12, "set";
    /// `update`.
    UPDATE = 13, "update";
    /// `routine`.
    ROUTINE = 14, "routine";
    /// `wait`.
    WAIT = 15, "wait";
    /// `runtime api`.
    RUNTIME_API = 16, "runtime api";
}
