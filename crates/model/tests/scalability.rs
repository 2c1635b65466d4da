//! The Universal Scalability Law, held to table 24 of Tahvanainen 2016: values per second over sessions.

#![allow(clippy::unwrap_used)]

use model::{Peak, Scalability};

const TABLE_24: [(f64, f64); 8] = [
    (1.0, 8002.0),
    (2.0, 15943.0),
    (3.0, 23824.0),
    (4.0, 31682.0),
    (5.0, 39498.0),
    (10.0, 76896.0),
    (20.0, 112_179.0),
    (30.0, 138_617.0),
];

#[test]
fn a_server_of_2016_has_its_peak_near_35_sessions() {
    let law = Scalability::fit(&TABLE_24).unwrap();
    let off = TABLE_24.map(|(n, x)| (law.predict(n) / x - 1.0).abs());
    let off = off.iter().sum::<f64>() / 8.0;
    assert!(off < 0.03, "{off}");
    assert!((law.gamma / 8059.0 - 1.0).abs() < 0.02, "{law:?}");
    match law.peak() {
        Peak::At(peak) => assert!((peak - 35.0).abs() < 2.0, "{peak}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peak_far_from_anything_measured_is_refused() {
    // Fitted to 10 sessions, it is a quarter off at 20: what was measured does not reach its peak.
    let law = Scalability::fit(&TABLE_24[..6]).unwrap();
    assert!(law.predict(20.0) / 112_179.0 > 1.2, "{law:?}");
    assert!(!matches!(law.peak(), Peak::At(_)), "{:?}", law.peak());
}

#[test]
fn too_little_is_no_law() {
    assert_eq!(Scalability::fit(&TABLE_24[..3]), None);
    assert_eq!(Scalability::fit(&[(1.0, 0.0); 5]), None);
}
