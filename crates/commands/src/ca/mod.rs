//! `uaperf ca`: certificate authorities for a test plant, with what they revoke.

mod folder;
mod index;
mod issue;
mod list;
mod make;
mod responder;
mod revoke;
mod serve;

use std::process::ExitCode;
use std::time::SystemTime;

use crate::global::Global;

/// Run authorities for a test plant: certificates, revocation lists, an OCSP responder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Make(make::Args),
    Issue(issue::Args),
    Revoke(revoke::Args),
    List(list::Args),
    Serve(serve::Args),
}

const EXAMPLES: &str = "\
Examples:
  uaperf ca make lab --intermediates 1 --at http://127.0.0.1:8889
  uaperf ca issue lab --own --pki server       a server's certificate, in its folder
  uaperf ca issue lab plc1 --dns plc1          one for somebody else: lab/issued/plc1.der
  uaperf ca serve lab                          answers who asks whether they were revoked
  uaperf ca revoke lab plc1                    from now on it was
  uaperf cert trust lab/root.der               whoever it signed is trusted

Nothing here is made to protect anything: the private keys lie beside the certificates.";

/// Carries out `uaperf ca`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let now = SystemTime::now().into();
    match args.command {
        Command::Make(args) => make::run(args, now)?,
        Command::Issue(args) => issue::run(args, now, global)?,
        Command::Revoke(args) => revoke::run(args, now)?,
        Command::List(args) => list::run(args, now)?,
        Command::Serve(args) => return serve::run(args),
    }
    Ok(ExitCode::SUCCESS)
}
