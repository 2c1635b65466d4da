//! For tests that need a peer: have it, or say loudly that it was not there.

use std::io::Write;

use crate::install::InstallEvent;
use crate::server::{Server, StartOptions};
use crate::stack::Stack;

/// The stack, installed when it was not. When it cannot be had, prints
/// `SKIPPED name: reason: command` and gives nothing, so that the test can return.
///
/// # Panics
/// When the stack cannot be had and the environment says `CI=true`, or when there is no stack of
/// this name.
#[allow(clippy::panic)]
pub fn require(name: &str) -> Option<&'static Stack> {
    let Some(stack) = Stack::named(name) else {
        panic!("there is no stack named {name}");
    };
    let mut installing = false;
    let outcome = stack.install(&mut |event| match event {
        InstallEvent::Done { took } if installing => {
            say(&format!("{name}: installed in {took:.1?}"))
        }
        InstallEvent::Done { .. } => {}
        event => {
            installing = true;
            say(&format!("{name}: {event}"));
        }
    });
    let Err(error) = outcome else {
        return Some(stack);
    };
    let text = error.to_string();
    let reason = text.lines().next().unwrap_or_default();
    let skipped = format!("SKIPPED {name}: {reason}: uaperf peers install {name}");
    if std::env::var("CI").is_ok_and(|v| v == "true") {
        panic!("{skipped}\n{text}");
    }
    say(&skipped);
    None
}

/// A running server of the stack, with the time that its start took printed.
///
/// # Panics
/// When it does not start.
#[allow(clippy::panic)]
pub fn start(stack: &'static Stack, options: &StartOptions) -> Server {
    match Server::start(stack, options) {
        Ok(server) => {
            let took = server.start_time();
            say(&format!("{}: server ready after {took:.2?}", stack.name));
            server
        }
        Err(error) => panic!("{error}"),
    }
}

/// Prints a line even while the test runner keeps back what tests print.
pub fn say(line: &str) {
    // One write, so that lines of parallel tests do not mix.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
