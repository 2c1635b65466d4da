//! Answers: headers and faults for the one who writes them, and what a response says to
//! the one who asked.

use super::Response;
use crate::types::response_header::AsRequestHandle;
use crate::types::{DateTime, DiagnosticInfo, ResponseHeader, ServiceFault, StatusCode};

/// The header of a good response to a request, named by its header or its handle.
///
/// `utc` is the time of the response, in ticks of 100 ns since 1601-01-01
/// ([`Now::utc`](crate::time::Now::utc)).
pub fn response_header(request: impl AsRequestHandle, utc: i64) -> ResponseHeader {
    ResponseHeader::new_timestamped_service_result(DateTime::from(utc), request, StatusCode::Good)
}

/// A ServiceFault in answer to a request (Part 4, 7.35).
pub fn fault(request: impl AsRequestHandle, status: StatusCode, utc: i64) -> Response {
    let mut response_header = response_header(request, utc);
    response_header.service_result = status;
    Response::Fault(ServiceFault { response_header })
}

/// The service did not do what was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{status}{}", words(.diagnostics, .strings).map(|text| format!(": {text}")).unwrap_or_default())]
pub struct Fault {
    /// Why.
    pub status: StatusCode,
    /// What the server adds to it; its numbers are indexes into the strings.
    pub diagnostics: DiagnosticInfo,
    /// The string table of the response.
    pub strings: Vec<String>,
}

impl Fault {
    /// The server's own words, if it sent any: asked for with the diagnostics bits of the
    /// request header.
    pub fn text(&self) -> Option<&str> {
        words(&self.diagnostics, &self.strings)
    }
}

fn words<'a>(diagnostics: &'a DiagnosticInfo, strings: &'a [String]) -> Option<&'a str> {
    [diagnostics.localized_text, diagnostics.symbolic_id]
        .into_iter()
        .flatten()
        .find_map(|index| strings.get(usize::try_from(index).ok()?))
        .map(String::as_str)
        .or_else(|| diagnostics.additional_info.as_ref()?.value().as_deref())
}

impl From<ResponseHeader> for Fault {
    fn from(header: ResponseHeader) -> Self {
        let strings = header.string_table.unwrap_or_default();
        Self {
            status: header.service_result,
            diagnostics: header.service_diagnostics,
            strings: strings.into_iter().map(String::from).collect(),
        }
    }
}

/// A response is not the one that a request asks for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The server says why it did not do it.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// The server answered another question.
    #[error("expected a {expected}, got a {got}")]
    Unexpected {
        /// The response of the service that was called.
        expected: &'static str,
        /// The response that came.
        got: &'static str,
    },
}

impl CallError {
    /// One status code for it all.
    pub fn status(&self) -> StatusCode {
        match self {
            CallError::Fault(fault) => fault.status,
            // Part 4, table 178: the response is of no use to this client
            CallError::Unexpected { .. } => StatusCode::BadUnknownResponse,
        }
    }
}
