//! Messages to bytes and back, with `opcua_types` kept to what was measured before.
//!
//! A message is walked first ([`shape`]), then decoded. What `opcua_types` allocates while
//! it decodes is at most [`Limits::memory`] in all, for any bytes (and 4 KiB for the error,
//! if it comes to one).
//!
//! Bytes after the end of a message are ignored: the specification does not forbid them,
//! and the chunks already say where the message ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use super::shape::{self, Kind, Limits, Measure, Problem};
use crate::types::type_loader::{ByteStringBody, TypeLoader, TypeLoaderCollection};
use crate::types::{
    BinaryDecodable, BinaryEncodable, ByteString, Context, DecodingOptions, DepthGauge,
    DynEncodable, EncodingResult, Error, GeneratedTypeLoader, NamespaceMap, NodeId, StatusCode,
};

/// The namespace of OPC UA itself, which a type id may spell out.
const NAMESPACE_URI: &[u8] = b"http://opcfoundation.org/UA/";

/// A message that could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}, at byte {offset} of the message")]
pub struct DecodeError {
    /// Where it showed, counted from the type id.
    pub offset: usize,
    /// The handle of the request, when the header was readable that far: a ServiceFault
    /// can be sent with it.
    pub request_handle: Option<u32>,
    /// What was wrong.
    pub cause: DecodeCause,
}

impl DecodeError {
    /// The status code that tells the peer.
    pub fn status(&self) -> StatusCode {
        match &self.cause {
            DecodeCause::Shape(problem) => problem.status(),
            DecodeCause::Value { status, .. } | DecodeCause::Service { status, .. } => *status,
        }
    }
}

/// What was wrong with a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeCause {
    /// The bytes are not what the type id promises.
    #[error(transparent)]
    Shape(#[from] Problem),
    /// The bytes are all there, but one value is none: most often a String not in UTF-8.
    #[error("{what}")]
    Value {
        /// What Part 6 calls it.
        status: StatusCode,
        /// What `opcua_types` says of it.
        what: String,
    },
    /// The type id is not that of a request, or not that of a response.
    #[error("{} is none of a {wanted}", match .id { Some(id) => format!("type id i={id}"), None => "a type id of no service".to_owned() })]
    Service {
        /// The type id, if it is a number in namespace 0.
        id: Option<u32>,
        /// `request` or `response`.
        wanted: &'static str,
        /// Bad_ServiceUnsupported or Bad_UnknownResponse.
        status: StatusCode,
    },
}

/// A message that could not be encoded: a value in it has no form on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} cannot be encoded: {what}", kind = .kind.name())]
pub struct EncodeError {
    /// The message.
    pub kind: Kind,
    /// What was wrong.
    pub what: String,
}

static NAMESPACES: LazyLock<NamespaceMap> = LazyLock::new(NamespaceMap::new);
static NO_LOADERS: LazyLock<TypeLoaderCollection> = LazyLock::new(TypeLoaderCollection::new_empty);

/// Nothing that the walk has not limited already.
fn options() -> DecodingOptions {
    DecodingOptions {
        max_message_size: 0,
        max_chunk_count: 0,
        max_string_length: usize::MAX,
        max_byte_string_length: usize::MAX,
        max_array_length: usize::MAX,
        decoding_depth_gauge: DepthGauge::new(u64::MAX),
        ..DecodingOptions::default()
    }
}

/// Appends the type id and the structure to `out`, or nothing if there is an error.
pub(super) fn encode<T: BinaryEncodable>(
    kind: Kind,
    message: &T,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    // Part 6, 5.2.2.9: a NodeId of four bytes; the ids of all messages fit
    let [low, high, ..] = kind.encoding_id().to_le_bytes();
    out.extend_from_slice(&[1, 0, low, high]);
    encode_bare(kind, message, out).inspect_err(|_| out.truncate(start))
}

/// Appends the structure to `out` without its type id, or nothing if there is an error: for a response whose operations
/// are answered one after another.
///
/// # Errors
/// A value in it has no form on the wire.
pub fn encode_bare<T: BinaryEncodable>(
    kind: Kind,
    message: &T,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let context = Context::new(&NAMESPACES, &NO_LOADERS, options());
    let refuse = |out: &mut Vec<u8>, what| {
        out.truncate(start);
        Err(EncodeError { kind, what })
    };
    if let Err(error) = message.encode(out, &context) {
        return refuse(out, error.to_string());
    }
    if message.byte_len(&context) != out.len() - start && !correct_lengths(kind, out, start) {
        return refuse(out, "an ExtensionObject says a wrong length".into());
    }
    Ok(())
}

