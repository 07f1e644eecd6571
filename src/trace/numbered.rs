//! Names of ranges without the numbers that PyTorch's `emit_nvtx` puts behind them, which make a name of every call:
//! `aten::add, seq = 17, op_id = 204, sizes = [[8, 8]], input_op_ids = [(203,0)]` becomes `aten::add, sizes = [[8, 8]]`.

/// What stands before a number, and before a list of them.
const NUMBERS: [&[u8]; 3] = [b", seq = ", b", stashed seq = ", b", op_id = "];
const LIST: &[u8] = b", input_op_ids = [";

/// The name without such numbers; `None` if it has none.
pub fn without_numbers(name: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < name.len() {
        match numbered(&name[at..]) {
            Some(length) => at += length,
            None => {
                kept.push(name[at]);
                at += 1;
            }
        }
    }
    (kept.len() < name.len()).then_some(kept)
}

/// How long the number is that `text` begins with, and what stands before it.
fn numbered(text: &[u8]) -> Option<usize> {
    if let Some(list) = text.strip_prefix(LIST) {
        return list.iter().position(|&byte| byte == b']').map(|end| LIST.len() + end + 1);
    }
    let key = NUMBERS.iter().find(|key| text.starts_with(key))?;
    let number = text[key.len()..].strip_prefix(b"-").unwrap_or(&text[key.len()..]);
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| text.len() - number.len() + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_calls_are_left_out_and_nothing_else() {
        let folded = |name: &str| without_numbers(name.as_bytes()).map(|name| String::from_utf8(name).unwrap());
        for (name, expected) in [
            ("aten::add, seq = 17", "aten::add"),
            ("aten::add, seq = 17, op_id = 204", "aten::add"),
            ("aten::mm, op_id = 3, sizes = [[2, 3], [3, 4]]", "aten::mm, sizes = [[2, 3], [3, 4]]"),
            (
                "aten::mm, seq = -1, op_id = 3, sizes = [[2]], input_op_ids = [(1,0), (2,0)]",
                "aten::mm, sizes = [[2]]",
            ),
            ("AddBackward0, seq = 5, stashed seq = 4", "AddBackward0"),
        ] {
            assert_eq!(folded(name).as_deref(), Some(expected));
        }
        for name in ["", "step 12", "loss, seq = ", "a, seq = x", "seq = 3", "a, input_op_ids = [1"] {
            assert_eq!(folded(name), None, "{name}");
        }
    }
}
