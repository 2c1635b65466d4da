//! A figure is one number, wherever it stands: the threshold, the screen, the page, the table, JUnit.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use judge::{Measured, expectations};
use plan::unit::Rate;
use plan::unit::duration::show_nanos;
use plan::{Figures, Measure, Stat, Threshold};
use proptest::prelude::*;
use record::run::{Fingerprint, Kind, Part, Phase, Subscriptions, Sum, Target, WarmUp};
use record::{Closed, Lateness, Ledger, Run, Times};
use report::running::{Running, prometheus};
use report::{Named, Style};

/// A request: how long after the one before it was due, how late it was sent, how long it took, and how it ended.
#[derive(Debug, Clone)]
struct Request {
    gap: u64,
    late: u64,
    took: u64,
    status: u32,
}

const GOOD: u32 = 0;
const BAD: u32 = 0x8034_0000;

fn request() -> impl Strategy<Value = Request> {
    let status = prop_oneof![9 => Just(GOOD), 1 => Just(BAD)];
    let times = (1_000u64..20_000_000, 0u64..3_000_000, 1_000u64..80_000_000);
    (times, status).prop_map(|((gap, late, took), status)| Request {
        gap,
        late,
        took,
        status,
    })
}

fn name(code: u32) -> String {
    if code == GOOD {
        "Good"
    } else {
        "BadNodeIdUnknown"
    }
    .to_owned()
}

/// A ledger with these requests in it.
fn ledger(requests: &[Request]) -> Ledger {
    watched(requests, |_| {})
}

/// The same, with somebody who watches.
fn watched(requests: &[Request], mut told: impl FnMut(Closed)) -> Ledger {
    let mut ledger = Ledger::new();
    let mut due = 0;
    for it in requests {
        due += it.gap;
        let sent = due + it.late;
        let lateness = Lateness {
            pacer: it.late,
            ..Lateness::default()
        };
        ledger.late(sent, lateness, 1);
        let times = Times {
            planned: due,
            sent,
            completed: sent + it.took,
        };
        ledger.done(times, it.status, 1, 1);
        ledger.take_closed(due).for_each(&mut told);
    }
    ledger.take_rest(due + 1_000_000_000).for_each(&mut told);
    ledger
}

/// A ledger of a subscription that heard of a value at each of these moments.
fn notified(values: &[Request]) -> Ledger {
    let mut ledger = Ledger::new();
    let mut at = 0;
    for it in values {
        at += it.gap;
        ledger.note(at, record::Measure::Delay, it.took, 1);
        ledger.note(at, record::Measure::PublishDelay, it.late, 1);
    }
    ledger
}

/// A run of one phase, with a warm-up if it is to have one.
fn measured(ledger: Ledger, warm_up_ns: u64, is_found: bool, cycles: &[u64]) -> Run {
    let started = "2026-03-01T09:30:00Z".parse().unwrap();
    let warm_up = WarmUp {
        given_ns: (!is_found).then_some(warm_up_ns),
        found_ns: is_found.then_some(warm_up_ns),
        cut_ns: warm_up_ns,
        ..WarmUp::default()
    };
    let tally = ledger.finish();
    let mut phase = Phase::new("only", started, &tally, warm_up, 0, &name);
    phase.cycles_ns = cycles.to_vec();
    let mut run = Run::new("read", started, Fingerprint::default());
    run.phases.push(phase);
    run
}

/// Rows of the table of a service, by their metric.
fn table_of(run: &Run, service: &str) -> Vec<(String, String)> {
    let rows = report::csv::csv(run);
    let rows = rows.lines().skip(1).filter_map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        (fields[4] == service).then(|| (fields[5].to_owned(), fields[6].to_owned()))
    });
    rows.collect()
}

/// Those of the whole phase.
fn table(run: &Run) -> Vec<(String, String)> {
    table_of(run, "read")
}

/// The figures in a row of one of the page's tables, as a spreadsheet gets them.
fn cells(page: &str, caption: &str, label: &str) -> Vec<Option<f64>> {
    let (_, table) = page
        .split_once(&format!("aria-label=\"{caption}\""))
        .unwrap_or_else(|| panic!("no table {caption}"));
    let table = table.split("</table>").next().unwrap();
    let mut rows = table.split("<tr>");
    let head = format!(">{label}</th>");
    let row = rows.find(|row| row.contains(&head));
    let row = row.unwrap_or_else(|| panic!("no row {label} in {table}"));
    let cells = row.split("<td").skip(1).map(|cell| {
        let (_, value) = cell.split_once("data-v=\"")?;
        value.split('"').next()?.parse().ok()
    });
    cells.collect()
}

/// The same figure: a page has it with fewer digits.
fn same(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-3_f64.max(one.abs() * 1e-4),
        (one, other) => one == other,
    }
}

/// A sample of the text that Prometheus reads.
fn sample(text: &str, name: &str) -> f64 {
    let mut own = text.lines().filter(|line| line.starts_with(name));
    let own = own.next().unwrap_or_else(|| panic!("no {name}"));
    own.rsplit(' ').next().unwrap().parse().unwrap()
}

