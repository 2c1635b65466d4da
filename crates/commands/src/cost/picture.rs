//! The tables as a page: a bar for each thing, with its interval.

use plan::Unit;
use plan::unit::duration;
use record::run::Figure;
use report::pictures::{Length, Lengths, Part, Pictures};

use super::design::Per;
use super::table::{Cost, Table, UnitCost};

/// Of one server, or of several beside each other; names stand for those of several.
pub fn page(all: &[(&str, &Table)]) -> String {
    let title = match all {
        [(_, one)] => format!("What each thing costs {}", one.server),
        _ => "What each thing costs servers".to_owned(),
    };
    let mut about = Vec::new();
    for (name, it) in all {
        about.push(format!(
            "{name}: {}, {}, {}, steps of {}.",
            it.url,
            it.server,
            it.security,
            duration::show_ns(it.step_ns)
        ));
        if it.interrupted {
            about.push(format!("{name}: interrupted, not all of it was measured."));
        }
    }
    let kinds: Vec<Per> = Per::ALL
        .into_iter()
        .filter(|per| all.iter().any(|(_, it)| cost(it, *per).is_some()))
        .collect();
    let part = |title: &str, told: &str, lengths: Vec<Lengths>| Part {
        title: title.to_owned(),
        told: vec![told.to_owned()],
        lengths,
        ..Part::default()
    };
    let (held, done): (Vec<Per>, Vec<Per>) = kinds.into_iter().partition(|it| it.is_held());
    let several = all.len() > 1;
    let figures = |kinds: &[Per], what: &str, unit: Unit, of: Of| -> Vec<Lengths> {
        match several {
            // A thing of all servers beside each other.
            true => kinds
                .iter()
                .map(|per| by_server(all, *per, what, unit, of))
                .collect(),
            false => all
                .iter()
                .filter(|_| !kinds.is_empty())
                .map(|(_, it)| by_thing(it, kinds, what, unit, of))
                .collect(),
        }
    };
    let parts = [
        part(
            "What is done",
            "CPU of the server for each.",
            figures(&done, "CPU of each", Unit::Nanos, |it| &it.cpu_ns),
        ),
        part(
            "What is held",
            "CPU of the server for each that is there, in a second.",
            figures(&held, "CPU of each in a second", Unit::Nanos, |it| {
                &it.cpu_ns
            }),
        ),
        part(
            "Memory",
            "Resident memory of the server for each that is there.",
            figures(&held, "Memory of each", Unit::Bytes, |it| &it.memory_bytes),
        ),
    ];
    report::pictures_html(&Pictures {
        title,
        about,
        parts: parts
            .into_iter()
            .filter(|it| !it.lengths.is_empty())
            .collect(),
    })
}

/// What of a cost is drawn.
type Of = fn(&Cost) -> &Figure<UnitCost>;

const TOLD: &str = "Slopes over more and more of it, from zero; lines are their 95 % intervals.";

fn cost(table: &Table, per: Per) -> Option<&Cost> {
    table.costs.iter().find(|it| it.per == per)
}

fn by_thing(table: &Table, kinds: &[Per], what: &str, unit: Unit, of: Of) -> Lengths {
    let each = kinds.iter().filter_map(|per| {
        let cost = cost(table, *per)?;
        Some(length(per.name(), of(cost)))
    });
    Lengths {
        title: what.to_owned(),
        told: TOLD.to_owned(),
        unit,
        each: each.collect(),
    }
}

fn by_server(all: &[(&str, &Table)], per: Per, what: &str, unit: Unit, of: Of) -> Lengths {
    let each = all.iter().map(|(name, table)| match cost(table, per) {
        Some(cost) => length(name, of(cost)),
        None => length(name, &Figure::missing("it was not measured")),
    });
    Lengths {
        title: format!("{what}: {}", per.name()),
        told: format!("{}. {TOLD}", per.about()),
        unit,
        each: each.collect(),
    }
}

fn length(name: &str, figure: &Figure<UnitCost>) -> Length {
    let (value, missing) = match figure {
        Figure::Known(it) if it.is_bent() => {
            let bent = "not a straight line: it depends on how many there are";
            (Some((it.each, it.error)), bent.to_owned())
        }
        Figure::Known(it) => (Some((it.each, it.error)), String::new()),
        Figure::Missing { not_available } => (None, not_available.clone()),
    };
    Length {
        name: name.to_owned(),
        value,
        missing,
        ..Length::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::table::{FORMAT, Point, VERSION};
    use super::*;

    fn table(per: Per, each: f64) -> Table {
        let point = |n: i32| Point {
            amount: f64::from(n),
            cpu_cores: 0.01 + each * f64::from(n) + f64::from(n % 3) * 1e-9,
            rss_bytes: None,
        };
        Table {
            format: FORMAT.to_owned(),
            version: VERSION,
            url: "opc.tcp://a:1".into(),
            server: "<b>".into(),
            security: "None".into(),
            pid: 1,
            process: None,
            machine: record::run::Fingerprint::default(),
            step_ns: 1_000_000_000,
            reads_per_s: 1.0,
            interrupted: false,
            costs: vec![Cost::of(per, (0..8).map(point).collect(), Vec::new())],
        }
    }

    fn widths(page: &str) -> Vec<f64> {
        let all = page.split("rect class=\"fill\"").skip(1);
        let width = |it: &str| Some(it.split_once("width=\"")?.1.split_once('"')?.0.to_owned());
        all.map(|it| width(it).unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn a_cost_has_a_bar_as_long_as_it_is_and_what_is_not_known_its_reason() {
        let one = table(Per::Read, 10e-6);
        let two = table(Per::Read, 20e-6);
        let page = page(&[("plant", &one), ("other", &two)]);
        let found = widths(&page);
        assert_eq!(found.len(), 4, "two in each of two drawings");
        for pair in found.chunks(2) {
            assert!((pair[1] / pair[0] - 2.0).abs() < 0.05, "{found:?}");
        }
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>,"));
        let noise = table(Per::Read, 0.0);
        let page = super::page(&[("plant", &noise)]);
        assert!(widths(&page).is_empty() && page.contains("cannot be told from noise"));
    }
}
