//! Publish requests: the same each time but for what they acknowledge.

use super::request::{Template, TemplateError};
use super::walk;
use crate::types::{Context, PublishRequest, RequestHeader, SubscriptionAcknowledgement};

/// A Publish request encoded once, with room at its end for acknowledgements.
#[derive(Debug, Clone)]
pub struct PublishTemplate {
    empty: Template,
}

/// Subscription id and sequence number.
const ACKNOWLEDGEMENT: usize = 8;
/// The count before them.
const COUNT: usize = 4;

impl PublishTemplate {
    /// Encodes a Publish request under this header.
    pub fn new(header: RequestHeader, context: &Context<'_>) -> Result<Self, TemplateError> {
        let request = PublishRequest {
            request_header: header,
            subscription_acknowledgements: None,
        };
        let empty = Template::new(&request, context)?;
        // The count is the last field: the head and it are all of the body.
        let read = walk::PublishRequest::parse(empty.body())?;
        if read.head.end + COUNT != empty.len() {
            return Err(TemplateError::ReadsDifferently("acknowledgements"));
        }
        Ok(Self { empty })
    }

    /// Bytes of the request with `n` acknowledgements.
    #[inline]
    pub fn len_with(&self, n: usize) -> usize {
        self.empty.len() + n * ACKNOWLEDGEMENT
    }

    /// Copies the request to the start of `out` with this handle, time (100 ns since 1601) and
    /// these acknowledgements, and tells its length.
    #[inline]
    pub fn write(
        &self,
        out: &mut [u8],
        request_handle: u32,
        utc_ticks: i64,
        acknowledgements: &[SubscriptionAcknowledgement],
    ) -> Result<usize, TemplateError> {
        let room = out.len();
        let len = self.len_with(acknowledgements.len());
        let no_room = TemplateError::NoRoom { len, room };
        let Some(out) = out.get_mut(..len) else {
            return Err(no_room);
        };
        let end = self.empty.write(out, request_handle, utc_ticks)?;
        if acknowledgements.is_empty() {
            return Ok(len);
        }
        let Ok(count) = i32::try_from(acknowledgements.len()) else {
            return Err(no_room);
        };
        let (head, tail) = out.split_at_mut(end);
        if let Some(to) = head.last_chunk_mut::<COUNT>() {
            *to = count.to_le_bytes();
        }
        let (each, _) = tail.as_chunks_mut::<ACKNOWLEDGEMENT>();
        for (to, acknowledgement) in each.iter_mut().zip(acknowledgements) {
            let [a, b, c, d] = acknowledgement.subscription_id.to_le_bytes();
            let [e, f, g, h] = acknowledgement.sequence_number.to_le_bytes();
            *to = [a, b, c, d, e, f, g, h];
        }
        Ok(len)
    }
}
