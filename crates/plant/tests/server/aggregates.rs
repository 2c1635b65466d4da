//! Aggregates (Part 13): of histories (Part 11, 6.5.4) and of monitored items (Part 4, 7.22.4).

use std::time::{Duration, Instant};

use plant::{Config, Server};
use wire::types::{
    AggregateConfiguration, AggregateFilter, AggregateFilterResult, AttributeId, BrowseDescription,
    BrowseDirection, BrowseRequest, ByteString, DataChangeNotification, DataValue, DateTime,
    ExtensionObject, HistoryReadResult, ModifyMonitoredItemsRequest, MonitoredItemModifyRequest,
    MonitoringParameters, NodeId, ObjectId, PublishRequest, ReadProcessedDetails, ReferenceTypeId,
    RequestHeader, StatusCode, TimestampsToReturn, Variant, ViewDescription,
};

use crate::client::{Client, PATIENCE, read_value};
use crate::history::{ask, counted, data, node, now, raw};
use crate::start_plant;
use crate::subscribing::{header, item, publish, subscribe, watch};

/// A counter that steps each 2 ms, an array, a text and a value that is written, with histories; results of 50 values at
/// most.
const PLANT: &str = r#"
[limits]
history_values = 50

[[namespace]]
uri = "urn:test:aggregates"

[[namespace.signals]]
ids = "i=1"
type = "UInt32"
pattern = "counter"
update = "2ms"
history = true

[[namespace.signals]]
ids = "i=2"
type = "Int32"
dimensions = [4]
access = "read-write"
history = true

[[namespace.signals]]
ids = "i=3"
type = "String"
access = "read-write"
history = true

[[namespace.signals]]
ids = "i=4"
type = "Double"
access = "read-write"
history = true
"#;

/// Ticks from one update to the next.
const STEP: i64 = 20_000;
const CALCULATED: u32 = 0x0401;
const PARTIAL: u32 = 0x0004;

fn served() -> (Server, Client) {
    let server = start_plant(PLANT, Config::default());
    let client = Client::plain(server.url());
    (server, client)
}

fn processed(aggregates: &[ObjectId], start: i64, end: i64, millis: f64) -> ReadProcessedDetails {
    ReadProcessedDetails {
        start_time: DateTime::from(start),
        end_time: DateTime::from(end),
        processing_interval: millis,
        aggregate_type: Some(aggregates.iter().map(|it| NodeId::from(*it)).collect()),
        aggregate_configuration: AggregateConfiguration {
            use_server_capabilities_defaults: true,
            ..Default::default()
        },
    }
}

fn read(client: &mut Client, details: &ReadProcessedDetails, number: u32) -> HistoryReadResult {
    let details = ExtensionObject::from_message(details.clone());
    let nodes = vec![node(number, ByteString::null())];
    ask(client, details, nodes, false).unwrap().remove(0)
}

/// All pages: their values, and how many there were.
fn pages(client: &mut Client, details: &ReadProcessedDetails) -> (Vec<DataValue>, usize) {
    let (mut values, mut count, mut point) = (Vec::new(), 0, ByteString::null());
    loop {
        let wanted = ExtensionObject::from_message(details.clone());
        let result = ask(client, wanted, vec![node(1, point)], false);
        let result = result.unwrap().remove(0);
        assert_eq!(result.status_code, StatusCode::Good);
        let some = data(&result);
        assert!(some.len() <= 50, "{}", some.len());
        values.extend(some);
        count += 1;
        point = result.continuation_point;
        if point.is_null_or_empty() {
            return (values, count);
        }
    }
}

fn status(value: &DataValue) -> u32 {
    value.status.unwrap_or_default().bits()
}

