//! `uaperf size`: how large a plant's nodes have to be.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use judge::Exit;
use model::Model;
use model::plant::{Fanout, Node, Plant};
use model::size::{Fit, Sized, size};
use plan::unit::Percent;
use serde::Serialize;

use crate::calibrated;
use crate::failure::Failure;
use crate::global::Global;
use crate::model as models;
use crate::model::{Amounts, Who, costs, delays, level, place, wrapped};
use crate::{screen, written};

/// Size a plant: CPU of each node with an interval, and the largest load under a limit
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The plant: a file with its kinds of nodes
    #[arg(value_name = "PLANT.toml")]
    plant: PathBuf,
    /// A model file, or one that comes with the program: burger2019 (a Raspberry Pi Zero, as published), plant, open62541, pyopcua (as
    /// measured)
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    /// Whether each point goes to one client or to each of them, instead of what the file says
    #[arg(long, value_name = "WHO")]
    fanout: Option<Who>,
    /// Scale costs to cores like those of this host, by what `uaperf calibrate` found here and where the model is from; that
    /// doubles intervals
    #[arg(long)]
    here: bool,
    /// How often intervals shall hold
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    interval: Percent,
    /// Draw it as a page: CPU over points, what fits, where the time goes, what would change it
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Exit code 3 unless every node fits
    #[arg(long)]
    strict: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A plant file, one [[node]] for each kind of node that serves:

  name = \"line 4\"
  fanout = \"share\"            # each point goes to one client; \"all\": to each of them
  cpu_limit = \"70%\"           # of the node's cores
  [[node]]
  name = \"controller\"
  count = 2
  points = 3000
  clients = 4
  publishing = \"100ms\"        # also sampling, change [default: as publishing]; security = \"Sign\"
  cores = 1
  speed = 1.0                 # of a core, against the one that the model was measured on

Examples:
  uaperf size line4.toml --model server.json
  uaperf size line4.toml --model burger2019 --fanout all
  uaperf size line4.toml --model server.json --report line4.html
  uaperf size line4.toml --model server.json --strict --json";

/// A sized plant.
#[derive(Debug, Serialize)]
struct Answer {
    plant: Plant,
    model: String,
    nodes: Vec<Sized>,
    /// What each of them takes besides.
    amounts: Vec<Amounts>,
}

/// Carries out `uaperf size`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    written::check(
        [("--report", &args.report)],
        std::slice::from_ref(&args.plant),
    )?;
    let model: Model = models::server_model(&args.model)?;
    let text = models::text(&args.plant)?;
    let mut plant = Plant::read(&text, args.fanout.map(Into::into))
        .map_err(|error| Failure::new(format!("{}: {error}", args.plant.display())))?;
    if args.here {
        let there = model.calibrated.ok_or_else(|| {
            Failure::usage(format!(
                "--here: {} does not say how fast its machine was",
                args.model.display()
            ))
            .hint("uaperf calibrate there, and uaperf model fit --here")
        })?;
        let faster = calibrated::speed()? / there;
        for node in &mut plant.nodes {
            node.speed *= faster;
        }
    }
    let level = level(args.interval)?;
    let amounts = |it: &Node| Amounts::of(&model, &it.workload(), level);
    let answer = Answer {
        amounts: plant.nodes.iter().map(amounts).collect(),
        nodes: size(&plant, &model, level),
        model: match model.name.is_empty() {
            true => args.model.display().to_string(),
            false => model.name.clone(),
        },
        plant,
    };
    if let Some(file) = &args.report {
        let pictures = models::of_size(&answer.plant, &answer.nodes, &model, &answer.model);
        let page = report::pictures_html(&pictures);
        written::put("--report", file, page.as_bytes());
    }
    let taken = args.report.as_deref().is_some_and(written::is_output);
    let mut out = screen::Out::beside_file(taken);
    match args.json {
        true => screen::json(&mut out, &answer)?,
        false => out.write_all(screen::text(&answer, draw).as_bytes())?,
    }
    let fits = answer.nodes.iter().all(|it| it.fit == Fit::Fits);
    Ok(match args.strict && !fits {
        true => ExitCode::from(Exit::Threshold),
        false => ExitCode::SUCCESS,
    })
}

fn draw(out: &mut String, it: &Answer) -> fmt::Result {
    writeln!(out, "{}", it.plant.name)?;
    if !it.plant.about.is_empty() {
        wrapped(out, &it.plant.about)?;
    }
    wrapped(out, &format!("model       {}", it.model))?;
    for (sized, amounts) in std::iter::zip(&it.nodes, &it.amounts) {
        node(out, &it.plant, sized, amounts)?;
    }
    writeln!(
        out,
        "\nA prediction is a first estimate: steps and other surprises are not in it. Measure before you buy."
    )
}

fn node(out: &mut String, plant: &Plant, it: &Sized, amounts: &Amounts) -> fmt::Result {
    let node = &it.node;
    writeln!(
        out,
        "\n{} x {}: {} points, {} clients ({}), {} ms, security {}",
        node.count,
        node.name,
        node.points,
        node.clients,
        match node.fanout {
            Fanout::Share => "each point goes to one",
            Fanout::All => "each point goes to all",
        },
        node.publishing_ms,
        node.security
    )?;
    let cpu = &it.cpu;
    let ghz = plant.core_ghz.map_or_else(String::new, |ghz| {
        format!(", {:.2} GHz", cpu.cpu_percent / 100.0 * node.speed * ghz)
    });
    writeln!(
        out,
        "  CPU       {:.1} % of a core{ghz} ({:.0} % interval {:.1} to {:.1} %; {})",
        cpu.cpu_percent,
        cpu.level * 100.0,
        cpu.low,
        cpu.high,
        place(cpu)
    )?;
    let limit = plant.cpu_limit * f64::from(node.cores);
    let (fit, where_it_lies) = match it.fit {
        Fit::Fits => ("FITS", "above the whole interval"),
        Fit::CannotTell => ("CANNOT TELL", "in the interval"),
        Fit::TooSmall => ("TOO SMALL", "below the whole interval"),
    };
    let cores = match node.cores {
        1 => "a core".to_owned(),
        n => format!("{n} cores"),
    };
    writeln!(
        out,
        "  {fit}: the limit of {limit} % ({} % of {cores}) lies {where_it_lies}",
        plant.cpu_limit
    )?;
    amounts.draw(out, "  ", 10)?;
    if let Some(published) = &node.published {
        wrapped(out, &format!("  published {published}"))?;
    }
    match it.most_points {
        Some(points) => writeln!(
            out,
            "  at most   {points} points, to be below it in 95 of 100 cases"
        )?,
        None => writeln!(out, "  at most   not even one point is sure to fit")?,
    }
    if let Some(paper) = cpu.paper_percent {
        writeln!(
            out,
            "  as Burger et al. 2019 modelled it: {:.1} %",
            paper / node.speed
        )?;
    }
    if let Some((knob, percent)) = it.knobs.first() {
        writeln!(out, "  helps     {knob}: {percent:.1} %")?;
    }
    delays::draw(out, "  ", 10, it.delay.as_ref())?;
    if it.burst_ms >= 1.0 && node.clients > 1.0 {
        writeln!(
            out,
            "  stagger   if all clients publish at the same moment, the last waits {:.0} ms: spread their start",
            it.burst_ms
        )?;
    }
    out.push_str("  ");
    costs(out, cpu)?;
    for unknown in &cpu.unknown {
        wrapped(out, &format!("  not known {unknown}"))?;
    }
    Ok(())
}
