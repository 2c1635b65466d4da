//! The page: the tables, the footnotes, the quirks. It is a function of what is known, so that a
//! test can hold the page to it, and others can hold what is known to the stacks.

use std::fmt::{self, Write};

use peers::{Policy, Stack, Token};

use crate::beside;
use crate::cell::{Cell, TOKENS};
use crate::known::{Direction, GAPS, KNOWN, Known, Mark, mark};
use crate::pairs;
use crate::quirks::{MET, Tolerated};

/// The text of `docs/interop.md`.
pub fn page() -> String {
    with(include_str!("notified.md"))
}

/// The same with these tables of subscriptions, as `subscriptions` measured them.
pub fn with(subscriptions: &str) -> String {
    let mut out = String::new();
    // Writing into a String does not fail.
    let _ = write_page(&mut out, subscriptions);
    out
}

const HEAD: &str = "\
# Who agrees with whom

uaperf's client against the servers of other stacks, and their clients against uaperf's own server:
each security policy and mode, each kind of user. This page is written by a command and held to the
truth by tests; do not edit it.

```
cargo run --release -p interop --bin table                    # tries everything and writes this page
cargo run --release -p interop --bin table -- --only asyncua  # tries one stack
cargo test -p interop                                         # fails where this page is wrong
```

✓ is all of: **connect** (channel, session, activation, and leaving in good order, with every check
on the server's certificate), **read** of every variable of the [bench address space](interface.md)
in batches within the server's limits, each value compared, **write** of a Double and an Int32, read
back and restored, **browse** of all nodes from Objects, **call** of `echo`, and a **subscription** to
a counter that must count up. A number or letter is an explained failure, – what the other stack does
not have: of the stacks here open62541 alone has the policies of elliptic curves. WebSockets and HTTPS,
which Milo 0.6 alone has, stand in [transports.md](transports.md#who-was-asked). Clauses are those of
version 1.05.
";

fn write_page(out: &mut String, subscriptions: &str) -> fmt::Result {
    out.write_str(HEAD)?;
    stacks(out)?;
    writeln!(out, "\n## Our client, their servers")?;
    tables(out, Direction::Out)?;
    writeln!(out, "\n## Their clients, our server")?;
    writeln!(
        out,
        "\nThe clients do the same, with their own means ([peers](peers.md))."
    )?;
    tables(out, Direction::In)?;
    beside::write(out, |index| letter(index).to_uppercase())?;
    among_themselves(out)?;
    if !subscriptions.trim().is_empty() {
        out.write_str(NOTIFIED)?;
        out.write_str(subscriptions)?;
    }
    quirks(out)
}

const NOTIFIED: &str = "
## Subscriptions: few, many, too many

`uaperf subscribe` against each stack's server with its `bench` address space, on one machine with two
cores that the server and uaperf share. The tables are written by

```
cargo build --release -p uaperf
cargo run --release -p interop --bin subscriptions
```

Lost is the share of the values that did not come, of those that the change rate promises. A server that degrades
gracefully publishes more slowly, overflows its queues and serves its subscriptions alike; an abrupt one lets them
end or wait without an answer. Values of the subscription that got the fewest for each item and of the one that got
the most show how fair it is, and Jain's index (1 is even).
";

fn stacks(out: &mut String) -> fmt::Result {
    writeln!(out, "\n| stack | version | language |\n|---|---|---|")?;
    for stack in Stack::all() {
        let (title, name) = (stack.title, stack.name);
        let name = match title == name {
            true => name.to_owned(),
            false => format!("{title}: `{name}`"),
        };
        writeln!(out, "| {name} | {} | {} |", stack.version, stack.language)?;
    }
    Ok(())
}

fn tables(out: &mut String, direction: Direction) -> fmt::Result {
    for token in TOKENS {
        let user = match token {
            Token::Anonymous => "Anonymous",
            Token::UserName => "User name and password",
            Token::X509 => "User certificate (X.509)",
        };
        write!(out, "\n**{user}**\n\n| policy:mode |")?;
        for stack in Stack::all() {
            write!(out, " {} |", stack.name)?;
        }
        writeln!(out, "\n|---|{}", ":-:|".repeat(Stack::all().len()))?;
        for cell in Cell::all().filter(|cell| cell.token == token) {
            write!(out, "| {} |", cell.protection())?;
            for stack in Stack::all() {
                write!(out, " {} |", sign(&mark(direction, stack, cell)))?;
            }
            writeln!(out)?;
        }
    }
    notes(out, direction)
}

fn among_themselves(out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "\n## Their clients, each other's servers\n\nThe same work, as a user with a password, anonymous \
         on a server that knows no users. Where two\nof them disagree, neither is taken for the truth when \
         ours disagrees with one."
    )?;
    for way in pairs::PROTECTIONS {
        let protection = match way {
            (Policy::None, _) => "None".to_owned(),
            (policy, mode) => format!("{policy}:{mode}"),
        };
        write!(out, "\n**{protection}**\n\n| server \\ client |")?;
        for client in Stack::all() {
            write!(out, " {} |", client.name)?;
        }
        writeln!(out, "\n|---|{}", ":-:|".repeat(Stack::all().len()))?;
        for server in Stack::all() {
            write!(out, "| {} |", server.name)?;
            for client in Stack::all() {
                let letters: Vec<_> = pairs::known(client, server, way.0)
                    .map(|(index, _)| letter(index))
                    .collect();
                match pairs::cell(client, server, way) {
                    None => write!(out, " – |")?,
                    Some(_) if letters.is_empty() => write!(out, " ✓ |")?,
                    Some(_) => write!(out, " {} |", letters.join(", "))?,
                }
            }
            writeln!(out)?;
        }
    }
    if !pairs::DISAGREEMENTS.is_empty() {
        writeln!(out, "\nDisagreements:\n")?;
    }
    for (index, known) in pairs::DISAGREEMENTS.iter().enumerate() {
        let (letter, work) = (letter(index), known.work.name());
        let (clients, server) = (known.clients.join(", "), known.server);
        let (reason, clause) = (known.reason, known.clause);
        writeln!(
            out,
            "- **{letter}** {clients} on {server}, {work}: {reason}. {clause}."
        )?;
    }
    Ok(())
}

/// a, b, … z, aa: numbers are taken by the failures of ours.
fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}

