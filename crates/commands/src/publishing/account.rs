//! `uaperf pubsub account`: where each value ended that a publisher had, from what both ends kept.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::{ListenerCounts, Places};
use load::pubsub::{ListenerReport, Published, Stream};
use pubsub::security::OpenError;
use record::Sendings;
use report::grouped;
use serde::{Deserialize, Serialize};

use super::{HEARD, Judged, PUBLISHED, VERSION};
use crate::failure::Failure;
use crate::results::ResultFile;
use crate::screen;

/// Say where each value of a publisher ended: delivered, kept back, lost on the way or in a socket, late, not readable
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What was sent: the ledger of a plant (`uaperf serve --ledger FILE`), or what `uaperf publish --out FILE` kept
    #[arg(value_name = "SENT")]
    sent: PathBuf,
    /// What was heard meanwhile: what `uaperf listen --out FILE` kept
    #[arg(value_name = "HEARD")]
    heard: PathBuf,
    /// PublisherId, of several in the ledger
    #[arg(long, value_name = "ID")]
    publisher: Option<String>,
    /// Print it as JSON instead of a screen for people
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
The listener has to begin before the publisher and to end after it: what was sent while it did not listen is told apart from
what was lost on the way, but not from the first and the last messages that were lost.

Examples:
  uaperf listen opc.udp://127.0.0.1:4850 --duration 1m --out heard.json
  uaperf serve --publish opc.udp://127.0.0.1:4850 --fault drop,on=datagram,every=100 \\
    --ledger truth.json
  uaperf pubsub account truth.json heard.json";

/// A publisher, as its own end tells it.
#[derive(Debug, Clone, Deserialize)]
struct Sent {
    to: String,
    /// None if it heard of one publisher only.
    #[serde(default, deserialize_with = "id")]
    publisher: Option<String>,
    #[serde(flatten)]
    sendings: Sendings,
}

fn id<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    u16::deserialize(from).map(|id| Some(id.to_string()))
}

/// The part of a plant's ledger that is about it.
#[derive(Debug, Deserialize)]
struct Truth {
    publishing: Vec<Sent>,
}

/// A server has one, several have a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Truths {
    One(Truth),
    Several(Vec<Truth>),
}

/// All that is told.
#[derive(Debug, Serialize)]
struct Account {
    to: String,
    publisher: Option<String>,
    #[serde(flatten)]
    sent: Sendings,
    listeners: Vec<Places>,
    /// What was not read may be of these, too.
    others: Vec<String>,
}

/// Carries out `uaperf pubsub account`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    screen::print(&account(args)?, args.json, write_screen)?;
    Ok(ExitCode::SUCCESS)
}

fn account(args: &Args) -> Result<Account, Failure> {
    let sent = chosen(sent(&args.sent)?, args)?;
    let heard = heard(&args.heard)?;
    let is_it = |it: &Stream| match &sent.publisher {
        Some(id) => it.publisher_id.as_ref() == Some(id),
        None => true,
    };
    let mut listeners = Vec::new();
    for it in std::iter::once(&heard).chain(&heard.others) {
        let came = came(it, is_it);
        listeners.push(Places::of(&sent.sendings, &came).map_err(|error| {
            Failure::usage(format!("{}: {error}", args.heard.display()))
                .hint("the listener has to begin before the publisher, and to end after it")
        })?);
    }
    let others = heard.streams.iter().filter(|it| !is_it(it));
    Ok(Account {
        others: others.filter_map(|it| it.publisher_id.clone()).collect(),
        to: sent.to,
        publisher: sent.publisher,
        sent: sent.sendings,
        listeners,
    })
}

/// What publishers say.
fn sent(file: &Path) -> Result<Vec<Sent>, Failure> {
    if let Some(kept) = ResultFile::open(file)
        && let Some(read) = kept.read::<Judged<Published>>(PUBLISHED, VERSION)
    {
        let it = read?.result;
        return Ok(vec![Sent {
            to: it.to,
            publisher: None,
            sendings: Sendings {
                // Who sent nothing sent no values, either.
                each: it.values.checked_div(it.datagrams).unwrap_or(0),
                messages: it.datagrams,
                refused: it.refused,
                dropped: it.dropped,
                copies: it.copies,
            },
        }]);
    }
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {error}", file.display())).hint(
            "what was sent is the ledger of a plant that publishes (uaperf serve --ledger FILE), or the result of uaperf \
             publish --out FILE",
        )
    };
    let text = std::fs::read(file).map_err(|error| wrong(&error))?;
    let truths: Truths = serde_json::from_slice(&text)
        .map_err(|_| wrong(&"neither a ledger nor a result of a publisher"))?;
    let all: Vec<Sent> = match truths {
        Truths::One(it) => it.publishing,
        Truths::Several(all) => all.into_iter().flat_map(|it| it.publishing).collect(),
    };
    match all.is_empty() {
        true => Err(wrong(&"the plant did not publish")),
        false => Ok(all),
    }
}

