//! `uaperf pubsub keys`: keys of security groups, in files and at key services.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use load::access::{Access, Security};
use load::pubsub::{KeyServer, RawKey, SecurityKeys};
use plan::unit::duration::{nanos, parse, show};
use pubsub::security::{PubSubPolicy, token_after};
use wire::url::Url;
use zeroize::Zeroizing;

use super::keys;
use crate::access;
use crate::failure::Failure;
use crate::global::Global;
use crate::screen;

/// Make keys, get them from a key service (GetSecurityKeys), push them to a server (SetSecurityKeys)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KeysCommand {
    Make(MakeArgs),
    Get(GetArgs),
    Push(PushArgs),
}

const EXAMPLES: &str = "\
Examples:
  uaperf pubsub keys make group.keys --count 4
  uaperf pubsub keys get opc.tcp://plc1 --security-group line4
  uaperf pubsub keys get opc.tcp://plc1 --security-group line4 --out group.keys
  uaperf pubsub keys push opc.tcp://plc1 --security-group line4 --keys group.keys";

/// Make a file with keys that nobody had before
#[derive(Debug, clap::Args)]
struct MakeArgs {
    /// The file, which must not be there yet; only this user may read it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What they are for: PubSub-Aes128-CTR, PubSub-Aes256-CTR
    #[arg(long, value_name = "NAME", default_value = "PubSub-Aes256-CTR", hide_possible_values = true, value_parser = PossibleValuesParser::new(PubSubPolicy::ALL.map(PubSubPolicy::name)))]
    policy: String,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// The SecurityTokenId of the first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    first: u32,
}

/// Ask a key service for the keys of a SecurityGroup, and show which there are
#[derive(Debug, clap::Args)]
struct GetArgs {
    /// The key service
    #[arg(value_name = "URL")]
    url: Url,
    /// Whose keys
    #[arg(long, value_name = "NAME")]
    security_group: String,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 8)]
    count: u32,
    /// From which SecurityTokenId on [default: the current one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    first: u32,
    /// Write the keys into this file, which must not be there yet; without it they are not shown
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: access::Args,
}

/// Set the keys of a SecurityGroup at a publisher or subscriber that is an OPC UA server
#[derive(Debug, clap::Args)]
struct PushArgs {
    /// The server
    #[arg(value_name = "URL")]
    url: Url,
    /// Whose keys
    #[arg(long, value_name = "NAME")]
    security_group: String,
    /// File with the keys, the current one first, with tokens one after another
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// How long a key holds
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse)]
    lifetime: Duration,
    /// How long the current key still holds [default: the lifetime]
    #[arg(long, value_name = "DURATION", value_parser = parse)]
    to_next: Option<Duration>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: access::Args,
}

/// Carries out `uaperf pubsub keys`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    match args.command {
        KeysCommand::Make(args) => make(&args)?,
        KeysCommand::Get(args) => get(&args, global)?,
        KeysCommand::Push(args) => push(&args, global)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make(args: &MakeArgs) -> anyhow::Result<()> {
    let policy: PubSubPolicy = args.policy.parse()?;
    let mut random = load::transport::random();
    let mut text = Zeroizing::new(String::new());
    for n in 0..args.count {
        let key = RawKey::made(policy, &mut random);
        let token = token_after(args.first, n.into());
        text.push_str(&keys::line(policy, token, &key));
    }
    Ok(save(&args.file, &text)?)
}

/// Writes a file that only this user may read.
fn save(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let failure = Failure::new(format!("cannot write {}: {error}", file.display()));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                failure.hint("name another file: existing keys are never overwritten")
            }
            _ => failure,
        }
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let opened = platform::file::private(&mut options).open(file);
    let mut out = opened.map_err(failed)?;
    out.write_all(text.as_bytes()).map_err(failed)
}

/// Keys go over encrypted channels only, so that nothing less is taken by itself.
fn access(args: &access::Args, url: &Url, global: &Global) -> anyhow::Result<Access> {
    let access = args.resolve(url.clone(), global)?;
    Ok(match access.security {
        Security::Unasked => Access {
            security: Security::Best,
            ..access
        },
        _ => access,
    })
}

fn get(args: &GetArgs, global: &Global) -> anyhow::Result<()> {
    let group = &args.security_group;
    let mut server = KeyServer::new(access(&args.access, &args.url, global)?, group);
    let told = server
        .get(args.first, args.count)
        .map_err(|error| keys::failed(&error, server.access(), group))?;
    if let Some(file) = &args.out {
        save(file, &keys::lines(&told))?;
    }
    let mut out = screen::out();
    let last = token_after(told.first, (told.keys.len() as u64).saturating_sub(1));
    if args.json {
        let it = serde_json::json!({
            "group": group,
            "policy": told.policy.to_string(),
            "keys": told.keys.len(),
            "first": told.first,
            "last": last,
            "lifetime_ns": nanos(told.lifetime),
            "to_next_ns": nanos(told.to_next),
            "file": args.out,
        });
        return Ok(screen::json(&mut out, &it)?);
    }
    writeln!(out, "group {group} at {}: {}", args.url, told.policy)?;
    writeln!(
        out,
        "  {} keys, tokens {} to {last}",
        told.keys.len(),
        told.first
    )?;
    writeln!(
        out,
        "  a key holds {}, the current one {} more",
        show(told.lifetime),
        show(told.to_next)
    )?;
    if let Some(file) = &args.out {
        writeln!(out, "  written to {}", file.display())?;
    }
    Ok(out.flush()?)
}

fn push(args: &PushArgs, global: &Global) -> anyhow::Result<()> {
    let group = &args.security_group;
    let (policy, first, raw) = in_a_row(&args.keys)?;
    let told = SecurityKeys {
        policy,
        first,
        keys: raw,
        to_next: args.to_next.unwrap_or(args.lifetime),
        lifetime: args.lifetime,
    };
    let mut server = KeyServer::new(access(&args.access, &args.url, global)?, group);
    server
        .set(&told)
        .map_err(|error| keys::failed(&error, server.access(), group))?;
    let mut out = screen::out();
    if args.json {
        let it = serde_json::json!({"group": group, "keys": told.keys.len(), "first": first});
        return Ok(screen::json(&mut out, &it)?);
    }
    writeln!(
        out,
        "group {group} at {}: {} keys set, from token {first} on",
        args.url,
        told.keys.len()
    )?;
    Ok(out.flush()?)
}

/// The keys of a file whose tokens follow each other, of one policy.
fn in_a_row(file: &Path) -> Result<(PubSubPolicy, u32, Vec<RawKey>), Failure> {
    let text = keys::text(file)?;
    let all = keys::parse_raw(&text, file)?;
    let wrong = |what: &str| {
        Failure::usage(format!("{}: {what}", file.display()))
            .hint("uaperf pubsub keys make FILE --count N")
    };
    let Some((policy, first, _)) = all.first() else {
        return Err(wrong("no keys in it"));
    };
    let (policy, first) = (*policy, *first);
    let mut raw = Vec::new();
    for (n, (other, token, key)) in all.into_iter().enumerate() {
        if other != policy {
            return Err(wrong("keys of two policies (want one)"));
        }
        if token != token_after(first, n as u64) {
            return Err(wrong("tokens with gaps (want them one after another)"));
        }
        raw.push(key);
    }
    Ok((policy, first, raw))
}