fn sign(mark: &Mark) -> String {
    match mark {
        Mark::Works => "✓".into(),
        Mark::NotOffered => "–".into(),
        Mark::Notes(notes) => {
            let numbers: Vec<_> = notes.iter().map(|index| (index + 1).to_string()).collect();
            numbers.join(", ")
        }
    }
}

fn notes(out: &mut String, direction: Direction) -> fmt::Result {
    let ours = |known: &Known| known.direction == direction;
    let mut notes = KNOWN
        .iter()
        .enumerate()
        .filter(|(_, known)| ours(known))
        .peekable();
    if notes.peek().is_some() {
        writeln!(out, "\nFailures:\n")?;
    }
    for (index, known) in notes {
        let Known {
            stack,
            reason,
            clause,
            ..
        } = known;
        let (number, work) = (index + 1, known.work.name());
        writeln!(out, "- **{number}** {stack}, {work}: {reason}. {clause}.")?;
    }
    let mut gaps = GAPS
        .iter()
        .filter(|gap| gap.direction == direction)
        .peekable();
    if gaps.peek().is_some() {
        writeln!(out, "\nWhat is not there:\n")?;
    }
    for gap in gaps {
        writeln!(out, "- {}: {}.", gap.stack, gap.reason)?;
    }
    Ok(())
}

fn quirks(out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "\n## Quirks\n\nWhat whoever measures or tests against a stack should know, with the clause that \
         decides\nwhere there is one. What a user would stumble over is tolerated."
    )?;
    for stack in Stack::all() {
        let met = || MET.iter().filter(|met| met.stack == stack.name);
        if stack.quirks.is_empty() && met().next().is_none() {
            continue;
        }
        writeln!(out, "\n### {} {}\n", stack.title, stack.version)?;
        for met in met() {
            item(out, met.what, Some(met.clause), Some(met.tolerated))?;
        }
        for quirk in stack.quirks {
            let tolerated = Tolerated::of(stack.name, quirk.what).map(|one| one.how);
            item(out, quirk.what, quirk.clause, tolerated)?;
        }
    }
    Ok(())
}

fn item(
    out: &mut String,
    what: &str,
    clause: Option<&str>,
    tolerated: Option<&str>,
) -> fmt::Result {
    write!(out, "- {}.", first_upper(what))?;
    if let Some(clause) = clause {
        write!(out, " {clause}.")?;
    }
    if let Some(how) = tolerated {
        write!(out, " *Tolerated*: {how}.")?;
    }
    writeln!(out)
}

fn first_upper(text: &str) -> String {
    // A name keeps its case: `revisedSessionTimeout is 0`.
    let word = text.split(' ').next().unwrap_or_default();
    let is_name = word
        .chars()
        .skip(1)
        .any(|c| !c.is_ascii_lowercase() && c != ',');
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !is_name => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}
