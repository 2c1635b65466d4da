//! Results that go on behind an answer.

use std::sync::Arc;

use load::engine::{Lane, Recorder, Setup};
use load::work::{Asker, Operations, Selection};
use plan::{Browse, History, NodeSpec, Nodes, Work};
use record::{Ledger, Measure};
use wire::service::Request;
use wire::types::{
    ByteString, DataValue, ExtensionObject, HistoryData, HistoryReadResponse, HistoryReadResult,
    HistoryReadValueId, NodeId, ReadRawModifiedDetails, RequestHeader, ResponseHeader, StatusCode,
    Variant,
};

use crate::bench::{Fate, MS, World, answer, asked, idle, joined, now};
use crate::{SECOND, constant, is_about, quantile};

#[test]
fn a_browse_with_continuation_points_is_one_operation() {
    let browse = || {
        let mut world = World::new(constant(100), SECOND);
        let objects: NodeSpec = "i=85".parse().unwrap();
        world.phase.work = Work::Browse(Browse::new(objects.into()));
        world.references = (25, 10);
        world.conduct = Arc::new(|_, _| Fate::Answer(MS));
        world
    };
    let tally = browse().tally();
    let whole = tally.whole();
    assert_eq!(whole.sum.counters.completed, 100);
    assert_eq!(whole.sum.counters.values, 2500);
    assert_eq!(whole.sum.counters.sent_sizes.messages, 300);
    assert_eq!(whole.sum.counters.received_sizes.messages, 300);
    assert!(is_about(quantile(&tally, Measure::Service, 0.5), 3e6));
    // Without the rest it ends with its first answer, and the server is told to forget it.
    let mut first = browse();
    let Work::Browse(browse) = &mut first.phase.work else {
        unreachable!()
    };
    browse.follow = false;
    let tally = first.tally();
    let whole = tally.whole();
    assert_eq!(whole.sum.counters.completed, 100);
    assert_eq!(whole.sum.counters.values, 1000);
    assert_eq!(whole.sum.counters.sent_sizes.messages, 200);
    assert!(is_about(quantile(&tally, Measure::Service, 0.5), 1e6));
}

#[test]
fn the_rest_of_a_history_is_asked_for_by_history_read_beside_subscriptions_too() {
    let operations = Operations::new([HistoryReadValueId {
        node_id: NodeId::new(2, 1000u32),
        ..Default::default()
    }]);
    let details = ExtensionObject::from_message(ReadRawModifiedDetails::default());
    let asker = Asker::history(
        RequestHeader::default(),
        &History::new(Nodes::default()),
        details,
        Arc::new(operations.unwrap()),
        Selection::new(0..1, 1),
    );
    let (connection, mut server) = joined(0, 0);
    let setup = Setup {
        askers: vec![asker.unwrap()],
        requests: u64::MAX,
        // The first ledger is that of the subscriptions.
        first: 1,
        ..idle()
    };
    let mut lane = Lane::new(connection, setup);
    let mut ledgers = [Ledger::new(), Ledger::new()];
    lane.pump(now(MS), &mut Recorder::new(&mut ledgers));
    for point in [vec![7], Vec::new()] {
        let asked = asked(&mut lane, &mut server, MS);
        let [(id, Request::HistoryRead(_))] = asked.as_slice() else {
            panic!("{asked:?}");
        };
        let value = DataValue {
            value: Some(Variant::Double(1.5)),
            ..Default::default()
        };
        let history = HistoryData {
            data_values: Some(vec![value; 3]),
        };
        let response = HistoryReadResponse {
            response_header: ResponseHeader::default(),
            results: Some(vec![HistoryReadResult {
                status_code: StatusCode::Good,
                continuation_point: match point.is_empty() {
                    true => ByteString::null(),
                    false => point.into(),
                },
                history_data: ExtensionObject::from_message(history),
            }]),
            diagnostic_infos: None,
        };
        answer(&mut lane, &mut server, *id, response);
        assert!(
            lane.drain(now(2 * MS), &mut Recorder::new(&mut ledgers))
                .is_none()
        );
    }
    let [before, own] = ledgers.map(|ledger| ledger.finish().whole().sum.counters);
    assert_eq!(
        (own.completed, own.values, own.sent_sizes.messages),
        (1, 6, 2)
    );
    assert_eq!(before.completed, 0);
}
