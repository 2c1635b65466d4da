//! What stands in a NotificationMessage.

use record::notification_ledger::{EventInfo, EventKind, Gap, Open};
use wire::template::walk::{Fields, Notification, Notifications, RawNodeId};
use wire::types::StatusCode;

use crate::work::events::Places;

/// Everything in a message: tells what is missing before it, and whether it says that the
/// subscription has ended.
pub(super) fn hear(
    mut open: Open<'_>,
    notifications: Notifications<'_>,
    places: Places,
) -> (Option<Gap>, Option<StatusCode>) {
    let mut ended = None;
    // What cannot be read ends the message; the connection has vouched for its length.
    for notification in notifications.map_while(Result::ok) {
        match notification {
            Notification::DataChange(items) => {
                // What cannot be read ends the message, as below.
                let _ = items.each(|it| {
                    open.value(it.client_handle, it.status, it.source, it.server, it.count);
                });
            }
            Notification::StatusChange { status, .. } => ended = Some(status),
            Notification::Events(events) => {
                for event in events.map_while(Result::ok) {
                    open.event(event.client_handle, told(event.fields, places));
                }
            }
            Notification::Other { .. } => {}
        }
    }
    (open.end(), ended)
}

/// What accounting needs of an event.
fn told<'a>(fields: Fields<'a>, places: Places) -> EventInfo<'a> {
    let mut told = EventInfo::default();
    for (at, field) in fields.enumerate() {
        if at == places.id {
            told.id = field.as_octets();
        } else if at == places.kind {
            told.kind = match field.as_node_id() {
                Some(RawNodeId::Numeric { namespace, id }) => Some(EventKind { namespace, id }),
                _ => None,
            };
        } else if at == places.time {
            told.time = field.as_time().unwrap_or(0);
        } else if at == places.received {
            told.received = field.as_time().unwrap_or(0);
        }
    }
    told
}
