//! The tables of several servers that are started for it: the plant and other stacks, one after the other.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use ::peers::{Server, Stack, StackState, StartOptions};
use judge::Exit;
use load::engine::Control;
use plan::unit::{Bytes, duration};
use record::run::Figure;

use super::design::Per;
use super::table::{Cost, Table, UnitCost};
use super::{Args, Bench, picture};
use crate::failure::Failure;
use crate::global::Global;
use crate::screen::{self, tell};
use crate::serving::{Folder, Serving};
use crate::{results, written};

/// A plant, among the names of stacks.
const PLANT: &str = "plant";
/// It and every stack.
const ALL: &str = "all";

/// Each has a server that was just started: what a process keeps of memory that was given back would hide what comes after it.
const STARTS: [&[Per]; 4] = [
    &[Per::Subscription],
    &[Per::Session],
    &[Per::Item],
    &[Per::Read, Per::Value, Per::Notification, Per::Connection],
];

/// A server that ends when this is dropped.
enum Started {
    Plant(Serving),
    Peer(Server),
}

impl Started {
    fn url(&self) -> String {
        match self {
            Self::Plant(it) => it.url.to_string(),
            Self::Peer(it) => it.url().to_owned(),
        }
    }
}

/// What became of a server.
struct NamedTable {
    name: String,
    table: Result<Table, String>,
}

/// Carries out `uaperf cost --peers`.
pub fn run(args: &Args, control: &Control, global: &Global) -> anyhow::Result<ExitCode> {
    let names = names(&args.peers)?;
    written::check([("--report", &args.report)], &[])?;
    let folder = args.out.as_deref();
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::usage(format!("--out {}: {error}", folder.display()))
                .hint("with --peers it is a folder, for a file of each server")
        })?;
    }
    let mut all = Vec::new();
    for name in names {
        if control.is_stopped() {
            break;
        }
        if !args.quiet {
            tell!("{name}");
        }
        let table = table(&name, args, control, global).map_err(|error| format!("{error:#}"));
        if let (Some(folder), Ok(table)) = (folder, &table) {
            let text = serde_json::to_string_pretty(table)?;
            results::write(&folder.join(format!("{name}.json")), &(text + "\n"))?;
        }
        // Tables as JSON have no place for it.
        if let (Err(why), true) = (&table, args.json || !args.quiet) {
            tell!("{name}: {why}");
        }
        all.push(NamedTable { name, table });
    }
    let mut text = String::new();
    draw(&mut text, &all)?;
    if let Some(folder) = folder {
        results::write(&folder.join("costs.md"), &text)?;
    }
    let tables: Vec<&Table> = all.iter().filter_map(|it| it.table.as_ref().ok()).collect();
    let named: Vec<(&str, &Table)> = all
        .iter()
        .filter_map(|it| Some((it.name.as_str(), it.table.as_ref().ok()?)))
        .collect();
    if let Some(file) = args.report.as_ref().filter(|_| !named.is_empty()) {
        written::put("--report", file, picture::page(&named).as_bytes());
    }
    let mut out = super::out(args);
    match args.json {
        true => screen::json(&mut out, &tables)?,
        false => out.write_all(text.as_bytes())?,
    }
    let measured = |it: &NamedTable| match &it.table {
        Ok(table) => table.costs.iter().any(Cost::was_measured),
        Err(_) => false,
    };
    // All that was asked for is to be there.
    Ok(ExitCode::from(match () {
        () if control.is_stopped() => Exit::Interrupted,
        () if all.iter().all(measured) => Exit::Good,
        () => Exit::Nothing,
    }))
}

