//! Publish responses and what they bring (Part 4, 5.14.5.2 and 7.25).

use super::cursor::{Cursor, WalkError};
use super::data_value::RawDataValue;
use super::head::ResponseHead;
use super::node_id::RawNodeId;
use super::status::Statuses;
use super::type_id;
use super::value::{
    data_value, one_of_fixed_size, skip_diagnostic_info, skip_diagnostic_infos,
    skip_extension_object, variant,
};
use super::variant::RawVariant;
use crate::types::StatusCode;

/// A Publish response where it lies. All of it was stepped over when this exists; the bodies of
/// the notifications are looked at by [`PublishResponse::notifications`].
#[derive(Debug, Clone)]
pub struct PublishResponse<'a> {
    /// When the server sent the response, in 100 ns since 1601; a message that had to wait for a
    /// Publish request has an earlier publish time.
    pub timestamp: i64,
    /// The subscription this is from.
    pub subscription_id: u32,
    /// What the server still holds for Republish.
    pub available_sequence_numbers: Counters<'a>,
    /// More is ready than fitted.
    pub more_notifications: bool,
    /// Of the message; of the next one, when this is a keep-alive.
    pub sequence_number: u32,
    /// When the server sent it, in 100 ns since 1601.
    pub publish_time: i64,
    /// A status for each acknowledgement of the request.
    pub results: Statuses<'a>,
    notifications: Notifications<'a>,
}

impl<'a> PublishResponse<'a> {
    /// Reads a Publish response to its last byte.
    pub fn parse(body: &'a [u8]) -> Result<Self, WalkError> {
        let head = ResponseHead::parse(body)?;
        let mut c = head.fields(body, type_id::PUBLISH_RESPONSE)?;
        let subscription_id = c.u32()?;
        let available_sequence_numbers = Counters::read(&mut c)?;
        let more_notifications = c.u8()? != 0;
        let sequence_number = c.u32()?;
        let publish_time = c.i64()?;
        let notifications = Notifications::read(&mut c)?;
        let results = Statuses::read(&mut c)?;
        skip_diagnostic_infos(&mut c)?;
        c.finish()?;
        Ok(Self {
            timestamp: head.timestamp,
            subscription_id,
            available_sequence_numbers,
            more_notifications,
            sequence_number,
            publish_time,
            results,
            notifications,
        })
    }

    /// Nothing to report but that the subscription lives (Part 4, 5.14.1.1): no notifications,
    /// and a sequence number that is not used up.
    #[inline]
    pub fn is_keep_alive(&self) -> bool {
        self.notifications.left == 0
    }

    /// The notifications, one after another.
    #[inline]
    pub fn notifications(&self) -> Notifications<'a> {
        self.notifications.clone()
    }
}

/// A Republish response where it lies: a message that was told before (Part 4, 5.14.6.2).
#[derive(Debug, Clone)]
pub struct RepublishResponse<'a> {
    /// Of the message.
    pub sequence_number: u32,
    /// When the server sent it first, in 100 ns since 1601.
    pub publish_time: i64,
    notifications: Notifications<'a>,
}

impl<'a> RepublishResponse<'a> {
    /// Reads a Republish response to its last byte.
    pub fn parse(body: &'a [u8]) -> Result<Self, WalkError> {
        let head = ResponseHead::parse(body)?;
        let mut c = head.fields(body, type_id::REPUBLISH_RESPONSE)?;
        let sequence_number = c.u32()?;
        let publish_time = c.i64()?;
        let notifications = Notifications::read(&mut c)?;
        c.finish()?;
        Ok(Self {
            sequence_number,
            publish_time,
            notifications,
        })
    }

    /// The notifications, one after another.
    #[inline]
    pub fn notifications(&self) -> Notifications<'a> {
        self.notifications.clone()
    }
}

/// UInt32 after UInt32.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters<'a> {
    raw: &'a [[u8; 4]],
}

impl<'a> Counters<'a> {
    #[inline]
    fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError> {
        let n = c.count(4)?;
        let (raw, _) = c.take(n * 4)?.as_chunks();
        Ok(Self { raw })
    }
}

impl Iterator for Counters<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (first, rest) = self.raw.split_first()?;
        self.raw = rest;
        Some(u32::from_le_bytes(*first))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.raw.len(), Some(self.raw.len()))
    }
}

impl ExactSizeIterator for Counters<'_> {}

/// One element of notificationData.
#[derive(Debug, Clone)]
pub enum Notification<'a> {
    /// Values of monitored items.
    DataChange(DataChange<'a>),
    /// Events of monitored items.
    Events(EventList<'a>),
    /// The subscription's status changed.
    StatusChange {
        /// The new status.
        status: StatusCode,
        /// The StatusChangeNotification as it is on the wire.
        raw: &'a [u8],
    },
    /// Anything else.
    Other {
        /// The ExtensionObject's type.
        type_id: RawNodeId<'a>,
        /// Its body; none when it has none.
        raw: Option<&'a [u8]>,
    },
}

/// The elements of notificationData. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Notifications<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Notifications<'a> {
    /// Steps over them.
    #[inline]
    fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError> {
        // A null type id and no body is the least an ExtensionObject can be.
        let left = c.count(3)?;
        let notifications = Self { cursor: *c, left };
        for _ in 0..left {
            skip_extension_object(c)?;
        }
        Ok(notifications)
    }
}

