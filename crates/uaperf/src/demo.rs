//! `uaperf demo`: everything that works, shown on a server of our own.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use load::access::{Access, Credentials, Security, Session, TrustRule};
use load::probe::{Probe, probe};
use load::transport::{Step, Steps};
use pki::{Checks, Store};
use wire::channel::{Protection, all_protections};
use wire::types::{
    BrowseDescription, BrowseDirection, BrowseRequest, NodeClassMask, NodeId, ObjectId,
    QualifiedName, ReadRequest, ReferenceTypeId, TimestampsToReturn, UAString, Variant,
    ViewDescription,
};
use wire::url::Url;

use crate::cli::Global;
use crate::failure::Failure;
use crate::serving::{Folder, Serving};
use crate::{advice, place};
use plan::unit::duration::show;

/// Show what uaperf does, on a server of its own on this machine
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries out `uaperf demo`.
pub fn run(_: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let folder = Folder::make("demo")?;
    let server = Serving::start(&["--profile", "demo", "--trust"], &folder.0.join("server"))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "A server of our own, in a process of its own.\n")?;
    out.flush()?;
    let access = access(&server.url, Protection::NONE, &folder.0);
    let found = probe(&access, REPEAT).map_err(|error| advice::on(&error, &access))?;
    out.write_all(crate::probe::screen(&found).as_bytes())?;
    values(&mut out, &access)?;
    measure(&mut out, &server.url, &folder.0)?;
    security(&mut out, &server.url, &folder.0)?;
    writeln!(
        out,
        "\nThe same on a server of yours:  uaperf probe opc.tcp://HOST:4840"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// How often each way of connecting is tried.
const REPEAT: usize = 5;

fn access(url: &Url, protection: Protection, folder: &Path) -> Access {
    Access {
        url: url.clone(),
        security: Security::Exactly(protection),
        store: Store::new(folder.join("client")),
        own: place::own_request(),
        trust: TrustRule::Everyone,
        checks: Checks::ALL,
        user: Credentials::Anonymous,
        plain_password: false,
        timeout: Duration::from_secs(10),
    }
}

/// The values, found by browsing and read in one call.
fn values(out: &mut impl Write, access: &Access) -> anyhow::Result<()> {
    let mut steps = Steps::new();
    let opening = access.discover()?;
    let mut session = access.open(&opening, &mut steps)?;
    let nodes = browse(&mut session)?;
    let start = Instant::now();
    let response = session.call(ReadRequest {
        request_header: Default::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Source,
        nodes_to_read: Some(nodes.iter().map(|(id, _)| id.clone().into()).collect()),
    })?;
    let took = start.elapsed();
    session.close(&mut steps)?;
    let results = response.results.unwrap_or_default();
    writeln!(
        out,
        "\n{} values in Objects/Demo, read in one call of {}\n",
        results.len(),
        show(took)
    )?;
    for ((_, name), result) in nodes.iter().zip(results) {
        let value = result.value.unwrap_or(Variant::Empty);
        let kind = value
            .scalar_type_id()
            .map_or(String::new(), |kind| kind.to_string());
        let time = result.source_timestamp.map(|time| time.to_rfc3339());
        writeln!(
            out,
            "  {name:<13}{kind:<9}{:>12}   {}",
            text(&value),
            time.unwrap_or_default()
        )?;
    }
    Ok(())
}

/// A measurement, as anybody would make it.
fn measure(out: &mut impl Write, url: &Url, folder: &Path) -> anyhow::Result<()> {
    let words = [
        "--node",
        "browse:/Objects/Demo/*",
        "--batch",
        "10",
        "--rate",
        "1k/s",
        "--duration",
        "3s",
    ];
    let quoted = words.map(|word| match word.contains('*') {
        true => format!("'{word}'"),
        false => word.to_owned(),
    });
    writeln!(
        out,
        "\nAll ten, a thousand times a second:\n\n  uaperf read {url} {}\n",
        quoted.join(" ")
    )?;
    out.flush()?;
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let measured = Command::new(program)
        .arg("read")
        .arg(url.to_string())
        .args(words)
        .args(["--security", "none", "--quiet", "--out"])
        .arg(folder.join("read.json"))
        .arg("--pki")
        .arg(folder.join("client"))
        .output()
        .context("cannot start a measurement")?;
    // Whatever the verdict: a busy machine is no reason for a demonstration to fail.
    let text = String::from_utf8_lossy(&measured.stdout);
    for line in text.lines().filter(|line| !line.starts_with("result ")) {
        writeln!(out, "  {line}")?;
    }
    if text.is_empty() {
        let reason = String::from_utf8_lossy(&measured.stderr).trim().to_owned();
        bail!(Failure::new(format!("nothing was measured: {reason}")));
    }
    Ok(())
}

/// What connecting costs under each policy and mode: the mean price of security.
fn security(out: &mut impl Write, url: &Url, folder: &Path) -> anyhow::Result<()> {
    writeln!(
        out,
        "\nUntil a session is active, median of {REPEAT}\n\n  {:<38}{:>12}{:>12}{:>12}",
        "security", "channel", "session", "first read"
    )?;
    for protection in all_protections() {
        let access = access(url, protection, folder);
        let found = probe(&access, REPEAT).map_err(|error| advice::on(&error, &access))?;
        let channel = median(&found, &[Step::Hello, Step::OpenChannel]);
        let session = median(&found, &[Step::CreateSession, Step::ActivateSession]);
        let read = median(&found, &[Step::FirstRead]);
        writeln!(
            out,
            "  {:<38}{:>12}{:>12}{:>12}",
            protection.to_string(),
            show(channel),
            show(session),
            show(read)
        )?;
    }
    Ok(())
}

/// The medians of some steps, added up.
fn median(probe: &Probe, steps: &[Step]) -> Duration {
    let wanted = |step: &&load::probe::StepTimes| steps.iter().any(|s| s.name() == step.step);
    let nanos = probe.steps.iter().filter(wanted).map(|step| step.median_ns);
    Duration::from_nanos(nanos.sum())
}

/// What is in Objects/Demo, with names.
fn browse(session: &mut Session) -> anyhow::Result<Vec<(NodeId, String)>> {
    let folders = children(session, ObjectId::ObjectsFolder.into())?;
    let demo = folders.into_iter().find(|(_, name)| name == "Demo");
    let (demo, _) = demo.context("the server has no folder Objects/Demo")?;
    children(session, demo)
}

fn children(session: &mut Session, node: NodeId) -> anyhow::Result<Vec<(NodeId, String)>> {
    let response = session.call(BrowseRequest {
        request_header: Default::default(),
        view: ViewDescription::default(),
        requested_max_references_per_node: 0,
        nodes_to_browse: Some(vec![BrowseDescription {
            node_id: node,
            browse_direction: BrowseDirection::Forward,
            reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
            include_subtypes: true,
            node_class_mask: NodeClassMask::empty().bits(),
            // BrowseName only.
            result_mask: 8,
        }]),
    })?;
    let result = response.results.unwrap_or_default().into_iter().next();
    let references = result.and_then(|result| result.references);
    let name = |QualifiedName { name, .. }: QualifiedName| UAString::as_ref(&name).to_owned();
    Ok(references
        .unwrap_or_default()
        .into_iter()
        .map(|reference| (reference.node_id.node_id, name(reference.browse_name)))
        .collect())
}

/// A value in a column.
fn text(value: &Variant) -> String {
    match value {
        Variant::Double(value) => format!("{value:.3}"),
        Variant::Float(value) => format!("{value:.3}"),
        other => other.to_string(),
    }
}
