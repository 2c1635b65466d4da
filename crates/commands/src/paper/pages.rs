//! `uaperf paper pages`: what was measured of the studies' experiments, as pages in Markdown with pictures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use record::sweep::Sweep;
use record::{Run, run::Figure};
use report::{Named, escaped};

use super::catalogue::{Catalogue, Experiment, Ready};
use crate::failure::Failure;
use crate::{results, screen};

/// Write pages of what `uaperf paper run` measured, in Markdown with pictures
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folders that `uaperf paper run --out` filled; of an experiment that is in several the last one counts
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Folder for the pages: README.md, and a page and pictures for each experiment; those that are there are replaced
    #[arg(long, value_name = "DIR", default_value = "papers")]
    out: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  uaperf paper run all --scale quick --out measured
  uaperf paper pages measured --out papers
  uaperf paper pages measured/thesis measured/burger --out docs/papers";

/// What was measured of a scenario.
struct Measured {
    ready: &'static Ready,
    runs: Vec<Named>,
    /// What the whole of it was, if a scenario and no document.
    index: Option<Sweep>,
}

/// Carries out `uaperf paper pages`.
pub fn run(args: &Args, catalogue: &Catalogue) -> anyhow::Result<ExitCode> {
    let mut all: Vec<Measured> = Vec::new();
    for folder in &args.folders {
        for it in measured(folder, catalogue)? {
            all.retain(|other| other.ready.name != it.ready.name);
            all.push(it);
        }
    }
    if all.is_empty() {
        let told = "no folder has results of an experiment";
        return Err(Failure::new(told)
            .hint("uaperf paper run ID --out DIR, and give that DIR")
            .into());
    }
    std::fs::create_dir_all(&args.out).map_err(|error| unwritable(&args.out, &error))?;
    let mut rows = BTreeMap::new();
    for it in &all {
        rows.insert(it.ready.name, page(it, catalogue, &args.out)?);
    }
    write(&args.out.join("README.md"), &index(catalogue, &rows)?)?;
    let told = format!(
        "{} of {} experiments, {} {}; see {}\n",
        catalogue
            .experiment
            .iter()
            .filter(|it| row(it, &rows).is_some())
            .count(),
        catalogue.experiment.len(),
        all.len(),
        if all.len() == 1 { "page" } else { "pages" },
        args.out.join("README.md").display(),
    );
    screen::out().write_all(told.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The experiments whose results are in a folder.
fn measured(folder: &Path, catalogue: &Catalogue) -> anyhow::Result<Vec<Measured>> {
    if !folder.is_dir() {
        return Err(Failure::new(format!("{} is no folder", folder.display())).into());
    }
    let mut all: Vec<Measured> = Vec::new();
    for it in &catalogue.experiment {
        let Ok(ready) = it.ready() else { continue };
        let place = folder.join(ready.stem());
        if !place.is_dir() || all.iter().any(|other| other.ready.name == ready.name) {
            continue;
        }
        let runs = results::read(std::slice::from_ref(&place))?;
        let index = Sweep::read(&place).ok();
        all.push(Measured { ready, runs, index });
    }
    Ok(all)
}

const BY_TURNS: &str = "One request is under way at a time, between two processes of one machine: where the \
     scheduler keeps both on one core a round trip takes a tenth of what it takes between two, and it changes its mind. \
     `pin` and `pin_server` of a phase decide it.";

/// Whether it was a loop of one request after the other, with a server on this machine, nothing between and nobody kept on cores of
/// their own.
fn is_by_turns(run: &Run) -> bool {
    let alone = |phase: &serde_json::Value| {
        let arrival = &phase["arrival"];
        arrival["loop"] == "closed" && arrival["in_flight"] == 1 && phase["sessions"] == 1
    };
    let is_pinned = run.request["pin"]
        .as_array()
        .is_some_and(|it| !it.is_empty());
    let is_far = run.targets.iter().any(|it| it.link.is_some());
    let mut phases = run.plan["phases"].as_array().into_iter().flatten();
    // Who subscribes waits for nothing.
    let asked = run.phases.iter().filter(|it| !it.is_notified());
    let mut beside = asked.flat_map(|it| &it.resources);
    !is_pinned && !is_far && phases.any(alone) && beside.any(|it| it.who == "server")
}

/// What the index says of an experiment.
struct Row {
    page: String,
    status: String,
    told: Vec<String>,
}

/// Writes the page of a scenario, and its pictures.
fn page(it: &Measured, catalogue: &Catalogue, out: &Path) -> anyhow::Result<Row> {
    let stem = it.ready.stem();
    let name = format!("{stem}.md");
    let repeats: Vec<&Experiment> = catalogue
        .experiment
        .iter()
        .filter(|of| of.scenario.as_deref() == Some(it.ready.name))
        .collect();
    let told = report::shapes(&it.runs);
    let found = report::repeated(&it.runs);
    let mut text = String::new();
    writeln!(text, "# {stem}\n")?;
    for of in &repeats {
        writeln!(text, "- {}: {}", escaped(&of.printed), escaped(&of.what))?;
    }
    writeln!(text, "\n{}\n", how(it, catalogue)?)?;
    let status = verdicts(&it.runs);
    writeln!(text, "Verdicts: {status}.")?;
    if it.runs.iter().any(|it| is_by_turns(&it.run)) {
        writeln!(text, "\n{BY_TURNS}")?;
    }
    if !told.is_empty() {
        writeln!(text, "\n## Shapes\n")?;
        for it in &told {
            writeln!(text, "- {}", escaped(it))?;
        }
    }
    writeln!(text, "\n## Measured")?;
    for (place, picture) in found.pictures.iter().enumerate() {
        let file = format!("{stem}-{}.svg", place + 1);
        write(&out.join(&file), picture)?;
        writeln!(text, "\n![{stem}]({file})")?;
    }
    for table in &found.measured {
        write!(text, "\n{table}")?;
    }
    if !found.printed.is_empty() {
        writeln!(text, "\n## Printed")?;
        for table in &found.printed {
            write!(text, "\n{table}")?;
        }
    }
    write(&out.join(&name), &text)?;
    Ok(Row {
        page: name,
        status,
        told,
    })
}

/// When, on what, and how much of it.
fn how(it: &Measured, catalogue: &Catalogue) -> anyhow::Result<String> {
    let Some(first) = it.runs.first().map(|it| &it.run) else {
        return Ok("Nothing was measured.".to_owned());
    };
    let mut text = String::new();
    let day = first.started.to_string();
    let day = day.split('T').next().unwrap_or_default();
    write!(text, "Measured {day} on {}", machine(first))?;
    if let Some(product) = product(first) {
        write!(text, ", server {}", escaped(&product))?;
    }
    let longest = it.runs.iter().filter_map(|it| length(&it.run)).max();
    if let Some(longest) = longest {
        write!(
            text,
            "; {} of {} s at most each",
            match it.runs.len() {
                1 => "one measurement".to_owned(),
                n => format!("{n} measurements"),
            },
            longest.div_ceil(1_000_000_000),
        )?;
    }
    text.push('.');
    let parameters = it.index.as_ref().map(|it| &it.scenario.parameters);
    let parameters: Vec<String> = parameters
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("`{name}={value}`"))
        .collect();
    if !parameters.is_empty() {
        let quick = catalogue.quick.get(it.ready.name);
        let is_quick = quick.is_some_and(|all| {
            let given = it.index.as_ref().map(|it| &it.scenario.parameters);
            given.is_some_and(|given| {
                all.len() == given.len()
                    && given
                        .iter()
                        .all(|(name, value)| all.contains(&format!("{name}={value}")))
            })
        });
        let scale = match is_quick {
            true => {
                " (`--scale quick`: it shows that the experiment works, its figures say little)"
            }
            false => "",
        };
        write!(
            text,
            " Not as the study did it, but with {}{scale}.",
            parameters.join(", ")
        )?;
    }
    Ok(text)
}

/// Processor and cores.
fn machine(run: &Run) -> String {
    let cpu = match &run.machine.cpu {
        Figure::Known(cpu) => escaped(cpu),
        Figure::Missing { .. } => "an unknown processor".to_owned(),
    };
    match &run.machine.cores {
        Figure::Known(1) => format!("{cpu}, 1 core"),
        Figure::Known(cores) => format!("{cpu}, {cores} cores"),
        Figure::Missing { .. } => cpu,
    }
}

/// What the first server calls itself.
fn product(run: &Run) -> Option<String> {
    match &run.targets.first()?.product.name {
        Figure::Known(name) if !name.is_empty() => Some(name.clone()),
        _ => None,
    }
}

/// How long the phases of a run took.
fn length(run: &Run) -> Option<u64> {
    let span = |it: &record::run::Phase| it.to_ns.saturating_sub(it.from_ns);
    run.phases.iter().map(span).max()
}

/// How many runs have which verdict.
fn verdicts(runs: &[Named]) -> String {
    let mut count: BTreeMap<record::run::Kind, usize> = BTreeMap::new();
    for it in runs {
        *count.entry(it.run.verdict.kind).or_default() += 1;
    }
    let words = count.iter().map(|(kind, n)| format!("{n} {kind}"));
    words.collect::<Vec<_>>().join(", ")
}

fn row<'a>(it: &Experiment, rows: &'a BTreeMap<&str, Row>) -> Option<&'a Row> {
    rows.get(it.scenario.as_deref()?)
}

