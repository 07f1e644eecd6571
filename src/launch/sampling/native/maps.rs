//! Which files a process has mapped where.

use std::fs;

/// One executable mapping of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file's number on its device; 0: no file.
    pub inode: u64,
    /// The device, as text.
    pub device: String,
    /// The file's path as the process sees it, or what the kernel calls it: `[vdso]`.
    pub path: String,
}

/// The executable mappings of a process, by address.
///
/// # Errors
/// Fails if the process is gone, or if this user may not read its mappings.
pub fn executable(pid: u32) -> std::io::Result<Vec<Mapping>> {
    Ok(parse(&fs::read_to_string(format!("/proc/{pid}/maps"))?))
}

fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(line).collect()
}

/// `start-end rwxp offset device inode path`.
fn line(text: &str) -> Option<Mapping> {
    let mut rest = text;
    let mut word = || {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        word
    };
    let (range, rights, offset, device, inode) = (word(), word(), word(), word(), word());
    if rights.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(offset)?,
        inode: inode.parse().ok()?,
        device: device.to_owned(),
        path: rest.trim_start().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_mappings_are_found_with_their_files() {
        let text = "55d0-55e0 r--p 00000000 08:01 12 /usr/bin/a\n\
                    55e0-55f0 r-xp 00001000 08:01 12    /usr/bin/a b (deleted)\n\
                    7ff0-7ff8 r-xp 00000000 00:00 0 \n\
                    7ffa-7ffc r-xp 00000000 00:00 0                          [vdso]\n\
                    rubbish\n";
        let maps = parse(text);
        let brief: Vec<_> = maps.iter().map(|m| (m.start, m.offset, m.inode, m.path.as_str())).collect();
        assert_eq!(
            brief,
            [(0x55e0, 0x1000, 12, "/usr/bin/a b (deleted)"), (0x7ff0, 0, 0, ""), (0x7ffa, 0, 0, "[vdso]")]
        );
        assert!(executable(std::process::id()).unwrap().iter().any(|m| m.path.contains("gpuprof")));
    }
}
