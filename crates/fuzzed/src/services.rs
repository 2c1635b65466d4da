//! Messages of every service, decoded in full and walked where they lie.

mod templates;
mod walked;

use wire::service::{Kind, Limits, Request, Response, shape};

/// What a connection with messages of 64 KiB allows.
const LIMITS: Limits = Limits::for_message_size(65_536);
/// A message that was just within them may take a little more in other words.
const WIDER: Limits = Limits::for_message_size(2 * 65_536);

/// Every message there is, in a fixed order.
pub fn kinds() -> impl Iterator<Item = Kind> {
    Request::KINDS.iter().chain(Response::KINDS).copied()
}

/// The first byte chooses the message, whose structure follows; beyond the last message
/// everything follows, the type id too.
pub fn run(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else {
        return;
    };
    let mut message = Vec::with_capacity(4 + rest.len());
    if let Some(kind) = kinds().nth(usize::from(choice)) {
        let [low, high, ..] = kind.encoding_id().to_le_bytes();
        message.extend_from_slice(&[1, 0, low, high]);
    }
    message.extend_from_slice(rest);
    let request = Request::decode(&message, &LIMITS);
    let response = Response::decode(&message, &LIMITS);
    assert!(request.is_err() || response.is_err());
    if let Ok(request) = &request {
        whole_and_again(request.kind(), &message);
        stable(&encoded(request), |bytes| {
            Request::decode(bytes, &WIDER).map(|again| encoded(&again))
        });
        templates::request(request);
    }
    if let Ok(response) = &response {
        whole_and_again(response.kind(), &message);
        let mut once = Vec::new();
        response.encode(&mut once).unwrap();
        stable(&once, |bytes| {
            Response::decode(bytes, &WIDER).map(|again| {
                let mut out = Vec::new();
                again.encode(&mut out).unwrap();
                out
            })
        });
    }
    for error in [request.as_ref().err(), response.as_ref().err()]
        .into_iter()
        .flatten()
    {
        assert!(error.offset <= message.len());
        let _ = (error.to_string(), error.status());
    }
    walked::requests(&message, &request);
    walked::responses(&message, &response);
}

fn encoded(request: &Request) -> Vec<u8> {
    let mut out = Vec::new();
    request.encode(&mut out).unwrap();
    out
}

/// What was decoded is decoded again from its own bytes. The first time may change them: times
/// beyond the year 9999 are clipped in two steps.
fn stable<E: std::fmt::Debug>(once: &[u8], again: impl Fn(&[u8]) -> Result<Vec<u8>, E>) {
    let twice = again(once).unwrap();
    assert_eq!(again(&twice).unwrap(), twice);
}

/// The walk over the bytes agrees with the decoder about what is there.
fn whole_and_again(kind: Kind, message: &[u8]) {
    let len = structure_len(kind, message);
    assert!(len.is_some_and(|len| len <= message.len()));
}

/// Where the structure of a message ends, type id included.
fn structure_len(kind: Kind, message: &[u8]) -> Option<usize> {
    let (_, at) = wire::service::type_id(message).ok()?;
    let measure = shape::walk_at(kind, message, at, LIMITS).ok()?;
    Some(at + measure.len)
}
