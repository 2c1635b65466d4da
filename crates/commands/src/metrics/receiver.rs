//! Where figures are pushed to: what is typed, and what is sent there.

use std::fmt;
use std::str::FromStr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use report::family::{Family, influx, otlp};
use revocation::{Address, HttpReply, post};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::screen::plain;

/// How a receiver wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// OpenTelemetry's, over HTTP in JSON.
    Otlp,
    /// InfluxDB's lines.
    Influx,
}

/// A receiver of figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    protocol: Protocol,
    address: Address,
}

impl FromStr for Receiver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WANT: &str = "want otlp+http://HOST:4318, influx+http://HOST:8086/api/v2/write?org=O&bucket=B or \
                            influx+http://HOST:8086/write?db=D";
        let (protocol, url) = match text.split_once("+http") {
            Some(("otlp", url)) => (Protocol::Otlp, url),
            Some(("influx", url)) => (Protocol::Influx, url),
            _ => return Err(WANT.to_owned()),
        };
        if url.starts_with("s://") {
            let what = "figures are pushed over http only: push to a collector or a proxy on this host, which goes on over https";
            return Err(what.to_owned());
        }
        let bare = !url.trim_start_matches("://").contains(['/', '?']);
        let mut address: Address = format!("http{url}").parse().map_err(|_| WANT.to_owned())?;
        let query = address.path.split_once('?').map_or("", |it| it.1);
        let keys = || query.split('&').filter_map(|it| it.split('=').next());
        if let Some(key) = keys().find(|key| SECRETS.contains(key)) {
            return Err(format!(
                "{key} does not belong into a URL, which others see: give the token with --push-token-file or in UAPERF_PUSH_TOKEN"
            ));
        }
        match protocol {
            Protocol::Otlp if bare => address.path = "/v1/metrics".to_owned(),
            Protocol::Influx if keys().any(|key| key == "precision") => {
                return Err("leave precision out: times are in nanoseconds".to_owned());
            }
            Protocol::Influx if !keys().any(|key| ["bucket", "db"].contains(&key)) => {
                return Err(format!("it does not say where to write: {WANT}"));
            }
            _ => {}
        }
        Ok(Self { protocol, address })
    }
}

/// What InfluxDB 1 and others take as a secret.
const SECRETS: [&str; 6] = ["u", "p", "token", "q", "password", "api_key"];

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.protocol {
            Protocol::Otlp => "otlp",
            Protocol::Influx => "influx",
        };
        let path = self.address.path.split('?').next().unwrap_or_default();
        write!(f, "{kind}+http://{}{path}", self.address.authority())
    }
}

/// What a receiver wants to be shown. It is never printed.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// One that fits into a header.
    pub fn new(text: Zeroizing<String>) -> Result<Self, String> {
        let token = Zeroizing::new(text.trim().to_owned());
        match token.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Self(token)),
            false => Err("the token for --push has characters in it that no token has".to_owned()),
        }
    }
}

/// Why a receiver did not take it, and for how long it wants to be left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub why: String,
    pub after: Option<std::time::Duration>,
}

impl Receiver {
    /// Sends them, and gives what was wrong with that.
    pub fn send(
        &self,
        families: &[Family],
        since: SystemTime,
        token: Option<&Token>,
        until: Instant,
    ) -> Result<(), Refused> {
        let at_ns = unix_ns(SystemTime::now());
        let (kind, scheme, body) = match self.protocol {
            Protocol::Otlp => (
                "application/json",
                "Bearer",
                otlp::request(families, &source(unix_ns(since), at_ns)),
            ),
            Protocol::Influx => (
                "text/plain; charset=utf-8",
                "Token",
                influx::lines(families, &tags(), at_ns),
            ),
        };
        let shown = token.map(|it| Zeroizing::new(format!("{scheme} {}", it.0.as_str())));
        let mut headers = vec![("Content-Type", kind), ("User-Agent", AGENT)];
        headers.extend(shown.as_ref().map(|it| ("Authorization", it.as_str())));
        let reply = post(&self.address, &headers, body.as_bytes(), until)
            .map_err(|why| Refused { why, after: None })?;
        match (reply.is_good(), self.protocol) {
            (true, Protocol::Otlp) => rejected(&reply.text),
            (true, Protocol::Influx) => Ok(()),
            (false, _) => Err(refused(&reply)),
        }
    }
}

const AGENT: &str = concat!("uaperf/", env!("CARGO_PKG_VERSION"));

