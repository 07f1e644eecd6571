//! stub
pub(super) fn demangle(_name: &[u8]) -> Option<String> { None }