/// Waits until the counter is so far, and gives the time at which it was 0.
fn counted_to(client: &mut Client, least: u32) -> i64 {
    let until = Instant::now() + PATIENCE;
    loop {
        let (n, at) = now(client, 1);
        if n >= least {
            return at - i64::from(n) * STEP;
        }
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn averages_of_a_counter_are_what_arithmetic_says() {
    let (_server, mut client) = served();
    let zero = counted_to(&mut client, 100);
    // Five values in each of ten intervals, whose means are known.
    let span = |what| processed(&[what], zero + 10 * STEP, zero + 60 * STEP, 10.0);
    let values = data(&read(
        &mut client,
        &span(ObjectId::AggregateFunction_Average),
        1,
    ));
    let expected: Vec<_> = (0..10u32).map(|k| f64::from(10 + 5 * k + 2)).collect();
    let numbers = |values: &[DataValue]| -> Vec<Variant> {
        values.iter().map(|it| it.value.clone().unwrap()).collect()
    };
    let doubles: Vec<Variant> = expected.iter().map(|it| (*it).into()).collect();
    assert_eq!(numbers(&values), doubles);
    assert!(
        values.iter().all(|it| status(it) == CALCULATED),
        "{values:?}"
    );
    let times: Vec<_> = values
        .iter()
        .map(|it| it.source_timestamp.unwrap().ticks())
        .collect();
    let starts: Vec<_> = (0..10).map(|k| zero + (10 + 5 * k) * STEP).collect();
    assert_eq!(times, starts);
    // They are the means of the raw values as well, which another service tells.
    let all = ask(
        &mut client,
        raw(zero + 10 * STEP, zero + 60 * STEP, 0, false),
        vec![node(1, ByteString::null())],
        false,
    );
    let all = counted(&data(&all.unwrap()[0]));
    let means: Vec<Variant> = all
        .chunks(5)
        .map(|five| (five.iter().map(|it| f64::from(it.0)).sum::<f64>() / 5.0).into())
        .collect();
    assert_eq!(numbers(&values), means);
    let least = data(&read(
        &mut client,
        &span(ObjectId::AggregateFunction_Minimum),
        1,
    ));
    assert_eq!(least[3].value, Some(25u32.into()));
    assert_eq!(status(&least[3]), 0, "it was there when the interval began");
    let total = data(&read(
        &mut client,
        &span(ObjectId::AggregateFunction_Total),
        1,
    ));
    // 10 + 11 + 12 + 13 + 14 for 2 ms each.
    assert_eq!(total[0].value, Some(0.12.into()));
}

#[test]
fn however_many_intervals_there_are_a_result_has_no_more_than_it_may() {
    let (_server, mut client) = served();
    let zero = counted_to(&mut client, 130);
    let details = processed(
        &[ObjectId::AggregateFunction_Count],
        zero,
        zero + 120 * STEP,
        2.0,
    );
    let (values, count) = pages(&mut client, &details);
    assert_eq!((values.len(), count), (120, 3));
    assert!(values.iter().all(|it| it.value == Some(Variant::Int32(1))));
}

// Part 11, 6.5.4.2: what takes long to calculate goes on from a continuation point.
#[test]
fn an_interval_of_very_many_values_is_read_in_pieces() {
    let (_server, mut client) = served();
    let zero = counted_to(&mut client, 1300);
    let details = processed(
        &[ObjectId::AggregateFunction_Average],
        zero,
        zero + 1201 * STEP,
        0.0,
    );
    let (values, count) = pages(&mut client, &details);
    // Ten values are folded for each that a result may have: 1201 of 500.
    assert_eq!(count, 3);
    assert_eq!(values.len(), 1);
    assert_eq!(values[0].value, Some(600.0.into()));
}

#[test]
fn what_cannot_be_aggregated_is_refused_with_its_reason() {
    let (_server, mut client) = served();
    let end = DateTime::now().ticks();
    let average = ObjectId::AggregateFunction_Average;
    let good = processed(&[average], end - 1_000_000, end, 10.0);
    let mut refused =
        |details: &ReadProcessedDetails, number| read(&mut client, details, number).status_code;
    let unsupported = StatusCode::BadAggregateNotSupported;
    for number in [2, 3] {
        assert_eq!(refused(&good, number), unsupported);
    }
    let annotations = ObjectId::AggregateFunction_AnnotationCount;
    assert_eq!(
        refused(&processed(&[annotations], end - 10, end, 1.0), 1),
        unsupported
    );
    let invalid = StatusCode::BadInvalidArgument;
    for (start, end, millis) in [
        (end, end, 1.0),
        (0, end, 1.0),
        (1, end, -1.0),
        (1, end, f64::NAN),
    ] {
        assert_eq!(
            refused(&processed(&[average], start, end, millis), 1),
            invalid
        );
    }
    for (bad, good_percent, sloped) in [(50, 40, false), (101, 100, false), (100, 100, true)] {
        let configuration = AggregateConfiguration {
            use_server_capabilities_defaults: false,
            treat_uncertain_as_bad: true,
            percent_data_bad: bad,
            percent_data_good: good_percent,
            use_sloped_extrapolation: sloped,
        };
        let details = ReadProcessedDetails {
            aggregate_configuration: configuration,
            ..good.clone()
        };
        assert_eq!(
            refused(&details, 1),
            StatusCode::BadAggregateConfigurationRejected
        );
    }
    // One aggregate for two nodes.
    let nodes = vec![node(1, ByteString::null()), node(1, ByteString::null())];
    let answer = ask(
        &mut client,
        ExtensionObject::from_message(good),
        nodes,
        false,
    );
    assert_eq!(answer.unwrap_err(), StatusCode::BadAggregateListMismatch);
}

fn filter(what: ObjectId, start: i64, millis: f64) -> ExtensionObject {
    ExtensionObject::from_message(AggregateFilter {
        start_time: DateTime::from(start),
        aggregate_type: what.into(),
        processing_interval: millis,
        aggregate_configuration: AggregateConfiguration {
            use_server_capabilities_defaults: true,
            ..Default::default()
        },
    })
}

/// The next values that are told, so many.
fn told(client: &mut Client, many: usize) -> Vec<DataValue> {
    let (mut values, mut last) = (Vec::new(), None);
    while values.len() < many {
        let response = client.call::<PublishRequest>(publish(last)).unwrap();
        let message = response.notification_message;
        last = Some((response.subscription_id, message.sequence_number));
        for change in message.notification_data.iter().flatten() {
            let change = change.inner_as::<DataChangeNotification>().unwrap();
            let items = change.monitored_items.iter().flatten();
            values.extend(items.map(|it| it.value.clone()));
        }
    }
    values
}

// Part 4, 7.22.4: what an item tells is what a history would have told of the same intervals.
#[test]
fn an_item_tells_of_intervals_what_the_history_tells_of_them() {
    let (server, mut client) = served();
    let zero = counted_to(&mut client, 50);
    let id = subscribe(&mut client, 50.0).subscription_id;
    let what = [
        ObjectId::AggregateFunction_Average,
        ObjectId::AggregateFunction_TimeAverage,
        ObjectId::AggregateFunction_Maximum,
        ObjectId::AggregateFunction_Count,
    ];
    for what in what {
        let mut asked = item(NodeId::new(2, 1u32), 7, 2.0);
        // Boundaries are kept that were past.
        asked.requested_parameters.filter = filter(what, zero, 20.0);
        let result = watch(&mut client, id, vec![asked]).remove(0);
        assert_eq!(result.status_code, StatusCode::Good);
        let revised = result.filter_result.inner_as::<AggregateFilterResult>();
        let revised = revised.unwrap().clone();
        let start = revised.revised_start_time.ticks();
        assert_eq!((start - zero) % (10 * STEP), 0);
        assert_eq!(revised.revised_processing_interval, 20.0);
        assert_eq!(
            revised.revised_aggregate_configuration.percent_data_good,
            100
        );
        let values = told(&mut client, 8);
        let first = values[0].source_timestamp.unwrap().ticks();
        assert_eq!(first, start, "nothing of an interval that had begun");
        // Far enough back for the history to have no end there.
        counted_to(
            &mut client,
            ((start - zero) / STEP) as u32 + 10 * values.len() as u32 + 5,
        );
        let end = start + 10 * STEP * values.len() as i64;
        let history = data(&read(&mut client, &processed(&[what], start, end, 20.0), 1));
        let numbers = |values: &[DataValue]| -> Vec<_> {
            let one = |it: &DataValue| (it.value.clone(), status(it), it.source_timestamp);
            values.iter().map(one).collect()
        };
        assert_eq!(numbers(&values), numbers(&history), "{what:?}");
        let request = wire::types::DeleteMonitoredItemsRequest {
            request_header: header(),
            subscription_id: id,
            monitored_item_ids: Some(vec![result.monitored_item_id]),
        };
        client.call(request).unwrap();
    }
    let tally = server.tally().computed;
    assert!(tally.balances(), "{tally:?}");
    assert!(tally.sent >= 32, "{tally:?}");
    assert!(tally.filtered > 9 * tally.queued, "{tally:?}");
    assert_eq!(tally.unsampled, 0, "{tally:?}");
}

#[test]
fn what_clients_write_is_folded_and_a_filter_may_come_and_go() {
    let (server, mut client) = served();
    let id = subscribe(&mut client, 20.0).subscription_id;
    let mut asked = item(NodeId::new(2, 4u32), 7, 5.0);
    asked.requested_parameters.filter = filter(ObjectId::AggregateFunction_TimeAverage, 0, 1.0);
    let result = watch(&mut client, id, vec![asked]).remove(0);
    let revised = result.filter_result.inner_as::<AggregateFilterResult>();
    let interval = revised.unwrap().revised_processing_interval;
    assert_eq!(interval, 5.0, "at least a sample in each interval");
    // It stands at 4, its number.
    let values = told(&mut client, 3);
    assert_eq!(values[2].value, Some(4.0.into()), "{values:?}");
    assert_eq!(status(&values[2]), CALCULATED);
    let mut modify = |filter| {
        let request = ModifyMonitoredItemsRequest {
            request_header: header(),
            subscription_id: id,
            timestamps_to_return: TimestampsToReturn::Both,
            items_to_modify: Some(vec![MonitoredItemModifyRequest {
                monitored_item_id: result.monitored_item_id,
                requested_parameters: MonitoringParameters {
                    client_handle: 7,
                    sampling_interval: 5.0,
                    filter,
                    queue_size: 10,
                    discard_oldest: true,
                },
            }]),
        };
        let results = client.call(request).unwrap().results.unwrap();
        assert_eq!(results[0].status_code, StatusCode::Good);
        told(&mut client, 1).remove(0)
    };
    let plain = modify(ExtensionObject::null());
    assert_eq!((status(&plain), plain.value), (0, Some(4.0.into())));
    let counts = modify(filter(ObjectId::AggregateFunction_PercentGood, 0, 5.0));
    assert_eq!(counts.value, Some(100.0.into()));
    assert_eq!(status(&counts) & !PARTIAL, CALCULATED);
    drop(client);
    let tally = server.tally().stored;
    assert!(tally.balances(), "{tally:?}");
}

#[test]
fn an_item_that_cannot_be_aggregated_is_refused() {
    let (_server, mut client) = served();
    let id = subscribe(&mut client, 100.0).subscription_id;
    let average = ObjectId::AggregateFunction_Average;
    let mut refused = |number: u32, filter, range: &str| {
        let mut asked = item(NodeId::new(2, number), 7, 5.0);
        asked.item_to_monitor = read_value(NodeId::new(2, number), AttributeId::Value, range);
        asked.requested_parameters.filter = filter;
        watch(&mut client, id, vec![asked]).remove(0).status_code
    };
    let unsupported = StatusCode::BadAggregateNotSupported;
    assert_eq!(refused(2, filter(average, 0, 10.0), ""), unsupported);
    assert_eq!(refused(2, filter(average, 0, 10.0), "1"), unsupported);
    assert_eq!(refused(3, filter(average, 0, 10.0), ""), unsupported);
    let annotations = ObjectId::AggregateFunction_AnnotationCount;
    assert_eq!(refused(1, filter(annotations, 0, 10.0), ""), unsupported);
    let rejected = ExtensionObject::from_message(AggregateFilter {
        aggregate_type: average.into(),
        ..Default::default()
    });
    assert_eq!(
        refused(1, rejected, ""),
        StatusCode::BadAggregateConfigurationRejected,
        "neither bad nor good data would decide"
    );
}

// Part 13, 4.4.
#[test]
fn the_server_says_which_aggregates_it_has() {
    let (_server, mut client) = served();
    let mut names = |folder: ObjectId| {
        let request = BrowseRequest {
            request_header: RequestHeader::default(),
            view: ViewDescription::default(),
            requested_max_references_per_node: 0,
            nodes_to_browse: Some(vec![BrowseDescription {
                node_id: folder.into(),
                browse_direction: BrowseDirection::Forward,
                reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
                include_subtypes: true,
                node_class_mask: 0,
                result_mask: 63,
            }]),
        };
        let mut results = client.call(request).unwrap().results.unwrap();
        let references = results.remove(0).references.unwrap_or_default();
        let names = references.iter().map(|it| it.browse_name.name.to_string());
        names.collect::<Vec<_>>()
    };
    let names = [
        names(ObjectId::Server_ServerCapabilities_AggregateFunctions),
        names(ObjectId::HistoryServerCapabilities_AggregateFunctions),
    ];
    assert_eq!(names[0], names[1]);
    assert_eq!(names[0].len(), 23);
    for name in ["Average", "TimeAverage2", "PercentGood"] {
        assert!(names[0].contains(&name.to_owned()), "{names:?}");
    }
    assert!(!names[0].contains(&"AnnotationCount".to_owned()));
}
