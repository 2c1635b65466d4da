//! How a connection of HTTP/1.1 becomes one of WebSocket frames (RFC 6455, 4), with the sub-protocol of UACP.

use std::fmt::Write;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

/// A head that is longer is not read.
pub const MOST_HEAD: usize = 8 * 1024;
/// Nor is one of more fields.
pub const MOST_FIELDS: usize = 64;

/// Binary UACP in frames (Part 6, 7.5.2), as it is called since 1.05, and as 1.04 called it.
pub const PROTOCOLS: [&str; 2] = ["opcua+uacp", "opcua+cp"];

/// JSON in frames (Part 6, 7.5.2).
pub const TEXT_PROTOCOL: &str = "opcua+uajson";

/// RFC 6455, 1.3.
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Why a server does not answer with WebSocket frames.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UpgradeError {
    /// What it said is not HTTP.
    #[error("the server's answer to the upgrade is no HTTP: {0}")]
    NotHttp(String),
    /// It said no.
    #[error("the server refuses the upgrade to a WebSocket: {status} {reason}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// The words after it.
        reason: String,
    },
    /// A proof or a field that is not what it has to be.
    #[error("the server's answer to the upgrade is wrong: {0}")]
    Wrong(&'static str),
    /// More than is read.
    #[error("the server's answer to the upgrade is longer than {MOST_HEAD} bytes")]
    TooLong,
}

/// Why a client gets no WebSocket, as a status of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{status}: {reason}")]
pub struct Refused {
    /// The status.
    pub status: u16,
    /// The words after it.
    pub reason: &'static str,
}

pub const fn refused(status: u16, reason: &'static str) -> Refused {
    Refused { status, reason }
}

/// What a client asks for, and what it is to be answered with.
#[derive(Debug)]
pub struct Request {
    /// The bytes to send.
    pub text: Vec<u8>,
    /// The field that proves that its reader understood.
    pub accept: String,
    /// The sub-protocols that will do.
    protocols: &'static [&'static str],
}

/// What a client asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The bytes of its request.
    pub length: usize,
    /// What it is to be answered with.
    pub answer: String,
    /// The URL as it knows it, if messages are to be JSON.
    pub texts: Option<String>,
}

impl Request {
    /// For this path of this host, which stands there as in the URL.
    pub fn new(
        host: &str,
        path: &str,
        protocols: &'static [&'static str],
        random: fn(&mut [u8]),
    ) -> Self {
        let mut nonce = [0; 16];
        random(&mut nonce);
        let key = STANDARD.encode(nonce);
        let path = if path.is_empty() { "/" } else { path };
        let offered = protocols.join(", ");
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: {offered}\r\n\r\n"
        );
        Self {
            text: text.into_bytes(),
            accept: accept(&key),
            protocols,
        }
    }
}

fn accept(key: &str) -> String {
    let both = [key, MAGIC].concat();
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, both.as_bytes()))
}

/// Reads the answer to a request. How long it is, once all of it is there.
pub fn read_answer(bytes: &[u8], request: &Request) -> Result<Option<usize>, UpgradeError> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    let length = match answer.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() >= MOST_HEAD => {
            return Err(UpgradeError::TooLong);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(UpgradeError::NotHttp(error.to_string())),
    };
    let status = answer.code.unwrap_or_default();
    if status != 101 {
        let reason = answer.reason.unwrap_or_default();
        return Err(UpgradeError::Refused {
            status,
            reason: reason.chars().take(80).collect(),
        });
    }
    let fields = &*answer.headers;
    if !has_word(fields, "upgrade", "websocket") {
        return Err(UpgradeError::Wrong("it upgrades to something else"));
    }
    if !has_word(fields, "connection", "upgrade") {
        return Err(UpgradeError::Wrong("its Connection is no Upgrade"));
    }
    if one(fields, "sec-websocket-accept") != Some(&request.accept) {
        return Err(UpgradeError::Wrong("its Sec-WebSocket-Accept is not ours"));
    }
    if words(fields, "sec-websocket-extensions").next().is_some() {
        return Err(UpgradeError::Wrong(
            "it has extensions that nobody asked for",
        ));
    }
    match one(fields, "sec-websocket-protocol") {
        Some(protocol) if request.protocols.contains(&protocol) => Ok(Some(length)),
        Some(_) => Err(UpgradeError::Wrong("it takes another sub-protocol")),
        None => Err(UpgradeError::Wrong("it takes no sub-protocol")),
    }
}