/// Writes true lengths before the bodies of the structure at `at`, which ends where `out`
/// does. False if it is no structure of this kind even then.
///
/// Needed where a message takes other than the bytes that `opcua_types` reckons: there is an
/// index range of several dimensions in it, perhaps in the body of an ExtensionObject.
pub(crate) fn correct_lengths(kind: Kind, out: &mut Vec<u8>, at: usize) -> bool {
    let structure = out.get(at..).unwrap_or_default();
    let Some(edits) = shape::true_body_lengths(kind, structure) else {
        return false;
    };
    let structure = shape::rewritten(structure, &edits);
    out.truncate(at);
    out.extend_from_slice(&structure);
    true
}

/// The type id at the beginning of a message, if it is a number in namespace 0, and the
/// bytes it takes.
///
/// Part 6, 5.2.7 wants a NodeId there; the longer forms of an ExpandedNodeId are
/// understood as well, as long as they mean this server and the namespace of OPC UA.
///
/// # Errors
/// The bytes are no ExpandedNodeId.
pub fn type_id(body: &[u8]) -> Result<(Option<u32>, usize), DecodeError> {
    let len = match shape::walk(Kind::ExpandedNodeId, body) {
        Ok(measure) => measure.len,
        Err((offset, problem)) => {
            return Err(DecodeError {
                offset,
                request_handle: None,
                cause: problem.into(),
            });
        }
    };
    let (id, rest) = match *body.get(..len).unwrap_or_default() {
        [form, id, ref rest @ ..] if form & 0x3f == 0 => (u32::from(id), rest),
        [form, 0, low, high, ref rest @ ..] if form & 0x3f == 1 => {
            (u32::from(u16::from_le_bytes([low, high])), rest)
        }
        [form, 0, 0, a, b, c, d, ref rest @ ..] if form & 0x3f == 2 => {
            (u32::from_le_bytes([a, b, c, d]), rest)
        }
        _ => return Ok((None, len)),
    };
    let (uri, server) = match (body.first().map_or(0, |form| form & 0xc0), rest) {
        (0, _) => (&[][..], &[][..]),
        (0x40, server) => (&[][..], server),
        (0x80, [_, _, _, _, uri @ ..]) => (uri, &[][..]),
        (_, [_, _, _, _, uri @ ..]) => uri.split_at(uri.len().saturating_sub(4)),
        _ => return Ok((None, len)),
    };
    let here = server.iter().all(|&byte| byte == 0);
    let ours = uri.is_empty() || uri == NAMESPACE_URI;
    Ok(((here && ours).then_some(id), len))
}

/// Which request or response a message is, and where its structure begins.
pub(super) fn message_kind(
    body: &[u8],
    wanted: &'static str,
    unknown: StatusCode,
    is_wanted: fn(Kind) -> bool,
) -> Result<(Kind, usize), DecodeError> {
    let (id, at) = type_id(body)?;
    match id
        .and_then(Kind::from_encoding_id)
        .filter(|&kind| is_wanted(kind))
    {
        Some(kind) => Ok((kind, at)),
        None => Err(DecodeError {
            offset: 0,
            request_handle: None,
            cause: DecodeCause::Service {
                id,
                wanted,
                status: unknown,
            },
        }),
    }
}

/// Walks over the structure of `kind` at the offset `at` and decodes it.
pub(super) fn decode<T: BinaryDecodable>(
    kind: Kind,
    body: &[u8],
    at: usize,
    limits: &Limits,
) -> Result<T, DecodeError> {
    let fail = |offset, cause| DecodeError {
        offset,
        request_handle: None,
        cause,
    };
    let measure = shape::walk_at(kind, body, at, *limits)
        .map_err(|(offset, problem)| fail(offset, problem.into()))?;
    let edited;
    let body = if measure.edits.is_empty() {
        body
    } else {
        edited = shape::rewritten(body, &measure.edits);
        &edited
    };
    let mut rest = body.get(at..).unwrap_or_default();
    let decoded = if measure.bodies == 0 {
        T::decode(
            &mut rest,
            &Context::new(&NAMESPACES, &NO_LOADERS, options()),
        )
    } else {
        let mut loaders = TypeLoaderCollection::new_empty();
        loaders.add(Arc::new(Bodies::new(limits, &measure)));
        T::decode(&mut rest, &Context::new(&NAMESPACES, &loaders, options()))
    };
    decoded.map_err(|error| {
        let cause = DecodeCause::Value {
            status: error.status(),
            what: error.to_string(),
        };
        let offset = shape::offset_before(&measure.edits, body.len() - rest.len());
        fail(offset, cause)
    })
}

