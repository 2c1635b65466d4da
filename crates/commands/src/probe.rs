//! `uaperf probe`: what a server is, what it offers, and how long it takes to get to it.

use std::fmt::Write as _;
use std::process::ExitCode;

use load::access::AccessError;
use load::probe::{Presence, Probe, Tried, probe, services};
use wire::url::Url;

use crate::access;
use crate::advice;
use crate::failure::Failure;
use crate::global::Global;
use crate::screen;
use plan::unit::duration::show_ns;

/// Examine a server: endpoints, certificate, limits, and the time of each step of connecting
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the server is, such as opc.tcp://plc1:4840
    #[arg(value_parser = plan::typed)]
    url: Url,
    /// How often to connect, for the spread of the times
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Try which services it has, by requests that change nothing, and list the profiles that it claims
    #[arg(long)]
    services: bool,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: access::Args,
}

const EXAMPLES: &str = "\
Examples:
  uaperf probe opc.tcp://plc1:4840
  uaperf probe opc.tcp://plc1:4840 --security best --user operator
  uaperf probe opc.tcp://plc1:4840 --services
  uaperf probe opc.tcp://plc1:4840 --repeat 100 --json > plc1.json";

/// Carries out `uaperf probe`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let access = args.access.resolve(args.url, global)?;
    let advise = |error: AccessError| -> Failure { advice::on(&error, &access) };
    let mut found = probe(&access, args.repeat as usize).map_err(advise)?;
    if args.services {
        found.services = Some(services(&access).map_err(advise)?);
    }
    screen::print(&found, args.json, write_screen)?;
    Ok(ExitCode::SUCCESS)
}

/// The width of the first column.
const LABEL: usize = 13;

/// A screen of text.
pub fn write_screen(out: &mut String, probe: &Probe) -> std::fmt::Result {
    let about = &probe.about;
    match &probe.proxy {
        None => writeln!(out, "{}  ({})", probe.url, probe.address)?,
        Some(proxy) => writeln!(out, "{}  (through the proxy {proxy})", probe.url)?,
    }
    if let Some(tls) = &probe.tls {
        let resumed = if tls.resumed { ", resumed" } else { "" };
        writeln!(out, "over {} with {}{resumed}", tls.version, tls.cipher)?;
    }
    writeln!(out)?;
    row(out, "Product", &product(probe))?;
    if let Some(state) = &about.state {
        let since = about.started.as_deref().map(seconds);
        let since = since.map_or(String::new(), |time| format!(" since {time}"));
        row(out, "State", &format!("{state}{since}"))?;
    }
    if let Some(clock) = about.clock {
        let error = show_ns(clock.error_ns.unsigned_abs());
        let text = match clock.ahead_ns {
            n if n.abs() <= clock.error_ns => format!("agrees with ours within {error}"),
            n => {
                let side = if n > 0 { "ahead of" } else { "behind" };
                let by = show_ns(n.unsigned_abs());
                format!("{by} {side} ours (± {error})")
            }
        };
        row(out, "Clock", &text)?;
    }
    for (i, uri) in about.namespaces.iter().enumerate().skip(1) {
        let label = if i == 1 { "Namespaces" } else { "" };
        row(out, label, &format!("{i}  {uri}"))?;
    }
    writeln!(out)?;
    endpoints(out, probe)?;
    if let Some(certificate) = &probe.certificate {
        let days = certificate.days_left;
        row(out, "Certificate", &certificate.subject)?;
        let key = format!(
            "{}, valid until {} ({days} days), {}",
            certificate.key, certificate.valid_until, certificate.thumbprint
        );
        row(out, "", &key)?;
        let verdict = match &certificate.refusal {
            None => "trusted".to_owned(),
            Some(refusal) => format!("not accepted: {refusal}"),
        };
        row(out, "", &verdict)?;
    }
    row(
        out,
        "Session",
        &format!("{} as {}", probe.security, probe.user),
    )?;
    let agreed = &probe.agreed;
    let session = show_ns(agreed.session_timeout_ns);
    let times = match agreed.channel_lifetime_ns {
        0 => format!("session timeout {session}, no channel of its own"),
        lifetime => {
            let channel = show_ns(lifetime);
            format!("session timeout {session}, channel lifetime {channel}")
        }
    };
    row(out, "", &times)?;
    let chunks = match agreed.send_chunk_bytes {
        0 => "no chunks".to_owned(),
        sent => format!(
            "chunks of {} to the server and {} from it",
            bytes(sent),
            bytes(agreed.receive_chunk_bytes)
        ),
    };
    let messages = format!(
        "{chunks}, requests up to {}{}",
        match agreed.request_bytes {
            0 => "any size".to_owned(),
            n => bytes(n),
        },
        match agreed.request_chunks {
            0 => String::new(),
            n => format!(" in {n} chunks"),
        }
    );
    row(out, "Messages", &messages)?;
    limits(out, probe)?;
    if let Some(tried) = &probe.services {
        profiles(out, &probe.about.profiles)?;
        sets(out, tried)?;
    }
    writeln!(out)?;
    let count = probe.steps.iter().map(|step| step.count).max().unwrap_or(0);
    writeln!(
        out,
        "{:<18}{:>10}{:>12}{:>12}   of {count}",
        "Step", "median", "min", "max"
    )?;
    for step in &probe.steps {
        let [median, min, max] = [step.median_ns, step.min_ns, step.max_ns].map(show_ns);
        writeln!(out, "{:<18}{median:>10}{min:>12}{max:>12}", step.step)?;
    }
    if let Some(took) = probe.first_check_ns {
        let took = show_ns(took);
        writeln!(
            out,
            "{:<18}{took:>10}   before anything was opened",
            "first check"
        )?;
    }
    for note in &probe.notes {
        writeln!(out, "\nnote: {note}")?;
    }
    Ok(())
}