impl<'a> Iterator for Notifications<'a> {
    type Item = Result<Notification<'a>, WalkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let notification = notification(&mut self.cursor);
        if notification.is_err() {
            self.left = 0;
        }
        Some(notification)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

fn notification<'a>(c: &mut Cursor<'a>) -> Result<Notification<'a>, WalkError> {
    const BINARY: u8 = 1;
    let type_id = RawNodeId::read(c)?;
    let encoding = c.u8()?;
    let body = if encoding == 0 {
        None
    } else {
        // The offset of the body's end: the cursor has passed its length here.
        let mut inside = *c;
        let raw = c.octets()?;
        inside.u32()?;
        raw.map(|raw| (raw, inside))
    };
    let (RawNodeId::Numeric { namespace: 0, id }, BINARY, Some((raw, mut inside))) =
        (type_id, encoding, body)
    else {
        return Ok(Notification::Other {
            type_id,
            raw: body.map(|(raw, _)| raw),
        });
    };
    let mut c = inside.part(raw.len())?;
    match id {
        type_id::DATA_CHANGE_NOTIFICATION => {
            let left = c.count(LEAST_ITEM)?;
            Ok(Notification::DataChange(DataChange { cursor: c, left }))
        }
        type_id::EVENT_NOTIFICATION_LIST => {
            let left = c.count(LEAST_EVENT)?;
            Ok(Notification::Events(EventList {
                cursor: c,
                left,
                raw,
            }))
        }
        type_id::STATUS_CHANGE_NOTIFICATION => {
            let status = StatusCode::from(c.u32()?);
            skip_diagnostic_info(&mut c)?;
            c.finish()?;
            Ok(Notification::StatusChange { status, raw })
        }
        _ => Ok(Notification::Other {
            type_id,
            raw: Some(raw),
        }),
    }
}

/// A handle and an empty DataValue.
const LEAST_ITEM: usize = 5;

/// What one monitored item reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitoredItem<'a> {
    /// The handle the client gave the item.
    pub client_handle: u32,
    /// The value.
    pub value: RawDataValue<'a>,
}

/// The monitored items of a DataChangeNotification, one after another. Ends after the first
/// error; the diagnosticInfos after the last item are stepped over as well, so that an iteration
/// without an error has seen all of it.
#[derive(Debug, Clone)]
pub struct DataChange<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) left: usize,
}

impl DataChange<'_> {
    /// Items that are left.
    pub fn items(&self) -> usize {
        self.left
    }
}

impl<'a> Iterator for DataChange<'a> {
    type Item = Result<MonitoredItem<'a>, WalkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if self.left > 0
            && let Some(item) = self.cursor.step(item_of_fixed_size)
        {
            return Some(Ok(item));
        }
        Some(self.any())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// What most are, in one step.
#[inline]
fn item_of_fixed_size(bytes: &[u8]) -> Option<(MonitoredItem<'_>, &[u8])> {
    let (&handle, after) = bytes.split_first_chunk()?;
    let (value, rest) = one_of_fixed_size(after)?;
    let item = MonitoredItem {
        client_handle: u32::from_le_bytes(handle),
        value,
    };
    Some((item, rest))
}

impl<'a> DataChange<'a> {
    /// The next item whatever its shape, and what follows the last one.
    #[inline(never)]
    fn any(&mut self) -> Result<MonitoredItem<'a>, WalkError> {
        let item = monitored_item(&mut self.cursor, self.left == 0);
        if item.is_err() {
            self.left = 0;
        }
        item
    }
}

fn monitored_item<'a>(c: &mut Cursor<'a>, last: bool) -> Result<MonitoredItem<'a>, WalkError> {
    let item = MonitoredItem {
        client_handle: c.u32()?,
        value: data_value(c, 0)?,
    };
    if last {
        skip_diagnostic_infos(c)?;
        c.finish()?;
    }
    Ok(item)
}

/// A handle and no fields.
const LEAST_EVENT: usize = 8;

/// What one monitored item reports of an event (Part 4, 7.25.3).
#[derive(Debug, Clone)]
pub struct EventFields<'a> {
    /// The handle the client gave the item.
    pub client_handle: u32,
    /// What its select clauses name, in their order.
    pub fields: Fields<'a>,
}

/// The fields of an event, one after another. All of them were stepped over when this exists.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = RawVariant<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        variant(&mut self.cursor, 0).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// The events of an EventNotificationList, one after another. Ends after the first error.
#[derive(Debug, Clone)]
pub struct EventList<'a> {
    cursor: Cursor<'a>,
    left: usize,
    raw: &'a [u8],
}

impl<'a> EventList<'a> {
    /// Events that are left.
    pub fn events(&self) -> usize {
        self.left
    }

    /// The EventNotificationList as it is on the wire.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }
}

impl<'a> Iterator for EventList<'a> {
    type Item = Result<EventFields<'a>, WalkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let event = event(&mut self.cursor, self.left == 0);
        if event.is_err() {
            self.left = 0;
        }
        Some(event)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

fn event<'a>(c: &mut Cursor<'a>, last: bool) -> Result<EventFields<'a>, WalkError> {
    let client_handle = c.u32()?;
    // A null Variant is a byte.
    let left = c.count(1)?;
    let fields = Fields { cursor: *c, left };
    for _ in 0..left {
        variant(c, 0)?;
    }
    if last {
        c.finish()?;
    }
    Ok(EventFields {
        client_handle,
        fields,
    })
}