/// What a threshold speaks of that is called like a metric of the table. Counts of a threshold are those of the whole
/// phase, those of the table have rows for what was left out beside them.
fn threshold(metric: &str) -> Option<Threshold> {
    let read = ["0", "0s", "1/s"].map(|zero| format!("{metric}>{zero}").parse());
    let read: Threshold = read.into_iter().find_map(Result::ok)?;
    let counts = matches!(
        read.stat,
        Stat::Errors | Stat::ErrorShare | Stat::Timeouts | Stat::TimeoutShare
    );
    (!counts).then_some(read)
}

/// The words of a row of the screen.
fn row(screen: &str, label: &str) -> Vec<String> {
    let lines = screen.lines().map(str::trim_start);
    let mut own = lines.filter_map(|line| line.strip_prefix(label)?.strip_prefix(' '));
    let words = own.next().unwrap_or_default().split_whitespace();
    words.map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_figure_is_the_same_wherever_it_stands(
        requests in proptest::collection::vec(request(), 1..400),
        warm_up in prop_oneof![Just(0u64), 0u64..2_000_000_000],
        is_found in any::<bool>(),
        cycles in proptest::collection::vec(1_000u64..90_000_000, 0..30),
    ) {
        let mut running = Running::new("read", "only");
        let own = watched(&requests, |closed| running.add(0, 0, &closed));
        let mut run = measured(own, warm_up, is_found, &cycles);
        // Two services, which are asked in turn.
        run.targets = vec![Target::default()];
        let (odd, even): (Vec<_>, Vec<_>) = requests.iter().cloned().enumerate().partition(|(n, _)| n % 2 == 1);
        for (service, of) in [("odd", odd), ("even", even)] {
            let of: Vec<Request> = of.into_iter().map(|(_, it)| it).collect();
            let (from, to) = (run.phases[0].from_ns, run.phases[0].to_ns);
            let sum = Sum::of(&ledger(&of).finish().window(from, to), &name);
            run.phases[0].parts.push(Part { target: 0, service: service.into(), sum });
        }
        let phase = run.phases[0].clone();
        let figures = Measured(&phase);

        // The table: every metric that a threshold can name.
        let table = table(&run);
        let mut compared = 0;
        for (metric, value) in &table {
            let Some(threshold) = threshold(metric) else { continue };
            let figure = figures.figure(threshold.measure, threshold.stat);
            let figure = figure.map_or_else(String::new, |it| it.to_string());
            prop_assert_eq!(&figure, value, "{}", metric);
            compared += 1;
        }
        prop_assert!(compared > 50, "{compared}: {table:?}");

        // The screen, rounded as it rounds.
        let screen = report::summary(&run, Style::PLAIN);
        let response = |stat| figures.figure(Measure::Response, stat);
        let shown = row(&screen, "response");
        if let (Some(mean), Some(max)) = (response(Stat::Mean), response(Stat::Max)) {
            let joined = shown.join(" ");
            prop_assert!(joined.starts_with(&show_nanos(mean)), "{} in {}", show_nanos(mean), joined);
            let max = show_nanos(max);
            prop_assert!(joined.ends_with(&max), "{} in {}", max, joined);
            let median = show_nanos(response(Stat::P50).unwrap());
            prop_assert!(joined.contains(&median) || joined.contains("n/a"), "{} in {}", median, joined);
        }
        if let Some(rate) = response(Stat::Rate) {
            let rate = format!("{} requests", Rate::show(rate));
            prop_assert!(row(&screen, "rate").join(" ").starts_with(&rate), "{} in {}", rate, screen);
        }

        // Thresholds that are just met and just missed, in the file, on the screen, in JUnit and on the page.
        let mut asked: Vec<Threshold> = Vec::new();
        for text in ["response.mean>=0s", "response.max>=0s", "rate>=1/s", "errors>=0", "response.p50>=0s"] {
            asked.push(text.parse().unwrap());
        }
        run.phases[0].expectations = expectations(&asked, &phase);
        run.phases[0].verdict.kind = Kind::Valid;
        let junit = report::junit(&[Named::new("r", run.clone())], &[]);
        let page = report::html(&[Named::new("r", run.clone())], None);
        for (threshold, it) in std::iter::zip(&asked, &run.phases[0].expectations) {
            let found = figures.figure(threshold.measure, threshold.stat);
            if it.found.is_some() {
                prop_assert_eq!(it.found, found, "{}", threshold);
            }
            prop_assert!(junit.contains(&it.expected.replace('>', "&gt;")), "{} in {}", it.expected, junit);
            prop_assert!(page.contains(&it.expected.replace('>', "&gt;")), "{}", it.expected);
        }
        // Prometheus counts from the beginning, as conditions on errors do.
        let scraped = prometheus(&[running]);
        let whole = phase.whole();
        prop_assert_eq!(sample(&scraped, "uaperf_requests_completed_total{"), whole.completed as f64);
        prop_assert_eq!(Some(sample(&scraped, "uaperf_requests_failed_total{")), figures.figure(Measure::Response, Stat::Errors));
        // The page's tables: all times, and each service by itself.
        for (measure, label) in [
            (Measure::Response, "response"),
            (Measure::Service, "service"),
            (Measure::Lateness, "lateness"),
            (Measure::Pacer, "of it pacer"),
        ] {
            if phase.total.histogram(measure.name()).is_empty() {
                continue;
            }
            let stats = [Stat::Mean, Stat::Deviation, Stat::P50, Stat::P90, Stat::P99, Stat::P99_9, Stat::Max];
            for (stat, found) in std::iter::zip(stats, cells(&page, "Times", label)) {
                let of_few = found.is_none() && stat.quantile().is_some();
                let figure = figures.figure(measure, stat);
                prop_assert!(of_few || same(figure, found), "{} {}: {:?} {:?}", label, stat, figure, found);
            }
        }
        for part in &phase.parts {
            let rows = table_of(&run, &part.service);
            let metrics = ["rate", "errors", "response.mean", "response.p50", "response.p99", "response.max"];
            let found = cells(&page, "Targets and services side by side", &part.service);
            for (metric, found) in std::iter::zip(metrics, found) {
                let row = rows.iter().find(|(name, _)| name == metric).unwrap();
                prop_assert!(same(row.1.parse().ok(), found), "{} {}: {} {:?}", part.service, metric, row.1, found);
            }
        }
        // Runs side by side on the screen.
        let beside = report::show(&[Named::new("a", run.clone()), Named::new("b", run.clone())], Style::PLAIN);
        if let Some(max) = response(Stat::Max) {
            prop_assert!(row(&beside, "max").join("").starts_with(&show_nanos(max).replace(' ', "")), "{}", beside);
        }
        // What the page says first.
        if let Some(rate) = response(Stat::Rate).filter(|_| phase.total.planned > 0) {
            prop_assert!(page.contains(&Rate::show(rate)), "{}", Rate::show(rate));
        }
    }
}

