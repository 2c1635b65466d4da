//! Messages of services as JSON: texts to bytes, and bytes to texts.

use wire::json::{self, Style};
use wire::service::{Limits, Request, Response};

use crate::services::kinds;

const LONGEST: usize = 65_536;

/// The first byte chooses a message, whose structure follows; beyond the last message a text follows.
pub fn run(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else {
        return;
    };
    match kinds().nth(usize::from(choice)) {
        Some(kind) => {
            let [low, high, ..] = kind.encoding_id().to_le_bytes();
            bytes(&[&[1, 0, low, high], rest].concat());
        }
        None => text(rest),
    }
}

fn decodes(message: &[u8]) -> bool {
    let limits = Limits::for_message_size(4 * LONGEST);
    Request::decode(message, &limits).is_ok() || Response::decode(message, &limits).is_ok()
}

/// Any bytes are written or refused; a message that is one is one again when it was JSON.
fn bytes(message: &[u8]) {
    for style in [Style::Compact, Style::Verbose] {
        let Ok(text) = json::write(message, style, LONGEST) else {
            continue;
        };
        assert!(text.len() <= LONGEST);
        if decodes(message) {
            stable(&text, style);
        }
    }
}

/// A text is the same again, from the bytes that were read of it.
fn stable(text: &str, style: Style) {
    match json::read(text.as_bytes(), LONGEST) {
        Ok(message) => {
            let again = json::write(&message, style, 2 * LONGEST).unwrap();
            if style == Style::Verbose && again != text {
                // A structure without a body is one whose fields are all default, which are not left out then.
                let message = json::read(again.as_bytes(), LONGEST).unwrap();
                let third = json::write(&message, style, 2 * LONGEST).unwrap();
                assert_eq!(third, again);
                return;
            }
            assert_eq!(again, text);
        }
        Err(unread) => assert!(unread.error.is_too_long(), "{unread}: {text}"),
    }
}

/// Any text is read or refused, by JSON or by whoever gets the bytes that were begun.
fn text(text: &[u8]) {
    match json::read(text, LONGEST) {
        Ok(message) => {
            assert!(message.len() <= LONGEST);
            if let Ok(written) = json::write(&message, Style::Compact, LONGEST) {
                stable(&written, Style::Compact);
            }
        }
        Err(unread) => {
            assert!(!unread.to_string().is_empty());
            if let Some(begun) = unread.begun.filter(|_| !unread.error.is_too_long()) {
                assert!(!decodes(&begun), "{}", unread.error);
            }
        }
    }
}
