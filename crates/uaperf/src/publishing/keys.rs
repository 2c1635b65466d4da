//! Files with the keys of a security group.

use std::path::Path;

use pubsub::security::{GroupKeys, PubSubPolicy};
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Keys by their tokens, in the order in which they are used.
pub type Keys = Vec<(u32, GroupKeys)>;

/// What is in a file of keys.
pub fn text(file: &Path) -> Result<Zeroizing<String>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    Ok(Zeroizing::new(text))
}

/// A key that nobody had before, as a file has it.
pub fn made(policy: PubSubPolicy) -> Zeroizing<String> {
    let mut key = Zeroizing::new(vec![0; policy.key_len()]);
    load::transport::random()(&mut key);
    let hex = key.iter().map(|byte| format!("{byte:02x}"));
    Zeroizing::new(format!("{} 1 {}\n", policy.name(), hex.collect::<String>()))
}

/// Reads a file: a line `POLICY TOKEN HEX` for each key; `#` begins a comment. Keys never appear in messages.
pub fn read(file: &Path) -> Result<Keys, Failure> {
    parse(&text(file)?, file)
}

/// The same of what is in it.
pub fn parse(text: &str, file: &Path) -> Result<Keys, Failure> {
    let mut keys = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let wrong = |what: String| {
            let place = format!("{}, line {}", file.display(), n + 1);
            Failure::usage(format!("{place}: {what}"))
                .hint("a line is POLICY TOKEN HEX, as in: PubSub-Aes256-CTR 1 0a0b0c…")
        };
        let [policy, token, hex] = words.as_slice() else {
            return Err(wrong(format!("{} words, want 3", words.len())));
        };
        let policy: PubSubPolicy = policy.parse().map_err(|it| wrong(format!("{it}")))?;
        let token: u32 = token
            .parse()
            .map_err(|_| wrong(format!("token {token:?} is no number")))?;
        let key = bytes(hex).ok_or_else(|| wrong("the key is not in hexadecimal digits".into()))?;
        let key = GroupKeys::new(policy, &key).map_err(|it| wrong(it.to_string()))?;
        keys.push((token, key));
    }
    match keys.is_empty() {
        true => Err(Failure::usage(format!("{}: no keys in it", file.display()))
            .hint("a line is POLICY TOKEN HEX, as in: PubSub-Aes256-CTR 1 0a0b0c…")),
        false => Ok(keys),
    }
}

fn bytes(hex: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let digit = |it: u8| char::from(it).to_digit(16);
    let byte = |[a, b]: &[u8; 2]| u8::try_from(digit(*a)? * 16 + digit(*b)?).ok();
    pairs
        .iter()
        .map(byte)
        .collect::<Option<Vec<u8>>>()
        .map(Zeroizing::new)
}
