//! The few lines of DER that private keys and OCSP need; certificates have a parser.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const NULL: u8 = 0x05;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
/// uniformResourceIdentifier of a GeneralName.
pub(crate) const URI: u8 = 0x86;

/// A tag of the context around other elements, such as `[0] EXPLICIT`.
pub(crate) const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// A tag of the context instead of a primitive one, such as `[0] IMPLICIT NULL`.
pub(crate) const fn primitive(number: u8) -> u8 {
    0x80 | number
}

/// The whole of the element at the beginning, and what comes behind it.
pub(crate) fn whole(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = take(tag, bytes)?;
    bytes.split_at_checked(bytes.len() - rest.len())
}

/// Goes over an element with this tag, if there is one.
pub(crate) fn optional(tag: u8, bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    if bytes.first() != Some(&tag) {
        return Some((None, bytes));
    }
    let (content, rest) = take(tag, bytes)?;
    Some((Some(content), rest))
}

/// A positive INTEGER of these bytes.
pub(crate) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(bytes.len() + 1);
    if bytes.first().is_none_or(|first| *first >= 0x80) {
        content.push(0);
    }
    content.extend_from_slice(bytes);
    element(INTEGER, &content)
}

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

/// A number as few bytes have it.
pub(crate) fn without_leading_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
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
