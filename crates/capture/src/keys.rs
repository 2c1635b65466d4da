//! The keys of a channel as lines of the key log that Wireshark reads.

use std::fmt::Write as _;

use wire::channel::{DirectionKeys, TokenKeys};
use zeroize::Zeroizing;

/// Six lines for a token. They stay together: a reader takes lines of one channel and token in a row for one set.
pub fn lines(keys: &TokenKeys) -> Zeroizing<String> {
    // No memory is left behind where it grew.
    let mut out = Zeroizing::new(String::with_capacity(512));
    direction(&mut out, "client", &keys.client, keys);
    direction(&mut out, "server", &keys.server, keys);
    out
}

fn direction(out: &mut String, side: &str, keys: &DirectionKeys, of: &TokenKeys) {
    let (channel, token) = (of.channel_id, of.token_id);
    let _ = write!(out, "{side}_iv_{channel}_{token}: ");
    hex(out, &*keys.iv);
    let _ = write!(out, "\n{side}_key_{channel}_{token}: ");
    hex(out, &keys.key);
    let length = keys.signature_len;
    let _ = writeln!(out, "\n{side}_siglen_{channel}_{token}: {length}");
}

fn hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "{byte:02X}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(first: u8, key: usize, signature_len: usize) -> DirectionKeys {
        DirectionKeys {
            iv: Zeroizing::new([first; 16]),
            key: Zeroizing::new(vec![first + 1; key]),
            signature_len,
        }
    }

    #[test]
    fn a_token_has_the_six_lines_that_the_draft_of_pcapng_describes() {
        let keys = TokenKeys {
            channel_id: 7,
            token_id: 2,
            client: direction(0xa0, 16, 20),
            server: direction(0x0b, 16, 20),
        };
        let want = "\
client_iv_7_2: A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0
client_key_7_2: A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1
client_siglen_7_2: 20
server_iv_7_2: 0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B
server_key_7_2: 0C0C0C0C0C0C0C0C0C0C0C0C0C0C0C0C
server_siglen_7_2: 20
";
        assert_eq!(*lines(&keys), want);
    }

    /// Wireshark takes 32 characters of a name and 64 of a value.
    #[test]
    fn the_longest_names_of_keys_are_no_longer_than_their_reader_takes() {
        let keys = TokenKeys {
            channel_id: u32::MAX,
            token_id: u32::MAX,
            client: direction(1, 32, 32),
            server: direction(2, 32, 32),
        };
        let lines = lines(&keys);
        assert!(lines.capacity() == 512, "it grew");
        let all: Vec<_> = lines.lines().filter_map(|it| it.split_once(": ")).collect();
        assert_eq!(all.len(), 6);
        for (name, value) in all {
            // 32 is what a signature has without this line.
            assert!(name.len() <= 32 || name.contains("siglen"), "{name}");
            assert!(value.len() <= 64, "{value}");
        }
    }
}
