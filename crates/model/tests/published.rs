//! Figures that others published: fitted as the notes on them say.

#![allow(clippy::unwrap_used)]

use model::published::{self, proportional, table};
use model::{Term, Workload, row};

fn us(model: &model::Model, term: Term) -> f64 {
    let found = model.coefficients.iter().find(|it| it.term == term);
    found.unwrap().us
}

/// Mean absolute relative error of predictions of the four points.
fn error(predict: impl Fn(&Workload) -> f64) -> f64 {
    let rows = row::read(published::BURGER2019).unwrap();
    let off = rows
        .iter()
        .map(|it| (predict(&it.workload) / it.cpu_percent - 1.0).abs());
    off.sum::<f64>() / rows.len() as f64
}

#[test]
fn four_points_of_burger_2019_are_costs_of_messages_and_values() {
    let model = published::burger2019().unwrap();
    // 7.6 % when idle, 1.54 ms a message, 26 us a value when errors count as they are; here they count relatively.
    let found = [Term::Base, Term::Message, Term::Value].map(|it| us(&model, it));
    for (found, wanted) in std::iter::zip(found, [7.16e4, 1563.0, 26.5]) {
        assert!((found / wanted - 1.0).abs() < 0.01, "{model:#?}");
    }
    let ours = error(|it| model.predict(it, 0.95).cpu_percent);
    assert!(ours < 0.01, "{ours}");
    // The paper's own form stands beside: eight percent off.
    let paper = model.paper.unwrap();
    assert_eq!(paper.exponent, 0.3);
    let theirs = error(|it| paper.predict(it));
    assert!((0.07..0.09).contains(&theirs), "{theirs}");
}

#[test]
fn use_cases_of_burger_2019_depend_on_who_gets_what() {
    let model = published::burger2019().unwrap();
    // IO points, connections, interval; CPU if signals are shared out, and if everybody gets all.
    for (points, clients, ms, share, all) in [
        (3000.0, 4.0, 100.0, 93.0, 330.0),
        (750.0, 2.0, 100.0, 30.0, 50.0),
        (600.0, 4.0, 100.0, 30.0, 77.0),
    ] {
        let each = |items| model.predict(&Workload::of_signals(clients, items, ms), 0.95);
        let found = [each(points / clients).cpu_percent, each(points).cpu_percent];
        for (found, wanted) in std::iter::zip(found, [share, all]) {
            assert!(
                (found / wanted - 1.0_f64).abs() < 0.03,
                "{points}: {found} {wanted}"
            );
        }
    }
}

#[test]
fn four_points_are_too_few_to_be_sure_and_it_says_so() {
    let model = published::burger2019().unwrap();
    let inside = model.predict(&Workload::of_signals(10.0, 100.0, 100.0), 0.95);
    assert!((inside.level - 0.8).abs() < 1e-9, "{inside:?}");
    let secured = Workload {
        security: model::Security::SignAndEncrypt,
        ..Workload::of_signals(10.0, 100.0, 100.0)
    };
    let secured = model.predict(&secured, 0.95);
    assert!(!secured.is_inside());
    assert!(
        secured
            .unknown
            .iter()
            .any(|it| it.contains("encrypted message")),
        "{secured:?}"
    );
    let far = model.predict(&Workload::of_signals(90.0, 100.0, 100.0), 0.95);
    assert!(
        far.extrapolated
            .is_some_and(|(factor, _)| (2.9..3.7).contains(&factor)),
        "{far:?}"
    );
    // At another interval, sessions and messages no longer go together.
    let faster = model.predict(&Workload::of_signals(10.0, 50.0, 50.0), 0.95);
    assert!(
        faster.unknown.iter().any(|it| it.contains("session")),
        "{faster:?}"
    );
}

#[test]
fn points_of_codesys_cost_for_sampling_and_for_changing() {
    let (head, rows) = table(published::CODESYS);
    assert_eq!(head, ["points", "changing", "cpu_percent"]);
    let column = |at: usize, scale: f64| -> Vec<f64> {
        rows.iter()
            .map(|it| it[at].parse::<f64>().unwrap() * scale)
            .collect()
    };
    let columns = [vec![1.0; rows.len()], column(0, 1e-3), column(1, 1e-3)];
    let (costs, off) = proportional(&columns, &column(2, 1.0));
    for (found, wanted) in std::iter::zip(&costs, [10.2, 6.5, 5.1]) {
        assert!((found / wanted - 1.0_f64).abs() < 0.03, "{costs:?}");
    }
    assert!(off < 0.04, "{off}");
}

#[test]
fn requests_of_an_m241_have_a_fixed_part_and_one_for_each_symbol() {
    let (_, rows) = table(published::SCHNEIDER_M241);
    for (configuration, fixed, each) in [
        ("small", 15.0, 0.54),
        ("medium", 24.0, 0.98),
        ("large", 148.0, 7.5),
    ] {
        let rows: Vec<_> = rows.iter().filter(|it| it[0] == configuration).collect();
        assert_eq!(rows.len(), 6);
        let column =
            |at: usize| -> Vec<f64> { rows.iter().map(|it| it[at].parse().unwrap()).collect() };
        let (costs, off) = proportional(&[vec![1.0; 6], column(1)], &column(2));
        assert!(
            (costs[0] / fixed - 1.0_f64).abs() < 0.05,
            "{configuration}: {costs:?}"
        );
        assert!(
            (costs[1] / each - 1.0_f64).abs() < 0.02,
            "{configuration}: {costs:?}"
        );
        assert!(off < 0.03, "{configuration}: {off}");
    }
}
