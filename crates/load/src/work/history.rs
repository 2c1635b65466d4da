//! HistoryRead of raw values and of aggregates.

use std::sync::Arc;
use std::time::Duration;

use plan::History;
use wire::types::{
    AttributeId, DateTime, ExtensionObject, HistoryReadRequest, HistoryReadValueId, NodeId,
    ReadProcessedDetails, ReadRawModifiedDetails, ReadRequest, ReadValueId, RequestHeader,
    StatusCode, TimestampsToReturn, VariableId, Variant,
};

use super::operations::Selection;
use super::{Asker, Operations, Service, WorkError, aggregates};
use crate::access::Session;

/// The histories of these nodes.
pub fn history(nodes: &[NodeId]) -> Result<Operations, WorkError> {
    Operations::new(nodes.iter().map(|node| HistoryReadValueId {
        node_id: node.clone(),
        ..Default::default()
    }))
}

/// The stretch of time that all requests are about. It is the server's time: its clock may show
/// another one than ours.
pub fn details(asked: &History, session: &mut Session) -> Result<ExtensionObject, WorkError> {
    let clock = NodeId::from(VariableId::Server_ServerStatus_CurrentTime);
    let response = session.call(ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![ReadValueId {
            node_id: clock.clone(),
            attribute_id: AttributeId::Value as u32,
            ..Default::default()
        }]),
    })?;
    let value = response.results.and_then(|mut all| all.pop());
    let value = value.ok_or(WorkError::Node {
        node: clock.clone(),
        what: "its value cannot be read",
        status: StatusCode::BadUnexpectedError,
    })?;
    let Some(Variant::DateTime(now)) = value.value else {
        return Err(WorkError::Node {
            node: clock,
            what: "its value cannot be read",
            status: value.status.unwrap_or(StatusCode::BadUnexpectedError),
        });
    };
    let ticks = |span: Duration| i64::try_from(span.as_nanos() / 100).unwrap_or(i64::MAX);
    let end = now.ticks().saturating_sub(ticks(asked.ago));
    // Zero would say that there is no such time.
    let start = end.saturating_sub(ticks(asked.last)).max(1);
    let (start, end) = match asked.backwards {
        false => (start, end),
        true => (end, start),
    };
    if let Some(aggregate) = asked.aggregate {
        let function = aggregates::function(aggregate);
        return Ok(ExtensionObject::from_message(ReadProcessedDetails {
            start_time: DateTime::from(start),
            end_time: DateTime::from(end),
            processing_interval: aggregate.interval.as_secs_f64() * 1e3,
            // Part 11, 6.5.4.2: one for each node.
            aggregate_type: Some(vec![function; asked.batch as usize]),
            aggregate_configuration: aggregates::configuration(),
        }));
    }
    Ok(ExtensionObject::from_message(ReadRawModifiedDetails {
        is_read_modified: false,
        start_time: DateTime::from(start),
        end_time: DateTime::from(end),
        num_values_per_node: asked.values,
        return_bounds: asked.bounds,
    }))
}

impl Asker {
    /// HistoryRead requests of a session.
    pub fn history(
        header: RequestHeader,
        asked: &History,
        details: ExtensionObject,
        operations: Arc<Operations>,
        selection: Selection,
    ) -> Result<Self, WorkError> {
        let empty = HistoryReadRequest {
            request_header: header,
            history_read_details: details,
            timestamps_to_return: asked.timestamps.into(),
            release_continuation_points: false,
            nodes_to_read: Some(Vec::new()),
        };
        let release = HistoryReadRequest {
            release_continuation_points: true,
            ..empty.clone()
        };
        let asker = Self::new(Service::History, &empty, operations, selection)?;
        let asker = asker.with_release(&release)?;
        Ok(match asked.follow {
            true => asker,
            false => asker.without_rest(),
        })
    }
}

#[cfg(test)]
mod tests {
    use wire::service::{Limits, Request};

    use super::*;

    #[test]
    fn what_goes_on_names_its_nodes_and_what_is_let_go_says_so() {
        let nodes: Vec<_> = (0..5).map(|n| NodeId::new(2, 1000 + n)).collect();
        let operations = Arc::new(history(&nodes).unwrap());
        let asked = History::new(plan::Nodes::default());
        let details = ExtensionObject::from_message(ReadRawModifiedDetails::default());
        let selection = Selection::new(1..5, 3);
        let header = RequestHeader::default();
        let mut asker = Asker::history(header, &asked, details, operations, selection).unwrap();
        let read = |out: &[u8]| match Request::decode(out, &Limits::default()) {
            Ok(Request::HistoryRead(read)) => read,
            other => panic!("{other:?}"),
        };
        let ids = |request: &HistoryReadRequest| -> Vec<_> {
            let nodes = request.nodes_to_read.iter().flatten();
            nodes.map(|node| node.node_id.as_u32().unwrap()).collect()
        };
        let mut out = Vec::new();
        asker.append(&mut out, 1, 1);
        assert_eq!(ids(&read(&out)), [1001, 1002, 1003]);
        let first = asker.next();
        out.clear();
        asker.append(&mut out, 2, 1);
        assert_eq!(ids(&read(&out)), [1004, 1001, 1002]);
        // The second and the third operation of that request go on.
        let rest = [1, 2].map(|at| (asker.place(first, at), vec![at as u8; 3].into()));
        for release in [false, true] {
            out.clear();
            asker.append_rest(&rest, release, &mut out, 3, 1);
            let request = read(&out);
            assert_eq!(ids(&request), [1001, 1002]);
            assert_eq!(request.release_continuation_points, release);
            let points = request.nodes_to_read.unwrap();
            assert_eq!(points[1].continuation_point.as_ref(), [2, 2, 2]);
        }
    }
}
