//! The limits of a plant file: those that are there take the place of the server's own.

use std::time::Duration;

use toml::Spanned;

use super::document::LimitsTable;
use super::error::Complaint;
use crate::limits::Limits;
use crate::terms::{ByteCount, Span};

/// Chunks have to be at least this large (Part 6, 7.1.2.3).
const LEAST_BUFFER: u32 = wire::frame::MIN_BUFFER;

/// Requests that open a session, with certificates in them, are no longer.
const LEAST_JSON: usize = 64 * 1024;

/// With less nothing can be served: a message has 64 KiB, and a client half of the memory at most.
pub const LEAST_MEMORY: usize = 1024 * 1024;

/// The memory for all clients, if the file says so.
pub fn memory(table: Option<&LimitsTable>) -> Result<Option<usize>, Complaint> {
    let asked = table.and_then(|table| table.memory.as_ref());
    asked.map(enough).transpose()
}

fn enough(asked: &Spanned<ByteCount>) -> Result<usize, Complaint> {
    match asked.get_ref().0 {
        few if few < LEAST_MEMORY => {
            let what = format!("is {few} bytes (want {LEAST_MEMORY} or more)");
            Err(Complaint::about(asked, what))
        }
        bytes => Ok(bytes),
    }
}

pub fn limits(table: LimitsTable) -> Result<Limits, Complaint> {
    let mut limits = Limits::default();
    let sizes = &mut limits.sizes;
    for (to, asked) in [
        (&mut sizes.receive_buffer, &table.receive_buffer),
        (&mut sizes.send_buffer, &table.send_buffer),
    ] {
        if let Some(asked) = asked {
            let size = asked.get_ref().0;
            if size < LEAST_BUFFER {
                let what = format!("is {size} bytes (want {LEAST_BUFFER} or more)");
                return Err(Complaint::about(asked, what));
            }
            *to = size;
        }
    }
    if let Some(size) = table.receive_message {
        sizes.receive_message = size.into_inner().0;
    }
    if let Some(chunks) = table.receive_chunks {
        sizes.receive_chunks = chunks;
    }
    if let Some(asked) = table.json_request {
        limits.json_request =
            json_request(asked.get_ref().0).map_err(|what| Complaint::about(&asked, what))?;
    }
    for (to, asked) in [
        (&mut limits.connections, table.connections),
        (&mut limits.sessions, table.sessions),
        (&mut limits.nodes_per_read, table.nodes_per_read),
        (&mut limits.nodes_per_write, table.nodes_per_write),
        (&mut limits.methods_per_call, table.methods_per_call),
        (&mut limits.nodes_per_browse, table.nodes_per_browse),
        (&mut limits.nodes_per_register, table.nodes_per_register),
        (&mut limits.paths_per_translate, table.paths_per_translate),
        (&mut limits.references_per_node, table.references_per_node),
        (&mut limits.continuation_points, table.continuation_points),
        (&mut limits.added_nodes, table.added_nodes),
        (&mut limits.history_values, table.history_values),
        (&mut limits.items_per_call, table.items_per_call),
        (
            &mut limits.subscriptions_per_session,
            table.subscriptions_per_session,
        ),
        (
            &mut limits.items_per_subscription,
            table.items_per_subscription,
        ),
        (&mut limits.publish_requests, table.publish_requests),
        (&mut limits.kept_messages, table.kept_messages),
    ] {
        if let Some(asked) = asked {
            if *asked.get_ref() == 0 {
                return Err(Complaint::about(&asked, "is 0 (want 1 or more)"));
            }
            *to = asked.into_inner();
        }
    }
    for (to, asked) in [
        (&mut limits.connection_memory, table.connection_memory),
        (&mut limits.session_memory, table.session_memory),
    ] {
        if let Some(asked) = asked {
            *to = enough(&asked)?;
        }
    }
    if let Some(timeout) = table.message_timeout {
        limits.message_timeout = at_least_a_millisecond(&timeout)?;
    }
    if let Some(size) = table.queue_size {
        if *size.get_ref() == 0 {
            return Err(Complaint::about(&size, "is 0 (want 1 or more)"));
        }
        limits.queue_size = size.into_inner();
    }
    if let Some(interval) = table.sampling_interval {
        limits.sampling_interval = at_least_a_millisecond(&interval)?;
    }
    if let Some(lifetime) = table.subscription_lifetime_max {
        limits.subscription_lifetime = at_least_a_millisecond(&lifetime)?;
    }
    limits.session_timeout = range(
        limits.session_timeout,
        table.session_timeout_min,
        table.session_timeout_max,
    )?;
    limits.publishing_interval = range(
        limits.publishing_interval,
        table.publishing_interval_min,
        table.publishing_interval_max,
    )?;
    Ok(limits)
}

/// The longest request in JSON, if it may be so long.
///
/// # Errors
/// What is wrong with it.
pub fn json_request(bytes: usize) -> Result<usize, String> {
    match bytes < LEAST_JSON {
        true => Err(format!("is {bytes} bytes (want {LEAST_JSON} or more)")),
        false => Ok(bytes),
    }
}

fn at_least_a_millisecond(time: &Spanned<Span>) -> Result<Duration, Complaint> {
    let span = time.get_ref().0;
    match span < Duration::from_millis(1) {
        true => Err(Complaint::about(
            time,
            format!("is {span:?} (want 1ms or more)"),
        )),
        false => Ok(span),
    }
}

type Bounds = std::ops::RangeInclusive<Duration>;

fn range(
    bounds: Bounds,
    min: Option<Spanned<Span>>,
    max: Option<Spanned<Span>>,
) -> Result<Bounds, Complaint> {
    let (mut low, mut high) = bounds.into_inner();
    if let Some(min) = &min {
        low = at_least_a_millisecond(min)?;
        high = high.max(low);
    }
    if let Some(max) = &max {
        high = at_least_a_millisecond(max)?;
        if min.is_none() {
            low = low.min(high);
        }
        if high < low {
            let what = format!("is {high:?}, less than the minimum {low:?} (want that or more)");
            return Err(Complaint::about(max, what));
        }
    }
    Ok(low..=high)
}
