//! Memory and bytes of servers where both are known.

#![allow(clippy::unwrap_used)]

use model::{FitMethod, Row, Security, Term, Workload, fit, row};
use plan::Random;

/// Bytes: of a server with nobody, of a session, of an item.
const EMPTY: f64 = 20e6;
const SESSION: f64 = 150e3;
const ITEM: f64 = 1_200.0;

/// Bytes of a message, of a value in one, of what encryption adds to a message.
const MESSAGE: f64 = 160.0;
const VALUE: f64 = 26.0;
const ENCRYPTED: f64 = 60.0;

fn memory(of: &Workload) -> f64 {
    EMPTY + SESSION * of.sessions + ITEM * of.all_items()
}

fn bytes(of: &Workload) -> f64 {
    let secured = match of.security {
        Security::SignAndEncrypt => ENCRYPTED,
        _ => 0.0,
    };
    (MESSAGE + secured) * of.messages_per_s() + VALUE * of.values_per_s()
}

fn rows(noise: f64) -> Vec<Row> {
    let mut random = Random::new(1);
    let mut off = || 1.0 + noise * (random.above_zero() - 0.5);
    let mut rows = Vec::new();
    for clients in [1.0, 5.0, 20.0] {
        for items in [10.0, 100.0, 1000.0] {
            for ms in [100.0, 500.0] {
                for security in [Security::None, Security::SignAndEncrypt] {
                    let workload = Workload {
                        security,
                        variables: 20_000.0,
                        ..Workload::of_signals(clients, items, ms)
                    };
                    rows.push(Row {
                        run: format!("{clients} x {items} at {ms}"),
                        cpu_percent: (2.0 + 1e-3 * workload.values_per_s()) * off(),
                        values_per_s: None,
                        rss_bytes: Some(memory(&workload) * off()),
                        bytes_per_s: Some(bytes(&workload) * off()),
                        window_s: None,
                        workload,
                    });
                }
            }
        }
    }
    rows
}

#[test]
fn memory_and_bytes_are_predicted_with_intervals_that_hold() {
    let model = fit(&rows(0.06), FitMethod::Cost).unwrap();
    // A9 of the acceptance numbers: 10 % of memory, 3 % of bytes.
    let (of_memory, of_bytes) = (
        model.memory.as_ref().unwrap(),
        model.bytes.as_ref().unwrap(),
    );
    assert!(of_memory.metrics.mape < 0.10, "{:?}", of_memory.metrics);
    assert!(of_bytes.metrics.mape < 0.03, "{:?}", of_bytes.metrics);
    let item = of_memory
        .coefficients
        .iter()
        .find(|it| it.term == Term::Item);
    assert!((item.unwrap().us / ITEM - 1.0).abs() < 0.1, "{of_memory:?}");
    for (clients, items, ms) in [
        (2.0, 50.0, 200.0),
        (10.0, 400.0, 250.0),
        (15.0, 20.0, 100.0),
    ] {
        let load = Workload {
            variables: 20_000.0,
            ..Workload::of_signals(clients, items, ms)
        };
        for (found, wanted, share) in [
            (model.memory(&load, 0.95).unwrap(), memory(&load), 0.05),
            (model.bytes(&load, 0.95).unwrap(), bytes(&load), 0.03),
        ] {
            assert!(
                (found.value / wanted - 1.0).abs() < share,
                "{found:?} {wanted}"
            );
            assert!(
                (found.low..=found.high).contains(&wanted),
                "{found:?} {wanted}"
            );
            assert_eq!((found.extrapolated, found.level), (None, 0.95));
        }
    }
}

#[test]
fn what_was_not_measured_of_memory_and_bytes_is_said() {
    let model = fit(&rows(0.0), FitMethod::Cost).unwrap();
    let signed = Workload {
        security: Security::Sign,
        variables: 20_000.0,
        ..Workload::of_signals(100.0, 1000.0, 100.0)
    };
    let found = model.bytes(&signed, 0.95).unwrap();
    let (factor, _) = found.extrapolated.unwrap();
    assert!((factor - 5.0).abs() < 0.01, "{found:?}");
    assert_eq!(
        found.unknown,
        ["bytes of each signed message: none was measured"]
    );
    // Rows without a word of memory make a model without it.
    let mut silent = rows(0.0);
    for row in &mut silent {
        (row.rss_bytes, row.bytes_per_s) = (None, None);
    }
    let model = fit(&silent, FitMethod::Cost).unwrap();
    assert_eq!(model.memory(&signed, 0.95), None);
    assert_eq!(model.bytes(&signed, 0.95), None);
    assert!(!model.to_json().contains("\"memory\""));
}

#[test]
fn a_table_has_a_column_of_bytes_only_where_something_is_in_it() {
    let mut some = rows(0.0);
    assert_eq!(row::read(&row::write(&some)).unwrap(), some);
    assert!(
        row::write(&some).starts_with("schema,run,")
            && row::write(&some).contains(",bytes_per_s\n")
    );
    for row in &mut some {
        row.bytes_per_s = None;
    }
    assert!(!row::write(&some).contains("bytes_per_s"));
    assert_eq!(row::read(&row::write(&some)).unwrap(), some);
}
