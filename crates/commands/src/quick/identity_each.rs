//! `--identity-each`: sessions that are not all the same application and user.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use load::access::{Client, ClientIdentities};
use load::engine::Control;

use crate::access;
use crate::failure::Failure;
use crate::global::Global;
use crate::{place, screen};
use plan::unit::duration;

/// A code of terminals that changes nothing keeps clap from taking `{n}` for the end of a line; it prints
/// the text without such codes.
const EACH: &str = "Give each session an application URI and a certificate of its own, made once and kept in \
                    own/each of --pki; and a user of its own if --user has {\u{1b}[0mn}, the session's number: \
                    'operator{\u{1b}[0mn}'";

/// Sessions that are not all the same application and user.
#[derive(Debug, clap::Args)]
#[group(id = "each")]
#[command(next_help_heading = "Security and user")]
pub struct Args {
    #[arg(long, help = EACH)]
    identity_each: bool,
}

impl Args {
    /// Whether the sessions differ.
    pub fn is_asked(&self) -> bool {
        self.identity_each
    }

    /// Whether it fits the other options.
    pub fn check(&self, access: &access::Args) -> anyhow::Result<()> {
        match access.user_pattern() {
            Some(pattern) if !self.identity_each => Err(Failure::usage(format!(
                "--user {pattern}: a user for each session (want --identity-each too)"
            ))
            .into()),
            _ => Ok(()),
        }
    }

    /// So many clients, if they differ.
    pub fn clients(
        &self,
        access: &access::Args,
        sessions: u32,
        quiet: bool,
        control: &Control,
        global: &Global,
    ) -> anyhow::Result<Option<Arc<ClientIdentities>>> {
        if !self.identity_each {
            return Ok(None);
        }
        let users = access.users(sessions)?;
        let clients = (1..).zip(users).map(|(n, user)| Client {
            wanted: place::client_request(n),
            user,
        });
        let folder = global.pki()?.join("own").join("each");
        let control = control.clone();
        let terminal = screen::is_drawn_on();
        let began = Instant::now();
        let go_on = move |made: usize, all: usize| {
            if !quiet {
                tell(made, all, &folder.display().to_string(), terminal, began);
            }
            !control.is_stopped()
        };
        Ok(Some(Arc::new(ClientIdentities::new(
            clients.collect(),
            go_on,
        ))))
    }
}

/// Keys take a while: how many are there, and how long the others will take. A log gets the first line.
fn tell(made: usize, all: usize, folder: &str, terminal: bool, began: Instant) {
    let mut err = std::io::stderr().lock();
    // Nobody may be listening.
    let _ = match (made, terminal) {
        (0, _) => writeln!(err, "making {all} certificates of clients in {folder}"),
        (_, false) => Ok(()),
        _ if made == all => {
            let took = duration::show(began.elapsed());
            writeln!(err, "\r\x1b[K  {made} of {all} in {took}")
        }
        _ => {
            let left = (all - made) as f64 / made as f64;
            let left = duration::show(began.elapsed().mul_f64(left));
            write!(err, "\r\x1b[K  {made} of {all}, {left} left").and_then(|()| err.flush())
        }
    };
}
