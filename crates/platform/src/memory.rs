//! What of its memory a process gives back.
//!
//! This is the one module with `unsafe`: what the kernel is told is an address, and no library has a safe call for it.

#![cfg_attr(target_os = "linux", allow(unsafe_code))]

/// Takes the code of the program out of what this process has in memory. The kernel maps 64 KiB around each page that is
/// executed, so that a start leaves five times as much resident as it needed. What is executed again is mapped again, from
/// the file, which the kernel keeps as long as it likes. For whoever may wait for hours, and needs little of what its start
/// did; what cannot be given back stays.
pub fn unmap_code() {
    #[cfg(target_os = "linux")]
    let _ = imp::unmap_code();
}

#[cfg(target_os = "linux")]
mod imp {
    use std::ffi::c_void;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::ptr::with_exposed_provenance_mut;

    use rustix::mm::{Advice, madvise};

    pub fn unmap_code() -> io::Result<()> {
        let program = std::fs::read_link("/proc/self/exe")?;
        let mappings = std::fs::read("/proc/self/smaps")?;
        for (from, to) in code(&mappings, program.as_os_str().as_bytes()) {
            let at = with_exposed_provenance_mut::<c_void>(from);
            // SAFETY: the range is the program's own code, which stays where it is for as long as the process lives, and so it is
            // not anybody else's memory by now. It is a private mapping of a file that nobody can write through, and none of
            // its pages was ever changed: each reads the same when it is mapped again.
            unsafe { madvise(at, to - from, Advice::LinuxDontNeed) }?;
        }
        Ok(())
    }

    /// Where the code of a program lies, of which no page was changed: not by relocations, nor by a debugger.
    pub fn code<'a>(smaps: &'a [u8], program: &'a [u8]) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut is_code = false;
        for line in smaps.split(|byte| *byte == b'\n') {
            match Line::of(line) {
                Line::Mapping { range, rights, of } => {
                    is_code = rights == b"r-xp" && of == program;
                    found.extend(is_code.then_some(range));
                }
                Line::Changed if is_code => drop(found.pop()),
                Line::Changed | Line::Other => {}
            }
        }
        found
    }

    /// A line of `/proc/self/smaps`.
    enum Line<'a> {
        /// A mapping begins.
        Mapping {
            range: (usize, usize),
            rights: &'a [u8],
            of: &'a [u8],
        },
        /// Pages of it are the process's own.
        Changed,
        Other,
    }

    impl<'a> Line<'a> {
        fn of(line: &'a [u8]) -> Self {
            Self::mapping(line).unwrap_or_else(|| match line.strip_prefix(b"Anonymous:") {
                Some(size) if size.trim_ascii() != b"0 kB" => Self::Changed,
                _ => Self::Other,
            })
        }

        /// Addresses, rights, offset, device, inode, and the rest is the file.
        fn mapping(line: &'a [u8]) -> Option<Self> {
            let mut words = line.splitn(6, |byte| *byte == b' ');
            let range = std::str::from_utf8(words.next()?).ok()?;
            let (from, to) = range.split_once('-')?;
            let address = |text| usize::from_str_radix(text, 16).ok();
            Some(Self::Mapping {
                range: (address(from)?, address(to)?),
                rights: words.next()?,
                // Memory of nothing has no name.
                of: words.nth(3).map_or(b"".as_slice(), <[u8]>::trim_ascii),
            })
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::imp::code;

    const SMAPS: &str = "\
5500-5600 r--p 00000000 08:01 77                         /opt/my tools/uaperf
Rss:                   4 kB
Anonymous:             0 kB
5600-5800 r-xp 00001000 08:01 77                         /opt/my tools/uaperf
Rss:                   8 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
5800-5900 r--p 00003000 08:01 77                         /opt/my tools/uaperf
Anonymous:             4 kB
7000-7100 r-xp 00000000 08:01 78                         /usr/lib/libc.so.6
Anonymous:             0 kB
7f00-7f10 rw-p 00000000 00:00 0
Anonymous:             4 kB
8000-8100 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
";

    #[test]
    fn the_code_is_the_programs_own() {
        assert_eq!(
            code(SMAPS.as_bytes(), b"/opt/my tools/uaperf"),
            [(0x5600, 0x5800)]
        );
        assert_eq!(code(SMAPS.as_bytes(), b"/opt/my"), []);
        assert_eq!(code(b"", b""), []);
    }

    #[test]
    fn code_that_was_changed_stays() {
        let changed = SMAPS.replace(
            "Rss:                   8 kB\nAnonymous:             0 kB",
            "Rss:                   8 kB\nAnonymous:             4 kB",
        );
        assert_ne!(changed, SMAPS);
        assert_eq!(code(changed.as_bytes(), b"/opt/my tools/uaperf"), []);
    }

    /// How much of this program's code is in memory, in KiB.
    fn resident() -> u64 {
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = smaps.lines();
        lines.find(|it| it.contains(" r-xp ") && it.ends_with(program.to_str().unwrap()));
        let rss = lines.find_map(|it| it.strip_prefix("Rss:")).unwrap();
        rss.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn code_goes_and_comes_again() {
        // Other tests call theirs back at the same time.
        let goes = || {
            let before = resident();
            super::unmap_code();
            resident() < before
        };
        assert!((0..100).any(|_| goes()));
    }
}
