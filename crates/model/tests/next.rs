//! Which loads to measure next: on made-up servers, whether what was promised came.

#![allow(clippy::unwrap_used)]

use model::next::{Advice, Limit, next};
use model::{FitMethod, Model, Row, Security, Workload, fit};
use plan::Random;

fn cost(of: &Workload) -> f64 {
    let secured = match of.security {
        Security::None => 0.0,
        _ => 120.0 * of.sent_per_s(),
    };
    (20_000.0 + 150.0 * of.messages_per_s() + 1.5 * of.values_per_s() + secured) / 1e4
}

fn row(of: &Workload, noise: f64, random: &mut Random) -> Row {
    let normal = (0..12).map(|_| random.above_zero()).sum::<f64>() - 6.0;
    Row {
        run: String::new(),
        cpu_percent: cost(of) * (1.0 + noise * normal),
        workload: of.clone(),
        values_per_s: None,
        rss_bytes: None,
        bytes_per_s: None,
        window_s: None,
    }
}

fn loads() -> Vec<Workload> {
    let mut all = Vec::new();
    for clients in [1.0, 3.0, 10.0, 30.0] {
        for items in [10.0, 50.0, 200.0, 1000.0] {
            for ms in [50.0, 100.0, 200.0, 500.0] {
                all.push(Workload::of_signals(clients, items, ms));
            }
        }
    }
    all
}

/// A model of small loads only.
fn of_small(noise: f64, seed: u64) -> (Vec<Row>, Model) {
    let mut random = Random::new(seed);
    let small = loads()
        .into_iter()
        .filter(|it| it.sessions < 5.0 && it.items < 100.0);
    let rows: Vec<Row> = small.map(|it| row(&it, noise, &mut random)).collect();
    let model = fit(&rows, FitMethod::Cost).unwrap();
    (rows, model)
}

/// Its width as a ratio.
fn width(model: &Model, of: &Workload) -> f64 {
    let found = model.predict(of, 0.9);
    (found.high / found.low).ln()
}

fn ask(model: &Model, target: &Workload, runs: usize) -> Advice {
    next(
        model,
        std::slice::from_ref(target),
        &loads(),
        (runs, 90.0),
        0.9,
    )
}

#[test]
fn loads_that_are_chosen_make_the_interval_narrower_than_others_and_as_narrow_as_promised() {
    const REPEATS: u64 = 12;
    let target = Workload::of_signals(20.0, 600.0, 100.0);
    let (mut ours, mut others, mut before, mut promised) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..REPEATS {
        let (rows, model) = of_small(0.05, seed);
        assert!(!model.predict(&target, 0.9).is_inside());
        before += width(&model, &target);
        let advice = ask(&model, &target, 4);
        assert_eq!((advice.nothing, advice.steps.len()), (None, 4));
        let then = advice.steps[3].then[0];
        promised += (then.high / then.low).ln();
        let mut random = Random::new(100 + seed);
        let mut with = |chosen: Vec<Workload>| {
            let more = chosen.iter().map(|it| row(it, 0.05, &mut random));
            let rows: Vec<Row> = rows.iter().cloned().chain(more).collect();
            width(&fit(&rows, FitMethod::Cost).unwrap(), &target)
        };
        let all = loads();
        let chosen = advice.steps.iter().map(|it| all[it.candidate].clone());
        ours += with(chosen.collect());
        let mut dice = Random::new(200 + seed);
        let any = (0..4).map(|_| all[(dice.next_u64() % all.len() as u64) as usize].clone());
        others += with(any.collect());
    }
    let each = REPEATS as f64;
    println!(
        "width {} before, {} promised, {} reached, {} with any loads",
        before / each,
        promised / each,
        ours / each,
        others / each
    );
    assert!(ours < 0.9 * before, "{ours} {before}");
    assert!(ours < others, "{ours} {others}");
    assert!((0.5..2.0).contains(&(promised / ours)), "{promised} {ours}");
}

#[test]
fn a_cost_that_nobody_measured_is_measured_first() {
    let (_, model) = of_small(0.05, 3);
    let target = Workload {
        security: Security::Sign,
        ..Workload::of_signals(3.0, 50.0, 100.0)
    };
    let mut candidates = loads();
    let plain = candidates.len();
    candidates.extend(loads().into_iter().map(|it| Workload {
        security: Security::Sign,
        ..it
    }));
    let advice = next(
        &model,
        std::slice::from_ref(&target),
        &candidates,
        (3, 90.0),
        0.9,
    );
    assert!(advice.steps[0].candidate >= plain, "{advice:?}");
    let then = advice.steps[0].then[0];
    assert!(then.high / then.low < 2.0, "{advice:?}");
}

#[test]
fn where_nothing_helps_it_is_said_and_why() {
    // A load in the midst of many: what is left is noise.
    let target = Workload::of_signals(10.0, 200.0, 100.0);
    let of = |noise: f64, times: usize, bend: &dyn Fn(&Workload) -> f64| {
        let mut random = Random::new(5);
        let each = loads();
        let all = each.iter().flat_map(|it| std::iter::repeat_n(it, times));
        let rows = all.map(|it| {
            let mut row = row(it, noise, &mut random);
            row.cpu_percent *= bend(it);
            row
        });
        ask(
            &fit(&rows.collect::<Vec<_>>(), FitMethod::Cost).unwrap(),
            &target,
            5,
        )
    };
    let straight = |_: &Workload| 1.0;
    assert_eq!(of(0.05, 3, &straight).nothing, Some(Limit::Noise));
    assert_eq!(of(0.05, 1, &straight).nothing, Some(Limit::Unknown));
    let bent = |it: &Workload| (0.35 * (1.5 * it.sessions.ln()).sin()).exp();
    assert_eq!(of(0.01, 3, &bent).nothing, Some(Limit::Form));
}

#[test]
fn what_a_server_cannot_take_is_not_proposed() {
    let (_, model) = of_small(0.05, 7);
    let target = Workload::of_signals(30.0, 1000.0, 50.0);
    let limit = 30.0;
    let advice = next(
        &model,
        std::slice::from_ref(&target),
        &loads(),
        (5, limit),
        0.9,
    );
    assert!(
        advice.steps.iter().all(|it| it.cpu_percent <= limit),
        "{advice:?}"
    );
    let none = next(&model, &[target], &loads(), (5, 0.001), 0.9);
    assert!(none.steps.is_empty());
}
