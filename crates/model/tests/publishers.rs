//! Publishers of PubSub: their costs are found like those of servers, and never together with them.

#![allow(clippy::unwrap_used)]

use model::{FitError, FitMethod, Row, Security, Term, Wake, Workload, fit, row};
use plan::Random;

/// Microseconds: of being there, a NetworkMessage, a DataSetMessage, a field, an encrypted message.
const BASE: f64 = 2_000.0;
const MESSAGE: f64 = 6.0;
const SET: f64 = 0.5;
const FIELD: f64 = 0.02;
const ENCRYPTED: f64 = 4.0;

fn load(messages: f64, sets: f64, fields: f64, ms: f64, security: Security) -> Workload {
    Workload {
        subscriptions: sets,
        security,
        ..Workload::of_publisher("raw", messages, fields, ms)
    }
}

fn us_per_s(of: &Workload) -> f64 {
    let cycles = 1000.0 / of.publishing_ms;
    let encrypted = match of.security {
        Security::SignAndEncrypt => ENCRYPTED,
        _ => 0.0,
    };
    let sets = SET + FIELD * of.items;
    BASE + cycles * of.sessions * (MESSAGE + encrypted + of.subscriptions * sets)
}

fn rows(noise: f64) -> Vec<Row> {
    let mut random = Random::new(1);
    let mut rows = Vec::new();
    for messages in [1.0, 4.0] {
        for sets in [1.0, 3.0] {
            for fields in [10.0, 100.0, 400.0] {
                for ms in [1.0, 5.0, 20.0] {
                    for security in [Security::None, Security::SignAndEncrypt] {
                        let workload = load(messages, sets, fields, ms, security);
                        let off = 1.0 + noise * (random.above_zero() - 0.5);
                        rows.push(Row {
                            run: format!("{messages} x {sets} x {fields} at {ms}"),
                            cpu_percent: us_per_s(&workload) * off / model::PERCENT,
                            values_per_s: Some(workload.values_per_s()),
                            rss_bytes: None,
                            bytes_per_s: None,
                            window_s: Some(20.0),
                            workload,
                        });
                    }
                }
            }
        }
    }
    rows
}

#[test]
fn rates_of_a_publisher_are_those_of_its_cycles() {
    let of = load(4.0, 3.0, 10.0, 5.0, Security::None);
    assert_eq!(of.messages_per_s(), 800.0);
    assert_eq!(of.data_sets_per_s(), 2_400.0);
    assert_eq!(of.values_per_s(), 24_000.0);
    assert_eq!(of.wake_ups_per_s(), 200.0);
    // Nobody has a session with it, and it samples nothing.
    for term in [
        Term::Session,
        Term::Subscription,
        Term::Item,
        Term::SampleAtPublishing,
        Term::SpreadSample,
        Term::Update,
    ] {
        assert_eq!(term.rate(&of, Wake::Linear), 0.0, "{term:?}");
    }
}

#[test]
fn costs_of_messages_sets_and_fields_are_found() {
    let model = fit(&rows(0.05), FitMethod::Cost).unwrap();
    assert_eq!(model.data.pubsub.as_deref(), Some("raw"));
    assert!(model.metrics.mape < 0.03, "{:?}", model.metrics);
    let of = |term| model.coefficients.iter().find(|it| it.term == term);
    let field = of(Term::Value).unwrap();
    assert!((field.us / FIELD - 1.0).abs() < 0.15, "{field:?}");
    let target = load(2.0, 2.0, 200.0, 10.0, Security::SignAndEncrypt);
    let found = model.predict(&target, 0.95);
    let wanted = us_per_s(&target) / model::PERCENT;
    assert!((found.cpu_percent / wanted - 1.0).abs() < 0.05, "{found:?}");
    assert!((found.low..=found.high).contains(&wanted), "{found:?}");
    // The form of Burger et al. 2019 knows nothing of messages.
    assert!(model.paper_metrics.unwrap().mape > 2.0 * model.metrics.mape);
}

#[test]
fn a_table_of_publishers_is_read_as_it_is_written() {
    let rows = rows(0.0);
    let table = row::write(&rows);
    assert!(table.lines().next().unwrap().ends_with(",pubsub"));
    assert_eq!(row::read(&table).unwrap(), rows);
}

#[test]
fn servers_and_publishers_are_not_in_one_model() {
    let mut mixed = rows(0.0);
    mixed[0].workload = Workload::of_signals(1.0, 10.0, 100.0);
    mixed[1].workload.pubsub = Some("json".to_owned());
    let refused = fit(&mixed, FitMethod::Cost).unwrap_err();
    let FitError::Mixed { whose } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(*whose, ["publishers (json)", "publishers (raw)", "servers"]);
}