/// The request handle in the RequestHeader at `at`, if it is there.
pub(super) fn handle_in_request(body: &[u8], at: usize) -> Option<u32> {
    let limits = Limits::default();
    let token = shape::walk_at(Kind::NodeId, body, at, limits).ok()?;
    handle_in_response(body, at + token.len)
}

/// The request handle in the ResponseHeader at `at`, if it is there.
pub(super) fn handle_in_response(body: &[u8], at: usize) -> Option<u32> {
    let bytes = body.get(at + 8..at + 12)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// Decodes the bodies of ExtensionObjects, with what is left of the limits.
///
/// A body of an unknown type, of another length than its type, or with a wrong value in
/// it stays what it was: bytes with their type id. It is for the service to say what is
/// wrong with it, and nothing is lost when it is passed on.
struct Bodies {
    /// What may still be allocated.
    memory: AtomicUsize,
    /// How many levels there may still be below the structure being decoded.
    depth: AtomicUsize,
    /// What the message was allowed, for the words of an error.
    limits: Limits,
}

impl Bodies {
    fn new(limits: &Limits, outer: &Measure) -> Self {
        Self {
            memory: AtomicUsize::new(limits.memory.saturating_sub(outer.memory)),
            depth: AtomicUsize::new(limits.depth.saturating_sub(outer.body_depth)),
            limits: *limits,
        }
    }

    fn load(
        &self,
        id: &NodeId,
        stream: &mut dyn std::io::Read,
        context: &Context<'_>,
        len: usize,
    ) -> EncodingResult<Box<dyn DynEncodable>> {
        // the walk outside has seen that so many bytes are there, and charged them
        let mut body = vec![0; len];
        stream.read_exact(&mut body)?;
        if let Some(value) = self.structure(id, &body, context)? {
            return Ok(value);
        }
        Ok(Box::new(ByteStringBody::new(
            ByteString::from(body),
            id.clone(),
        )))
    }

    fn structure(
        &self,
        id: &NodeId,
        body: &[u8],
        context: &Context<'_>,
    ) -> EncodingResult<Option<Box<dyn DynEncodable>>> {
        let id_in_0 = id.as_u32().filter(|_| id.namespace == 0);
        let Some(kind) = id_in_0.and_then(Kind::from_encoding_id) else {
            return Ok(None);
        };
        let depth = self.depth.load(Ordering::Relaxed);
        let memory = self.memory.load(Ordering::Relaxed);
        let measure = match shape::walk_at(kind, body, 0, Limits { memory, depth }) {
            Ok(measure) if measure.len == body.len() => measure,
            Ok(_) => return Ok(None),
            Err((_, problem)) => return self.unless_too_much(problem).map(|()| None),
        };
        let Some(memory) = memory.checked_sub(measure.memory + kind.shape().size) else {
            return self
                .unless_too_much(Problem::Memory { limit: 0 })
                .map(|()| None);
        };
        self.memory.store(memory, Ordering::Relaxed);
        self.depth
            .store(depth - measure.body_depth, Ordering::Relaxed);
        let edited;
        let mut rest = if measure.edits.is_empty() {
            body
        } else {
            edited = shape::rewritten(body, &measure.edits);
            &edited
        };
        let len = Some(rest.len());
        let decoded = GeneratedTypeLoader.load_from_binary(id, &mut rest, context, len);
        self.depth.store(depth, Ordering::Relaxed);
        match decoded {
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(error)) if error.status() == StatusCode::BadEncodingLimitsExceeded => {
                Err(error)
            }
            _ => Ok(None),
        }
    }

    /// Refuses the message for a body that breaks the limits; others may stay bytes.
    fn unless_too_much(&self, problem: Problem) -> EncodingResult<()> {
        let problem = match problem {
            Problem::Memory { .. } => Problem::Memory {
                limit: self.limits.memory,
            },
            Problem::Depth { .. } => Problem::Depth {
                limit: self.limits.depth,
            },
            _ => return Ok(()),
        };
        Err(Error::new(problem.status(), problem))
    }
}

impl TypeLoader for Bodies {
    fn load_from_binary(
        &self,
        id: &NodeId,
        stream: &mut dyn std::io::Read,
        context: &Context<'_>,
        len: Option<usize>,
    ) -> Option<EncodingResult<Box<dyn DynEncodable>>> {
        Some(self.load(id, stream, context, len.unwrap_or(0)))
    }
}
