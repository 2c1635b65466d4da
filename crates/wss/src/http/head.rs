//! Heads of requests and answers, as Part 6, 7.4 wants them.

use super::{HttpError, Media};
use crate::upgrade::{MOST_FIELDS, Refused, has_word, one, refused, words};

/// SecurityPolicy None: the only one over HTTPS here.
pub const POLICY_NONE: &str = "http://opcfoundation.org/UA/SecurityPolicy#None";

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// So many bytes.
    Length(usize),
    /// As long as its pieces are (RFC 9112, 7.1).
    Pieces,
}

/// What a client says.
#[derive(Debug, PartialEq, Eq)]
pub enum HttpRequest {
    /// A request.
    Post(Request),
    /// Its browser wants to know whether it may.
    Preflight,
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// What its body is, and what that of its answer is to be.
    pub media: Media,
    pub body: Body,
    /// It waits to be told that it may send the body.
    pub expects_continue: bool,
    /// Nothing follows it.
    pub closes: bool,
    /// Where it goes.
    pub url: String,
}

/// What a server answers.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// What its body is.
    pub media: Media,
    pub body: Body,
    /// Nothing follows it.
    pub closes: bool,
}

/// Reads a head that is whole.
pub fn read_request(head: &[u8], longest: usize) -> Result<HttpRequest, Refused> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(refused(431, "Request Header Fields Too Large"));
        }
        _ => return Err(refused(400, "Bad Request")),
    }
    let fields = &*request.headers;
    if request.version != Some(1) {
        return Err(refused(505, "HTTP Version Not Supported"));
    }
    match request.method {
        Some("POST") => {}
        Some("OPTIONS") if is_preflight(fields) => return Ok(HttpRequest::Preflight),
        _ => return Err(refused(405, "Method Not Allowed")),
    }
    // RFC 9112, 3.2.
    let Some(host) = one(fields, "host") else {
        return Err(refused(400, "Host Required"));
    };
    let body = body(fields).map_err(|reason| refused(400, reason))?;
    let body = match body {
        Some(Body::Length(length)) if length > longest => {
            return Err(refused(413, "Content Too Large"));
        }
        Some(body) => body,
        None => return Err(refused(411, "Length Required")),
    };
    // None at all is no type that is taken.
    let kind = one(fields, "content-type").unwrap_or_default();
    let Some(media) = Media::of(kind) else {
        return Err(refused(
            415,
            "Content-Type application/octet-stream or application/json Required",
        ));
    };
    if words(fields, "content-encoding").next().is_some() {
        return Err(refused(415, "No Content-Encoding Supported"));
    }
    let mut policies = words(fields, "opcua-securitypolicy");
    if policies.any(|policy| !policy.is_empty() && policy != POLICY_NONE) {
        return Err(refused(400, "OPCUA-SecurityPolicy None Required"));
    }
    let expects_continue = match one(fields, "expect") {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("100-continue") => true,
        Some(_) => return Err(refused(417, "Expectation Failed")),
    };
    // A URL that is named in full, or none: the host is enough to tell where the client went.
    let path = request.path.filter(|path| path.starts_with('/'));
    Ok(HttpRequest::Post(Request {
        media,
        body,
        expects_continue,
        closes: has_word(fields, "connection", "close"),
        url: format!("opc.https://{host}{}", path.unwrap_or_default()),
    }))
}

/// Whether a browser asks what a page of another origin may ask for.
fn is_preflight(fields: &[httparse::Header<'_>]) -> bool {
    one(fields, "origin").is_some()
        && one(fields, "access-control-request-method").is_some()
        && matches!(body(fields), Ok(None | Some(Body::Length(0))))
}

/// Reads a head that is whole. None: there will be another one.
pub fn read_answer(head: &[u8], longest: usize) -> Result<Option<Answer>, HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    match answer.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(HttpError::NotHttp("a part".into())),
        Err(error) => return Err(HttpError::NotHttp(error.to_string())),
    }
    let status = answer.code.unwrap_or_default();
    match status {
        // Nobody waits for it, and nothing was asked to be switched.
        100 | 102 | 103 => return Ok(None),
        200 => {}
        _ => {
            let reason = answer.reason.unwrap_or_default();
            return Err(HttpError::Status {
                status,
                reason: reason.chars().take(80).collect(),
            });
        }
    }
    let fields = &*answer.headers;
    let body = match body(fields).map_err(HttpError::Wrong)? {
        Some(Body::Length(length)) if length > longest => {
            return Err(HttpError::Wrong("it is longer than this side takes"));
        }
        Some(body) => body,
        None => return Err(HttpError::Wrong("it does not say how long it is")),
    };
    let kind = one(fields, "content-type").unwrap_or(Media::Binary.name());
    let media = Media::of(kind).ok_or(HttpError::Wrong(
        "its Content-Type is neither OPC UA Binary nor JSON",
    ))?;
    Ok(Some(Answer {
        media,
        body,
        closes: answer.version == Some(0) || has_word(fields, "connection", "close"),
    }))
}

/// How long a body is, if it says so. What says it in two ways may be read in two ways, and is not read at all (RFC 9112,
/// 6.3).
fn body(fields: &[httparse::Header<'_>]) -> Result<Option<Body>, &'static str> {
    let has = |name| fields.iter().any(|it| it.name.eq_ignore_ascii_case(name));
    match (has("transfer-encoding"), has("content-length")) {
        (true, true) => Err("both Transfer-Encoding and Content-Length"),
        (true, false) => match one(fields, "transfer-encoding") {
            Some(word) if word.eq_ignore_ascii_case("chunked") => Ok(Some(Body::Pieces)),
            _ => Err("a Transfer-Encoding other than chunked"),
        },
        (false, true) => {
            let length = one(fields, "content-length");
            let digits = length.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
            let length = digits.and_then(|digits| digits.parse().ok());
            let length = length.ok_or("a Content-Length that is no number")?;
            Ok(Some(Body::Length(length)))
        }
        (false, false) => Ok(None),
    }
}