fn row(out: &mut String, label: &str, text: &str) -> std::fmt::Result {
    writeln!(out, "{label:<LABEL$}{text}")
}

fn product(probe: &Probe) -> String {
    let about = &probe.about;
    let mut text = about.product.clone().unwrap_or_else(|| "not told".into());
    if let Some(version) = &about.version {
        let _ = write!(text, " {version}");
    }
    if let Some(build) = about
        .build
        .as_ref()
        .filter(|b| Some(*b) != about.version.as_ref())
    {
        let _ = write!(text, ", build {build}");
    }
    if let Some(manufacturer) = &about.manufacturer {
        let _ = write!(text, ", by {manufacturer}");
    }
    text
}

fn endpoints(out: &mut String, probe: &Probe) -> std::fmt::Result {
    let width = probe.endpoints.iter().map(|e| e.security.len()).max();
    let width = width.unwrap_or(0);
    for (i, offer) in probe.endpoints.iter().enumerate() {
        let label = if i == 0 { "Endpoints" } else { "" };
        let users = offer.users.join(", ");
        let used = if offer.used { "  <- used" } else { "" };
        row(
            out,
            label,
            &format!("{:<width$}  {users}{used}", offer.security),
        )?;
    }
    Ok(())
}

/// Profiles by the names that end their URIs.
fn profiles(out: &mut String, uris: &[String]) -> std::fmt::Result {
    let names = uris.iter().map(|uri| uri.rsplit('/').next().unwrap_or(uri));
    match uris.is_empty() {
        true => row(out, "Profiles", "none claimed"),
        false => several(out, (LABEL, "Profiles"), names.map(str::to_owned)),
    }
}

/// What was found of each set of services.
fn sets(out: &mut String, tried: &[Tried]) -> std::fmt::Result {
    writeln!(out)?;
    for set in tried.chunk_by(|a, b| a.set == b.set) {
        let of = |found| set.iter().filter(move |it| it.found == found);
        let there = of(Presence::There).map(|it| it.service.to_owned());
        let missing = of(Presence::Missing).map(|it| format!("not {}", it.service));
        let unclear = of(Presence::Unclear).map(|it| format!("{}? ({})", it.service, it.answer));
        let label = set.first().map_or("", |it| it.set);
        several(out, (SET, label), there.chain(missing).chain(unclear))?;
    }
    Ok(())
}

/// The width of the names of sets.
const SET: usize = 16;

/// Limits that are set, several a line.
fn limits(out: &mut String, probe: &Probe) -> std::fmt::Result {
    let set: Vec<String> = probe
        .about
        .limits
        .iter()
        .filter(|limit| limit.value > 0.0)
        .map(|limit| format!("{} {}", limit.name, limit.value))
        .collect();
    if set.is_empty() {
        return row(out, "Limits", "none declared");
    }
    several(out, (LABEL, "Limits"), set.into_iter())
}

/// Several of a kind, as many a line as there is room for.
fn several(
    out: &mut String,
    (width, mut label): (usize, &str),
    all: impl Iterator<Item = String>,
) -> std::fmt::Result {
    let mut line = String::new();
    for it in all {
        if !line.is_empty() && line.len() + it.len() > 84 {
            writeln!(out, "{label:<width$}{line}")?;
            label = "";
            line.clear();
        }
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(&it);
    }
    writeln!(out, "{label:<width$}{line}")
}

fn bytes(n: u32) -> String {
    match n {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{n} bytes"),
    }
}

/// A time without its fractions.
fn seconds(time: &str) -> &str {
    time.split(['.', '+'])
        .next()
        .unwrap_or(time)
        .trim_end_matches('Z')
}
