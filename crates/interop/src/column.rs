//! One stack, tried in every way.

use std::convert::Infallible;
use std::time::Instant;

use peers::testing::say;
use peers::{Mode, Policy, Server, Stack, StackState, StartOptions, Token};

use crate::cell::{Cell, Complaint, Outcome, Work};
use crate::known::{Direction, Mark, mark, surprises};
use crate::ours::{Ours, SetupError};
use crate::pairs;
use crate::theirs::Theirs;

/// Why a column could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] peers::StartError),
    /// Nothing could be tried on it.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// Starts the stack's server, tries every cell on it with our client, and gives what came of
/// each that is not as the table says; nothing if the table is right.
pub fn out(stack: &'static Stack, ours: &Ours) -> Result<Vec<String>, ColumnError> {
    let server = Server::start(stack, &StartOptions::default())?;
    let begin = Instant::now();
    ours.trust(server.url())?;
    let mut unexpected = Vec::new();
    let mut tried = 0;
    for cell in Cell::all() {
        let outcome = twice_on_curves(cell, || ours.attempt(server.url(), cell))?;
        tried += usize::from(matches!(outcome, Outcome::Tried(_)));
        unexpected.extend(surprises(Direction::Out, stack, cell, &outcome));
    }
    let (name, took) = (stack.name, begin.elapsed());
    say(&format!(
        "{name}: {tried} cells with our client in {took:.1?}"
    ));
    if !unexpected.is_empty() {
        unexpected.push(format!("the server's log: {}", server.log().display()));
    }
    Ok(unexpected)
}

/// Tries again what did not connect under a policy of elliptic curves: open62541, the only one that has them, gets one
/// agreement in 256 wrong (its quirks say how).
fn twice_on_curves<E>(
    cell: Cell,
    mut attempt: impl FnMut() -> Result<Outcome, E>,
) -> Result<Outcome, E> {
    let first = attempt()?;
    let on_curve = matches!(cell.policy, Policy::EccNistP256 | Policy::EccNistP384);
    let failed = |it: &Complaint| it.work == Work::Connect;
    match &first {
        Outcome::Tried(complaints) if on_curve && complaints.iter().any(failed) => attempt(),
        _ => Ok(first),
    }
}

/// How much of a column of their clients is tried: each cell is a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything in every cell.
    Whole,
    /// Every policy, and every mode and token on the strongest; everything without security, on
    /// the strongest and where there is a footnote, elsewhere connect and read.
    Sample,
}

impl Extent {
    /// What is done in a cell; nothing if it is left out.
    fn work(self, cell: Cell, stack: &Stack) -> Option<&'static [Work]> {
        let named = cell.token == Token::UserName;
        let encrypts = cell.mode == Mode::SignAndEncrypt;
        let strongest = stack.speaks.policies.last() == Some(&cell.policy);
        let has_note = matches!(mark(Direction::In, stack, cell), Mark::Notes(_));
        let open = cell.policy == Policy::None;
        match self {
            Self::Whole => Some(&Work::ALL),
            _ if has_note || named && (open || strongest && encrypts) => Some(&Work::ALL),
            _ if open || named && (strongest || encrypts) || strongest && encrypts => {
                Some(&[Work::Connect, Work::Read])
            }
            _ => None,
        }
    }
}

/// Has the stack's client try our server, and gives what is not as the table says.
pub fn inward(stack: &'static Stack, theirs: &Theirs, extent: Extent) -> Vec<String> {
    let begin = Instant::now();
    let mut unexpected = Vec::new();
    let mut tried = 0;
    for cell in Cell::all() {
        let Some(work) = extent.work(cell, stack) else {
            continue;
        };
        let outcome = twice_on_curves(cell, || {
            Ok::<_, Infallible>(theirs.attempt(stack, cell, work))
        });
        let Ok(outcome) = outcome;
        tried += usize::from(matches!(outcome, Outcome::Tried(_)));
        unexpected.extend(surprises(Direction::In, stack, cell, &outcome));
    }
    let (name, took) = (stack.name, begin.elapsed());
    say(&format!(
        "{name}: {tried} cells with its client in {took:.1?}"
    ));
    unexpected
}

/// Starts the stack's server and has the installed clients of all stacks, its own too, do everything
/// on it; gives what is not as the page says. A [`Extent::Sample`] is the better protected of the two
/// ways that a pair has, and those with a footnote.
pub fn among_themselves(stack: &'static Stack, extent: Extent) -> Result<Vec<String>, ColumnError> {
    let server = Server::start(stack, &StartOptions::default())?;
    let begin = Instant::now();
    let mut unexpected = Vec::new();
    let mut tried = 0;
    for client in Stack::all() {
        if !matches!(client.state(), StackState::Installed) {
            let name = client.name;
            say(&format!(
                "SKIPPED {name} as client: not installed: uaperf peers install {name}"
            ));
            continue;
        }
        let ways = pairs::PROTECTIONS;
        let better = ways
            .into_iter()
            .rfind(|&way| pairs::cell(client, stack, way).is_some());
        for way in ways {
            let has_note = pairs::known(client, stack, way.0).next().is_some();
            if extent == Extent::Sample && better != Some(way) && !has_note {
                continue;
            }
            if let Outcome::Tried(complaints) = pairs::attempt(client, &server, way) {
                tried += 1;
                unexpected.extend(pairs::surprise(client, stack, way.0, &complaints));
            }
        }
    }
    let (name, took) = (stack.name, begin.elapsed());
    say(&format!(
        "{name}: {tried} runs of all clients in {took:.1?}"
    ));
    Ok(unexpected)
}