/// Reads what a client asks for, once all of it is there: one of `protocols`.
pub fn read_request(
    bytes: &[u8],
    mut protocols: impl Iterator<Item = &'static str>,
) -> Result<Option<Upgrade>, Refused> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() >= MOST_HEAD => {
            return Err(refused(431, "Request Header Fields Too Large"));
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(refused(431, "Request Header Fields Too Large"));
        }
        Err(_) => return Err(refused(400, "Bad Request")),
    };
    let fields = &*request.headers;
    if request.method != Some("GET") {
        return Err(refused(405, "Method Not Allowed"));
    }
    let asks = request.version == Some(1)
        && has_word(fields, "upgrade", "websocket")
        && has_word(fields, "connection", "upgrade");
    if !asks || one(fields, "sec-websocket-version") != Some("13") {
        return Err(refused(426, "Upgrade Required"));
    }
    // RFC 9112, 3.2.
    let Some(host) = one(fields, "host") else {
        return Err(refused(400, "Host Required"));
    };
    let is_key = |key: &&str| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16);
    let Some(key) = one(fields, "sec-websocket-key").filter(is_key) else {
        return Err(refused(400, "Bad Request"));
    };
    let offered = |protocol: &&str| {
        let mut words = words(fields, "sec-websocket-protocol");
        words.any(|word| word == *protocol)
    };
    let Some(protocol) = protocols.find(offered) else {
        return Err(refused(400, "Sub-protocol opcua+uacp Required"));
    };
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n",
        accept(key)
    );
    // A URL that is named in full, or none: the host is enough to tell where the client went.
    let path = request.path.filter(|path| path.starts_with('/'));
    let url = format!("opc.wss://{host}{}", path.unwrap_or_default());
    Ok(Some(Upgrade {
        length,
        answer,
        texts: (protocol == TEXT_PROTOCOL).then_some(url),
    }))
}

impl Refused {
    /// What is sent before the connection is closed, to one who may ask by this method.
    pub fn text(self, method: &str) -> String {
        let Self { status, reason } = self;
        let mut text = format!("HTTP/1.1 {status} {reason}\r\nConnection: close\r\n");
        let more = match status {
            405 => format!("Allow: {method}\r\n"),
            426 => "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n".to_owned(),
            _ => String::new(),
        };
        // Writing to a String does not fail.
        let _ = write!(text, "{more}Content-Length: 0\r\n\r\n");
        text
    }
}

