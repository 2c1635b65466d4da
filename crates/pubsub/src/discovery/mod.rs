//! Discovery (Part 14, 7.2.4.6): probes ask a publisher what there is, announcements tell it.
//!
//! What is read is copied out of the message: these are few, and wanted for longer than a datagram. What a copy takes is
//! bounded by the bytes that came, since no count of elements is believed that they could not hold.

mod announcement;
mod endpoint;
mod metadata;
mod probe;
mod walk;
mod writers;

pub use announcement::{Announced, Announcement};
pub use endpoint::Endpoint;
pub use metadata::{FieldMetaData, MetaData};
pub use probe::{Asks, Probe};
pub use writers::{WriterConfig, WriterGroupConfig};

use crate::encode::{EncodeError, Offsets, write_publisher_id, write_security};
use crate::header::{Kind, PublisherId, SecurityHeader, flags};

/// Appends a message of this kind with what `payload` writes, or nothing if there is an error.
fn write_message(
    kind: Kind,
    publisher: &PublisherId<'_>,
    security: Option<&SecurityHeader>,
    out: &mut Vec<u8>,
    payload: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<Offsets, EncodeError> {
    let start = out.len();
    let written =
        write_head(kind, publisher, security, out).and_then(|at| payload(out).map(|()| at));
    written.inspect_err(|_| out.truncate(start))
}

/// Writes what stands before the payload. The security header is always there (7.2.4.6.3).
fn write_head(
    kind: Kind,
    publisher: &PublisherId<'_>,
    security: Option<&SecurityHeader>,
    out: &mut Vec<u8>,
) -> Result<Offsets, EncodeError> {
    let start = out.len();
    let of_id = match publisher {
        PublisherId::Byte(_) => 0,
        PublisherId::UInt16(_) => 1,
        PublisherId::UInt32(_) => 2,
        PublisherId::UInt64(_) => 3,
        PublisherId::String(_) => 4,
    };
    let of_kind: u8 = match kind {
        Kind::DataSet => 0,
        Kind::Probe => 1,
        Kind::Announcement => 2,
    };
    out.push(flags::VERSION | flags::PUBLISHER_ID | flags::EXTENDED_1);
    out.push(of_id | flags::SECURITY | flags::EXTENDED_2);
    out.push(of_kind << 2);
    write_publisher_id(publisher, out)?;
    let mut at = Offsets {
        token: Some(out.len() - start + 1),
        ..Offsets::default()
    };
    write_security(security.unwrap_or(&SecurityHeader::default()), out);
    at.payload = out.len() - start;
    Ok(at)
}
