//! How a proxy is asked for a tunnel to a server: CONNECT of HTTP/1.1 (RFC 9110, 9.3.6).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::upgrade::{MOST_FIELDS, MOST_HEAD};

/// Why there is no tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// What it said is not HTTP.
    #[error("its answer is no HTTP: {0}")]
    NotHttp(String),
    /// It wants to know who asks, or does not take who did.
    #[error("it asks for a login (407), by {}", .schemes.join(", "))]
    Login {
        /// The ways of logging in that it names.
        schemes: Vec<String>,
    },
    /// It said no.
    #[error("it refuses the tunnel: {status} {reason}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// The words after it.
        reason: String,
    },
    /// Something came behind its answer, where the client has the word.
    #[error("it sent something of its own behind its answer")]
    Early,
    /// More than is read.
    #[error("its answer is longer than {MOST_HEAD} bytes")]
    TooLong,
}

/// The request for a tunnel to this port of this host, whose name the proxy looks up; by a user with a password, if
/// there is one (RFC 7617).
pub fn ask(host: &str, port: u16, login: Option<(&str, &str)>) -> Zeroizing<String> {
    let to = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let mut login_field = Zeroizing::new(String::new());
    if let Some((user, password)) = login {
        let both = Zeroizing::new(format!("{user}:{password}"));
        let encoded = Zeroizing::new(STANDARD.encode(both.as_bytes()));
        let field = format!("Proxy-Authorization: Basic {}\r\n", *encoded);
        login_field = Zeroizing::new(field);
    }
    Zeroizing::new(format!(
        "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{}\r\n",
        *login_field
    ))
}

/// Reads what a proxy answers: whether the tunnel is there, once all of the answer is.
///
/// # Errors
/// It is not, and will not be.
pub fn read_answer(bytes: &[u8]) -> Result<bool, ConnectError> {
    let mut rest = bytes;
    loop {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut answer = httparse::Response::new(&mut fields);
        let length = match answer.parse(rest) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() >= MOST_HEAD => {
                return Err(ConnectError::TooLong);
            }
            Ok(httparse::Status::Partial) => return Ok(false),
            Err(error) => return Err(ConnectError::NotHttp(error.to_string())),
        };
        let behind = rest.get(length..).unwrap_or_default();
        match answer.code.unwrap_or_default() {
            // RFC 9110, 15.2: any number of these may come before the answer. There is nothing that 101 could switch to.
            100 | 102..=199 => rest = behind,
            // RFC 9110, 9.3.6: any 2xx, and the tunnel begins behind its head, whatever lengths stand there.
            200..=299 if behind.is_empty() => return Ok(true),
            200..=299 => return Err(ConnectError::Early),
            407 => {
                let schemes = schemes(answer.headers);
                return Err(ConnectError::Login { schemes });
            }
            status => {
                let reason = answer.reason.unwrap_or_default();
                return Err(ConnectError::Refused {
                    status,
                    reason: reason.chars().take(80).collect(),
                });
            }
        }
    }
}

/// The first word of each challenge that stands in a field of its own.
fn schemes(fields: &[httparse::Header<'_>]) -> Vec<String> {
    let named = fields
        .iter()
        .filter(|it| it.name.eq_ignore_ascii_case("proxy-authenticate"));
    let texts = named.filter_map(|it| std::str::from_utf8(it.value).ok());
    let words = texts.filter_map(|text| text.split_whitespace().next());
    let mut schemes: Vec<_> = words.map(|it| it.chars().take(20).collect()).collect();
    if schemes.is_empty() {
        schemes.push("a way that it does not name".to_owned());
    }
    schemes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_names_the_server_and_who_asks() {
        assert_eq!(
            *ask("plc1", 4843, None),
            "CONNECT plc1:4843 HTTP/1.1\r\nHost: plc1:4843\r\n\r\n"
        );
        // RFC 7617, 2: the example of the standard.
        assert_eq!(
            *ask("::1", 443, Some(("Aladdin", "open sesame"))),
            "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\
             Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n"
        );
    }

    #[test]
    fn the_answer_is_read_however_it_comes() {
        let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 Connection established\r\nContent-Length: 5\r\n\r\n";
        for cut in 0..answer.len() {
            assert_eq!(read_answer(&answer[..cut]), Ok(false), "{cut}");
        }
        assert_eq!(read_answer(answer), Ok(true));
        let early = [&answer[..], b"x"].concat();
        assert_eq!(read_answer(&early), Err(ConnectError::Early));
    }

    #[test]
    fn a_refusal_says_why() {
        let login =
            b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Negotiate\r\n\
                      proxy-authenticate: Basic realm=\"a, b\"\r\n\r\n<html>";
        let schemes = vec!["Negotiate".to_owned(), "Basic".to_owned()];
        assert_eq!(read_answer(login), Err(ConnectError::Login { schemes }));
        let refused = read_answer(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap_err();
        assert!(refused.to_string().ends_with("403 Forbidden"), "{refused}");
        let switched = read_answer(b"HTTP/1.1 101 Switching Protocols\r\n\r\n");
        assert!(matches!(
            switched,
            Err(ConnectError::Refused { status: 101, .. })
        ));
        // TLS, and a server of OPC UA.
        for other in [&[0x15, 3, 1, 0, 2, 2, 70][..], b"ERRF\x10\0\0\0"] {
            let answer = read_answer(other);
            assert!(
                matches!(answer, Err(ConnectError::NotHttp(_))),
                "{answer:?}"
            );
        }
        let long = [b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'a'; MOST_HEAD]].concat();
        assert_eq!(read_answer(&long), Err(ConnectError::TooLong));
    }
}
