//! The few lines of DER that private keys need; certificates have a parser.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const SEQUENCE: u8 = 0x30;

/// The content of the element at the beginning, and what comes behind it; `None`
/// when it has another tag or is cut off.
pub(crate) fn take(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    if first < 0x80 {
        return rest.split_at_checked(first.into());
    }
    let count = usize::from(first & 0x7f);
    if !(1..=4).contains(&count) {
        return None;
    }
    let (digits, rest) = rest.split_at_checked(count)?;
    let length = digits
        .iter()
        .fold(0_u32, |length, digit| (length << 8) | u32::from(*digit));
    rest.split_at_checked(length as usize)
}

/// An element with its tag and length.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => bytes.push(short),
        _ => {
            let digits = content.len().to_be_bytes();
            let zeros = digits.iter().take_while(|digit| **digit == 0).count();
            let digits = digits.get(zeros..).unwrap_or_default();
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_length_are_read_back() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let content = vec![7; length];
            let mut bytes = element(OCTET_STRING, &content);
            bytes.push(9);
            assert_eq!(take(OCTET_STRING, &bytes), Some((&content[..], &[9][..])));
            assert_eq!(take(INTEGER, &bytes), None);
            assert_eq!(take(OCTET_STRING, &bytes[..length / 2]), None);
        }
    }
}