/// The words of all fields of a name: what stands between commas.
pub fn words<'a>(
    fields: &'a [httparse::Header<'a>],
    name: &'a str,
) -> impl Iterator<Item = &'a str> + 'a {
    let named = fields
        .iter()
        .filter(|it| it.name.eq_ignore_ascii_case(name));
    let texts = named.filter_map(|it| std::str::from_utf8(it.value).ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

pub fn has_word(fields: &[httparse::Header<'_>], name: &str, word: &str) -> bool {
    words(fields, name).any(|it| it.eq_ignore_ascii_case(word))
}

/// The value of a field that stands there once.
pub fn one<'a>(fields: &'a [httparse::Header<'a>], name: &'a str) -> Option<&'a str> {
    let mut words = words(fields, name);
    let only = words.next()?;
    words.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(bytes: &mut [u8]) {
        bytes.copy_from_slice(&b"the sample nonce"[..bytes.len()]);
    }

    fn wanted() -> Request {
        Request::new("h", "/", &PROTOCOLS, fixed)
    }

    fn binary(bytes: &[u8]) -> Result<Option<Upgrade>, Refused> {
        read_request(bytes, PROTOCOLS.into_iter())
    }

    /// Part 6, 7.5.2: whoever asks for several gets the first that the server would rather have.
    #[test]
    fn messages_are_json_for_who_asks_for_that_where_it_is_offered() {
        let request = Request::new("plc1:4843", "/a", &[TEXT_PROTOCOL], fixed);
        let all = || PROTOCOLS.into_iter().chain([TEXT_PROTOCOL]);
        let upgrade = read_request(&request.text, all()).unwrap().unwrap();
        assert_eq!(upgrade.texts.as_deref(), Some("opc.wss://plc1:4843/a"));
        assert!(
            upgrade
                .answer
                .contains("Sec-WebSocket-Protocol: opcua+uajson\r\n")
        );
        let read = read_answer(upgrade.answer.as_bytes(), &request);
        assert_eq!(read, Ok(Some(upgrade.answer.len())));
        let other = read_answer(upgrade.answer.as_bytes(), &wanted());
        assert!(matches!(other, Err(UpgradeError::Wrong(_))));
        assert_eq!(binary(&request.text).unwrap_err().status, 400);
        let both = asked("opcua+uacp, opcua+cp", "opcua+uajson, opcua+uacp");
        assert_eq!(both.unwrap().unwrap().texts, None);
    }

    #[test]
    fn the_proof_is_that_of_the_specification() {
        // RFC 6455, 1.3.
        assert_eq!(
            accept("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        let request = Request::new("plc1:4843", "", &PROTOCOLS, fixed);
        assert_eq!(request.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn both_sides_agree_whatever_the_pieces() {
        let request = Request::new("plc1:4843", "/a", &PROTOCOLS, fixed);
        for cut in 0..request.text.len() {
            assert_eq!(binary(&request.text[..cut]), Ok(None), "{cut}");
        }
        let mut more = request.text.clone();
        more.extend_from_slice(b"frames");
        let Upgrade {
            length,
            answer,
            texts,
        } = binary(&more).unwrap().unwrap();
        assert_eq!(texts, None);
        assert_eq!(length, request.text.len());
        assert!(answer.contains("Sec-WebSocket-Protocol: opcua+uacp\r\n"));
        for cut in 0..answer.len() {
            let part = read_answer(&answer.as_bytes()[..cut], &request);
            assert_eq!(part, Ok(None), "{cut}");
        }
        let whole = read_answer(answer.as_bytes(), &request);
        assert_eq!(whole, Ok(Some(answer.len())));
        let other = Request {
            accept: "another".into(),
            ..request
        };
        let other = read_answer(answer.as_bytes(), &other);
        assert!(matches!(other, Err(UpgradeError::Wrong(_))));
    }

    fn asked(from: &str, to: &str) -> Result<Option<Upgrade>, Refused> {
        let text = String::from_utf8(Request::new("h", "/", &PROTOCOLS, fixed).text).unwrap();
        assert!(text.contains(from), "{from}");
        binary(text.replace(from, to).as_bytes())
    }

    #[test]
    fn who_asks_for_something_else_is_told_what_is_wanted() {
        for (from, to, status) in [
            ("GET", "POST", 405),
            ("websocket", "h2c", 426),
            ("Connection: Upgrade", "Connection: close", 426),
            ("Version: 13", "Version: 8", 426),
            ("HTTP/1.1", "HTTP/1.0", 426),
            ("dGhl", "dG", 400),
            ("opcua+uacp, opcua+cp", "opcua+uajson", 400),
            ("Sec-WebSocket-Protocol", "X", 400),
            ("GET", "\0", 400),
            ("Host: h\r\n", "", 400),
            ("Host: h\r\n", "Host: h\r\nHost: i\r\n", 400),
            ("Host: h\r\n", &"a: b\r\n".repeat(MOST_FIELDS), 431),
        ] {
            let refused = asked(from, to).unwrap_err();
            assert_eq!(refused.status, status, "{to}");
            assert!(
                refused
                    .text("GET")
                    .starts_with(&format!("HTTP/1.1 {status} "))
            );
        }
        // As browsers and the stacks of 1.04 ask.
        let browser = asked("Connection: Upgrade", "Connection: keep-alive, Upgrade");
        assert!(browser.is_ok());
        let older = asked("opcua+uacp, opcua+cp", "opcua+cp").unwrap().unwrap();
        assert!(
            older
                .answer
                .contains("Sec-WebSocket-Protocol: opcua+cp\r\n")
        );
    }

    #[test]
    fn no_more_than_so_much_is_waited_for() {
        let endless = [b"GET / HTTP/1.1\r\nA: ", &[b'a'; MOST_HEAD][..]].concat();
        assert_eq!(binary(&endless[..MOST_HEAD - 1]), Ok(None));
        assert_eq!(binary(&endless).unwrap_err().status, 431);
        let endless = [b"HTTP/1.1 101 A\r\nA: ", &[b'a'; MOST_HEAD][..]].concat();
        assert_eq!(read_answer(&endless, &wanted()), Err(UpgradeError::TooLong));
    }

    #[test]
    fn another_server_is_told_from_one_that_refuses() {
        let no = read_answer(b"HTTP/1.1 404 Not Found\r\n\r\n", &wanted());
        assert_eq!(
            no.unwrap_err().to_string(),
            "the server refuses the upgrade to a WebSocket: 404 Not Found"
        );
        let other = read_answer(b"SSH-2.0-OpenSSH\r\n\r\n", &wanted());
        assert!(matches!(other, Err(UpgradeError::NotHttp(_))));
    }
}
