//! One stack, tried in every way.

use std::collections::HashSet;
use std::time::Instant;

use peers::testing::say;
use peers::{Mode, Policy, Server, Stack, StartOptions, Token};

use crate::cell::{Cell, Outcome, Work};
use crate::known::{Direction, surprises};
use crate::ours::{Ours, SetupError};
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
        let outcome = ours.attempt(server.url(), cell)?;
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

/// How much of a column of their clients is tried: each cell is a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything in every cell.
    Whole,
    /// Every policy and mode, every token on the weakest and the strongest, and everything once
    /// for each policy.
    Sample,
}

impl Extent {
    fn has(self, cell: Cell, stack: &Stack) -> bool {
        let strongest =
            stack.speaks.policies.last() == Some(&cell.policy) && cell.mode == Mode::SignAndEncrypt;
        self == Self::Whole
            || cell.token == Token::UserName
            || cell.policy == Policy::None
            || strongest
    }

    fn steps(self, first: bool) -> &'static [Work] {
        match self == Self::Whole || first {
            true => &Work::ALL,
            false => &[Work::Connect],
        }
    }
}

/// Has the stack's client try our server, and gives what is not as the table says.
pub fn inward(stack: &'static Stack, theirs: &Theirs, extent: Extent) -> Vec<String> {
    let begin = Instant::now();
    let mut unexpected = Vec::new();
    let mut complete = HashSet::new();
    let mut tried = 0;
    for cell in Cell::all().filter(|&cell| extent.has(cell, stack)) {
        let steps = extent.steps(complete.insert(cell.policy));
        let outcome = theirs.attempt(stack, cell, steps);
        tried += usize::from(matches!(outcome, Outcome::Tried(_)));
        unexpected.extend(surprises(Direction::In, stack, cell, &outcome));
    }
    let (name, took) = (stack.name, begin.elapsed());
    say(&format!(
        "{name}: {tried} cells with its client in {took:.1?}"
    ));
    unexpected
}
