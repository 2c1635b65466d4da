//! For tests that need a peer: have it, or say loudly that it was not there.

pub use without::say;

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
    let Some(stack) = Stack::named(name).or_else(|| Stack::broker(name)) else {
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
    // The rest of a long reason is for whoever has to mend it.
    if text.lines().nth(1).is_some() {
        say(&text);
    }
    without::skipped(name, reason, &format!("uaperf peers install {name}"));
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
