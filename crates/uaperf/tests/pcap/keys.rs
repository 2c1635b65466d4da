//! A key log, and chunks that are decrypted with it by other code than the program's.

use std::collections::BTreeMap;

use aes::cipher::{BlockModeDecrypt, KeyIvInit, block_padding::NoPadding};

use super::taken::names;

/// The six values of a channel and token.
pub type Log = BTreeMap<(u32, u32), BTreeMap<String, String>>;

/// Reads the lines of a key log.
pub fn log(text: &str) -> Log {
    let mut log = Log::new();
    for line in text.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        let parts: Vec<&str> = name.split('_').collect();
        let [side, what, channel, token] = parts[..] else {
            panic!("{name}");
        };
        let of = (channel.parse().unwrap(), token.parse().unwrap());
        let values = log.entry(of).or_default();
        let twice = values.insert(format!("{side}_{what}"), value.to_owned());
        assert!(twice.is_none(), "{name} twice");
    }
    assert!(log.values().all(|it| it.len() == 6));
    log
}

fn bytes(hex: &str) -> Vec<u8> {
    assert_eq!(hex, hex.to_uppercase());
    let digits: Vec<char> = hex.chars().collect();
    let pair = |it: &[char]| u8::from_str_radix(&it.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// The type of the message in an encrypted chunk, and its padding is one.
pub fn message_type(log: &Log, side: &str, chunk: &[u8]) -> u32 {
    let values = &log[&names(chunk)];
    let value = |what: &str| &values[&format!("{side}_{what}")];
    let (key, iv) = (bytes(value("key")), bytes(value("iv")));
    let signature: usize = value("siglen").parse().unwrap();
    let mut secret = chunk[16..].to_vec();
    let plain = match key.len() {
        16 => cbc::Decryptor::<aes::Aes128>::new_from_slices(&key, &iv)
            .unwrap()
            .decrypt_padded::<NoPadding>(&mut secret)
            .unwrap(),
        32 => cbc::Decryptor::<aes::Aes256>::new_from_slices(&key, &iv)
            .unwrap()
            .decrypt_padded::<NoPadding>(&mut secret)
            .unwrap(),
        other => panic!("a key of {other} bytes"),
    };
    // Part 6, 6.7.2.5: in front of the signature stand the padding and its length, each the length.
    let signed = &plain[..plain.len() - signature];
    let padding = *signed.last().unwrap();
    let padded = &signed[signed.len() - 1 - usize::from(padding)..];
    assert!(padding < 16 && padded.iter().all(|&it| it == padding));
    // Behind sequence number and request id: a NodeId of namespace 0 in four bytes.
    assert_eq!(plain[8..10], [1, 0]);
    u16::from_le_bytes([plain[10], plain[11]]).into()
}