/// The publisher that is meant.
fn chosen(all: Vec<Sent>, args: &Args) -> Result<Sent, Failure> {
    let file = args.sent.display();
    let ids: Vec<String> = all.iter().filter_map(|it| it.publisher.clone()).collect();
    let mut found: Vec<Sent> = match &args.publisher {
        None => all,
        Some(id) => {
            let is_it = |it: &Sent| it.publisher.as_ref().is_none_or(|own| own == id);
            all.into_iter().filter(is_it).collect()
        }
    };
    match (found.len(), found.pop()) {
        (1, Some(only)) => Ok(Sent {
            publisher: only.publisher.or_else(|| args.publisher.clone()),
            ..only
        }),
        (0, _) => Err(Failure::usage(format!(
            "{file}: no such publisher; it has {}",
            ids.join(", ")
        ))),
        _ => Err(
            Failure::usage(format!("{file}: several publishers: {}", ids.join(", ")))
                .hint("choose one with --publisher ID"),
        ),
    }
}

fn heard(file: &Path) -> Result<ListenerReport, Failure> {
    let wrong = || {
        Failure::usage(format!("{}: no result of a listener", file.display()))
            .hint("uaperf listen URL --out FILE keeps one")
    };
    let kept = ResultFile::open(file).ok_or_else(wrong)?;
    let read = kept.read::<Judged<ListenerReport>>(HEARD, VERSION);
    Ok(read.ok_or_else(wrong)??.result)
}

/// What a listener counted of a publisher. What it could not read may be of it.
fn came(it: &ListenerReport, is_it: impl Fn(&Stream) -> bool) -> ListenerCounts {
    let unread = |of: &dyn Fn(&str) -> bool| {
        let all = it.unread.iter().filter(|it| of(&it.reason));
        all.map(|it| it.datagrams).sum()
    };
    let of_others = it.streams.iter().filter(|it| !is_it(it));
    let again = OpenError::Replayed.to_string();
    let mut came = ListenerCounts {
        datagrams: it.datagrams - of_others.map(|it| it.datagrams).sum::<u64>(),
        unread: unread(&|_| true),
        replayed: unread(&|reason| reason == again),
        socket_drops: it.socket_drops,
        ..ListenerCounts::default()
    };
    for stream in it.streams.iter().filter(|it| is_it(it)) {
        came.messages += stream.writers.iter().map(|it| it.messages).sum::<u64>();
        for counted in stream.numbered() {
            came.repeated += counted.duplicates;
            came.late += counted.late;
            came.lost = Some(came.lost.unwrap_or(0) + counted.lost);
        }
    }
    came
}

fn write_screen(out: &mut String, it: &Account) -> std::fmt::Result {
    if let Some(id) = &it.publisher {
        write!(out, "publisher {id}, ")?;
    }
    let values = it.sent.each * it.sent.messages;
    let messages = grouped(it.sent.messages);
    writeln!(
        out,
        "{}: {} values in {messages} messages",
        it.to,
        grouped(values)
    )?;
    for (n, places) in it.listeners.iter().enumerate() {
        if it.listeners.len() > 1 {
            writeln!(out, "listener {}", n + 1)?;
        }
        let mut row = |what, count| writeln!(out, "  {what:<48} {:>15}", grouped(count));
        for (what, count) in places.named() {
            row(what, count)?;
        }
        row("in all", places.due)?;
        if places.repeated > 0 {
            row("and came again", places.repeated)?;
        }
    }
    if !it.others.is_empty() {
        let others = it.others.join(", ");
        writeln!(
            out,
            "heard beside it: {others}; what was not readable or lost in the socket may be theirs (uaperf listen --publisher ID)"
        )?;
    }
    Ok(())
}