/// The rows of whoever reads both hold together: the whole of a phase is its window and what was left out of it.
#[test]
fn counts_of_the_window_and_of_what_was_left_out_are_those_of_a_threshold() {
    let requests: Vec<Request> = (0..1000)
        .map(|n| Request {
            gap: 2_000_000,
            late: 0,
            took: 1_000_000,
            status: if n % 10 == 3 { BAD } else { GOOD },
        })
        .collect();
    let run = measured(ledger(&requests), 700_000_000, false, &[]);
    let phase = &run.phases[0];
    let whole = Measured(phase).figure(Measure::Response, Stat::Errors);
    let table = table(&run);
    let of = |metric: &str| -> f64 {
        let found = table.iter().find(|(name, _)| name == metric);
        found.map_or(0.0, |(_, value)| value.parse().unwrap())
    };
    assert!(of("errors") > 0.0 && of("left-out.warm-up.errors") > 0.0);
    assert_eq!(whole, Some(100.0));
    assert_eq!(of("errors") + of("left-out.warm-up.errors"), 100.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The same of subscriptions: their values, what was lost, and their delays.
    #[test]
    fn figures_of_subscriptions_are_the_same_wherever_they_stand(
        values in proptest::collection::vec(request(), 2..400),
        warm_up in prop_oneof![Just(0u64), 0u64..1_000_000_000],
        lost in 0u64..20,
    ) {
        let mut run = measured(notified(&values), warm_up, false, &[]);
        run.command = "subscribe".into();
        let received = values.len() as u64;
        run.phases[0].subscriptions = Some(Subscriptions {
            lost,
            values: [("received".to_owned(), received)].into(),
            places: [("updates".to_owned(), received + lost)].into(),
            ..Subscriptions::default()
        });
        let phase = run.phases[0].clone();
        let figures = Measured(&phase);
        let rows = table_of(&run, "subscribe");
        let mut compared = Vec::new();
        for (metric, value) in &rows {
            let Some(threshold) = threshold(metric) else { continue };
            let figure = figures.figure(threshold.measure, threshold.stat);
            let figure = figure.map_or_else(String::new, |it| it.to_string());
            prop_assert_eq!(&figure, value, "{}", metric);
            compared.push(metric.as_str());
        }
        for metric in ["values", "loss"] {
            prop_assert!(compared.contains(&metric), "{metric}: {compared:?}");
        }
        if phase.total.histogram("delay").is_empty() {
            return Ok(());
        }
        for metric in ["delay.p99", "publish-delay.max"] {
            prop_assert!(compared.contains(&metric), "{metric}: {compared:?}");
        }
        let page = report::html(&[Named::new("r", run.clone())], None);
        let found = cells(&page, "Times", "delay");
        prop_assert!(same(figures.figure(Measure::Delay, Stat::Mean), found[0]));
        prop_assert!(same(figures.figure(Measure::Delay, Stat::Max), *found.last().unwrap()));
        let screen = report::summary(&run, Style::PLAIN);
        let rate = Rate::show(figures.figure(Measure::Delay, Stat::Values).unwrap());
        prop_assert!(screen.contains(&rate.to_string()), "{} in {}", rate, screen);
    }
}