/// The list of everything that was printed, and what became of it.
fn index(catalogue: &Catalogue, rows: &BTreeMap<&str, Row>) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(text, "# Experiments of the studies, as measured\n")?;
    writeln!(
        text,
        "Written by `uaperf paper pages`. Hardware and software are not those of the studies, so heights say nothing; shapes do."
    )?;
    let mut before = "";
    for it in &catalogue.experiment {
        let (study, _) = it.split();
        if study != before {
            writeln!(
                text,
                "\n## {study}\n\n| printed | what | here | shape |\n|---|---|---|---|"
            )?;
            before = study;
        }
        let (here, told) = match (row(it, rows), &it.scenario, &it.command, &it.missing) {
            (Some(row), ..) => (
                format!("[{}]({})", escaped(&row.status), row.page),
                row.told
                    .iter()
                    .map(|it| escaped(it))
                    .collect::<Vec<_>>()
                    .join("<br>"),
            ),
            (None, Some(_), ..) => ("not measured".to_owned(), String::new()),
            (.., Some(command), _) => (escaped(command), String::new()),
            (.., missing) => (
                format!(
                    "not here: {}",
                    escaped(missing.as_deref().unwrap_or_default())
                ),
                String::new(),
            ),
        };
        writeln!(
            text,
            "| {} | {} | {here} | {told} |",
            escaped(&it.printed),
            escaped(&it.what)
        )?;
    }
    Ok(text)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| unwritable(file, &error))
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", file.display()))
}
