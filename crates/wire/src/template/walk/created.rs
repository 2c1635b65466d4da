//! CreateMonitoredItems responses (Part 4, 5.13.2.2).

use super::cursor::{Cursor, WalkError};
use super::head::ResponseHead;
use super::type_id;
use super::value::{skip_diagnostic_infos, skip_extension_object};
use crate::service::shape::Kind;
use crate::types::StatusCode;

/// What became of one item that was to be created.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreatedItem<'a> {
    /// Whether it was.
    pub status: StatusCode,
    /// The server's number for it.
    pub id: u32,
    /// How often it samples, in milliseconds.
    pub sampling: f64,
    /// How many values are kept between two publishings.
    pub queue: u32,
    /// What the server says of the filter: an ExtensionObject as it is on the wire.
    pub filter_result: &'a [u8],
}

/// The results of a CreateMonitoredItems response, one after another. Ends after the first error;
/// the diagnosticInfos after the last result are stepped over as well.
#[derive(Debug, Clone)]
pub struct CreatedItems<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

/// Bytes of a result at least.
const LEAST: usize = Kind::MonitoredItemCreateResult.min_len();

/// The results of a CreateMonitoredItems response.
pub fn created_items(body: &[u8]) -> Result<CreatedItems<'_>, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::CREATE_MONITORED_ITEMS_RESPONSE)?;
    let left = c.count(LEAST)?;
    if left == 0 {
        skip_diagnostic_infos(&mut c)?;
        c.finish()?;
    }
    Ok(CreatedItems { cursor: c, left })
}

impl<'a> Iterator for CreatedItems<'a> {
    type Item = Result<CreatedItem<'a>, WalkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let item = created_item(&mut self.cursor, self.left == 0);
        if item.is_err() {
            self.left = 0;
        }
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

impl CreatedItems<'_> {
    /// Results that are left.
    pub fn items(&self) -> usize {
        self.left
    }
}

fn created_item<'a>(c: &mut Cursor<'a>, last: bool) -> Result<CreatedItem<'a>, WalkError> {
    let mut item = CreatedItem {
        status: StatusCode::from(c.u32()?),
        id: c.u32()?,
        sampling: c.f64()?,
        queue: c.u32()?,
        filter_result: &[],
    };
    let before = *c;
    skip_extension_object(c)?;
    item.filter_result = c.since(&before);
    if last {
        skip_diagnostic_infos(c)?;
        c.finish()?;
    }
    Ok(item)
}