fn refused(reply: &HttpReply) -> Refused {
    let said: String = plain(reply.text.trim()).chars().take(LONGEST).collect();
    let hint = match reply.status {
        401 | 403 => " (it wants a token: --push-token-file FILE or UAPERF_PUSH_TOKEN)",
        404 => " (is the path right?)",
        _ => "",
    };
    Refused {
        why: match said.is_empty() {
            true => format!("HTTP status {}{hint}", reply.status),
            false => format!("HTTP status {}: {said}{hint}", reply.status),
        },
        after: reply.retry_after,
    }
}

/// Of what a receiver says so many characters are passed on.
const LONGEST: usize = 200;

/// A receiver of OTLP may take a part of it only, and says so.
fn rejected(said: &str) -> Result<(), Refused> {
    // An answer that is no JSON says nothing of parts: all was taken.
    let told: Value = serde_json::from_str(said).unwrap_or_default();
    let part = &told["partialSuccess"];
    // An integer of 64 bits is a text in this encoding.
    let count = &part["rejectedDataPoints"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok());
    match count {
        Some(n) if n > 0 => {
            let why = part["errorMessage"].as_str().unwrap_or_default();
            let why: String = plain(why).chars().take(LONGEST).collect();
            Err(Refused {
                why: format!("it took all but {n} figures: {why}"),
                after: None,
            })
        }
        _ => Ok(()),
    }
}

/// This host, and this process of it.
fn own() -> (String, String) {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let instance = format!("{host}:{}", std::process::id());
    (host, instance)
}

/// Lines of two processes in one database are of two series.
fn tags() -> [(&'static str, String); 2] {
    let (host, instance) = own();
    [("host", host), ("instance", instance)]
}

fn source(since_ns: u64, at_ns: u64) -> otlp::Source {
    let (host, instance) = own();
    otlp::Source {
        resource: vec![
            ("service.name", "uaperf".to_owned()),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id", instance),
            ("host.name", host),
        ],
        version: env!("CARGO_PKG_VERSION"),
        since_ns,
        at_ns,
    }
}

fn unix_ns(at: SystemTime) -> u64 {
    // A clock before 1970 is wrong, and 0 says so.
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), String> {
        let receiver: Receiver = text.parse()?;
        let path = receiver.address.path.clone();
        Ok((receiver.to_string(), path))
    }

    #[test]
    fn receivers_have_the_path_that_they_take_figures_at() {
        let otlp = read("otlp+http://tsdb:4318").unwrap();
        assert_eq!(otlp.1, "/v1/metrics");
        let own = read("otlp+http://tsdb:9090/api/v1/otlp/v1/metrics").unwrap();
        assert_eq!(own.1, "/api/v1/otlp/v1/metrics");
        let influx = read("influx+http://[::1]:8086/api/v2/write?org=o&bucket=b").unwrap();
        assert_eq!(influx.1, "/api/v2/write?org=o&bucket=b");
        // What stands behind it is not repeated to anybody.
        assert_eq!(influx.0, "influx+http://[::1]:8086/api/v2/write");
    }

    #[test]
    fn a_wrong_receiver_says_what_is_wanted() {
        for (text, said) in [
            ("http://tsdb:4318", "want otlp+http://"),
            ("otlp+https://tsdb:4318", "over http only"),
            ("influx+http://tsdb:8086", "does not say where to write"),
            (
                "influx+http://tsdb/write?db=a&precision=s",
                "leave precision out",
            ),
            (
                "influx+http://tsdb/write?db=a&p=secret",
                "does not belong into a URL",
            ),
            (
                "influx+http://me:secret@tsdb/write?db=a",
                "want otlp+http://",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.contains(said) && !error.contains("secret"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn figures_that_were_rejected_are_no_success() {
        let some = r#"{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}"#;
        let why = rejected(some).unwrap_err().why;
        assert_eq!(why, "it took all but 3 figures: too old");
        assert_eq!(rejected("{}"), Ok(()));
        assert_eq!(rejected(r#"{"partialSuccess":{}}"#), Ok(()));
        assert_eq!(rejected(""), Ok(()));
    }

    #[test]
    fn a_token_fits_into_a_header_and_is_not_shown() {
        let token = |text: &str| Token::new(Zeroizing::new(text.to_owned()));
        assert_eq!(format!("{:?}", token("abc\n").unwrap()), "Token");
        assert!(token("a\r\nHost: x").is_err());
    }
}
