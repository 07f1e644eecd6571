//! Names as text, whatever bytes they are made of.

use std::borrow::Cow;

/// A name as text: each byte that is not UTF-8 is written as `\xff`. The replacement character would make one name of
/// all that differ in such bytes alone, and add up what belongs to several.
pub fn readable(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    Cow::Owned(text)
}