/// The plant first, where it is among them; each once.
fn names(typed: &[String]) -> Result<Vec<String>, Failure> {
    let every = || Stack::all().iter().map(|it| it.name);
    let mut names: Vec<&str> = Vec::new();
    for name in typed {
        let found: Vec<&str> = match name.as_str() {
            ALL => std::iter::once(PLANT).chain(every()).collect(),
            PLANT => vec![PLANT],
            name => vec![Stack::named(name).map(|it| it.name).ok_or_else(|| {
                let all: Vec<&str> = every().collect();
                Failure::usage(format!(
                    "--peers: there is no stack {name:?} (want {ALL}, {PLANT}, {})",
                    all.join(", ")
                ))
            })?],
        };
        for name in found {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

fn start(name: &str, pki: &Path) -> anyhow::Result<Started> {
    if name == PLANT {
        let served = Serving::start(&["--security", "none"], pki)?;
        return Ok(Started::Plant(served));
    }
    let stack = Stack::named(name).ok_or_else(|| Failure::new("there is no such stack"))?;
    // To install one takes minutes, in which the machine does other things than it should while it measures.
    if !matches!(stack.state(), StackState::Installed) {
        return Err(Failure::new("it is not installed")
            .hint(format!("uaperf peers install {name}"))
            .into());
    }
    let server = Server::start(stack, &StartOptions::default());
    Ok(Started::Peer(
        server.map_err(crate::peers::start::explained)?,
    ))
}

/// The table of a server, which is started anew for each thing that it holds.
fn table(name: &str, args: &Args, control: &Control, global: &Global) -> anyhow::Result<Table> {
    let folder = Folder::make("cost")?;
    let mut whole: Option<Table> = None;
    for kinds in STARTS {
        let wanted = |per: &&Per| args.only.is_empty() || args.only.contains(per);
        let kinds: Vec<Per> = kinds.iter().filter(wanted).copied().collect();
        if kinds.is_empty() {
            continue;
        }
        if control.is_stopped() {
            if let Some(whole) = &mut whole {
                whole.interrupted = true;
            }
            break;
        }
        let table = start(name, &folder.0.join("server")).and_then(|started| {
            let bench = Bench {
                args,
                target: started.url(),
                control: control.clone(),
                global,
            };
            bench.table(&kinds)
        });
        match (&mut whole, table) {
            // What was measured before is kept.
            (Some(whole), Err(why)) => {
                let why = format!("{why:#}");
                whole.interrupted |= control.is_stopped();
                whole
                    .costs
                    .extend(kinds.iter().map(|it| Cost::missing(*it, &why)));
            }
            (None, Err(why)) => return Err(why),
            (Some(whole), Ok(table)) => {
                whole.interrupted |= table.interrupted;
                whole.costs.extend(table.costs);
            }
            (None, Ok(table)) => whole = Some(table),
        }
    }
    whole.ok_or_else(|| Failure::interrupted().into())
}

/// As tables of Markdown, for docs/costs.md.
fn draw(out: &mut String, all: &[NamedTable]) -> fmt::Result {
    let measured: Vec<(&str, &Table)> = all
        .iter()
        .filter_map(|it| Some((it.name.as_str(), it.table.as_ref().ok()?)))
        .collect();
    if let Some((_, first)) = measured.first() {
        let shown = |per: &Per| first.costs.iter().any(|it| it.per == *per);
        let kinds: Vec<Per> = Per::ALL.into_iter().filter(shown).collect();
        writeln!(
            out,
            "Steps of {}, {}.\n",
            duration::show_ns(first.step_ns),
            first.security
        )?;
        writeln!(out, "CPU of each; of what is held, in a second:\n")?;
        rows(out, &measured, &kinds, |it| {
            shown_each(&it.cpu_ns, duration::show_nanos)
        })?;
        let held: Vec<Per> = kinds.into_iter().filter(|it| it.is_held()).collect();
        if !held.is_empty() {
            writeln!(out, "\nMemory of each that is held:\n")?;
            rows(out, &measured, &held, |it| {
                shown_each(&it.memory_bytes, Bytes::show)
            })?;
        }
    }
    for it in all {
        match &it.table {
            Err(why) => writeln!(out, "\n{} is not in it: {why}.", it.name)?,
            Ok(table) if table.interrupted => {
                writeln!(
                    out,
                    "\n{}: interrupted, not all of it was measured.",
                    it.name
                )?;
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

fn rows(
    out: &mut String,
    all: &[(&str, &Table)],
    kinds: &[Per],
    cell: impl Fn(&Cost) -> String,
) -> fmt::Result {
    let heads: Vec<&str> = kinds.iter().map(|it| it.name()).collect();
    writeln!(out, "| server | {} |", heads.join(" | "))?;
    writeln!(out, "|---|{}", "---|".repeat(kinds.len()))?;
    for (name, table) in all {
        let cells = kinds.iter().map(|per| {
            let cost = table.costs.iter().find(|it| it.per == *per);
            cost.map_or_else(|| "n/a".to_owned(), &cell)
        });
        let cells: Vec<String> = cells.collect();
        let named = match table.server.as_str() {
            server if server.is_empty() || server.contains(*name) => server.to_owned(),
            server => format!("{name} ({server})"),
        };
        let named = if named.is_empty() {
            (*name).to_owned()
        } else {
            named
        };
        writeln!(
            out,
            "| {} | {} |",
            report::escaped(&named),
            cells.join(" | ")
        )?;
    }
    Ok(())
}

/// With its error, or the bound that noise leaves.
fn shown_each(figure: &Figure<UnitCost>, show: impl Fn(f64) -> String) -> String {
    match figure {
        Figure::Known(it) => {
            let bent = if it.is_bent() { ", bent" } else { "" };
            format!("{} ± {}{bent}", show(it.each), show(it.error))
        }
        Figure::Missing { not_available } => match not_available.split_once("less than ") {
            Some((_, bound)) => format!("less than {bound}"),
            None => "n/a".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn all_is_the_plant_and_every_stack_and_a_wrong_name_says_which_there_are() {
        let typed = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
            super::names(&names).map_err(|error| format!("{error:?}"))
        };
        let all = typed(&["all"]).unwrap();
        assert_eq!(all.len(), Stack::all().len() + 1);
        assert_eq!(all[0], PLANT);
        assert_eq!(
            typed(&["open62541", "plant", "open62541"]).unwrap(),
            ["open62541", "plant"]
        );
        let wrong = typed(&["open62451"]).unwrap_err();
        assert!(
            wrong.contains("open62451") && wrong.contains("plant, "),
            "{wrong}"
        );
    }

    #[test]
    fn a_bound_stands_where_noise_hides_a_cost() {
        let bound = Figure::missing("cannot be told from noise: less than 26.9 µs");
        assert_eq!(
            shown_each(&bound, duration::show_nanos),
            "less than 26.9 µs"
        );
        let none = Figure::missing("2 steps were of use");
        assert_eq!(shown_each(&none, duration::show_nanos), "n/a");
        let bent = Figure::Known(UnitCost {
            each: 5390.0,
            error: 4020.0,
            bend: Some(0.2),
        });
        assert_eq!(
            shown_each(&bent, duration::show_nanos),
            "5.39 µs ± 4.02 µs, bent"
        );
    }
}
