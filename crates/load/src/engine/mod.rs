//! A phase carried out: sessions on cores, each a loop of its own.
//!
//! [`Target`] is a server that was looked at and may be loaded. [`run`] opens the sessions, deals
//! them out to cores as the plan says, lets all of them begin at the same moment and gathers what
//! they wrote down. A [`Control`] ends it early. Nothing here judges or prints.

mod core;
mod helper;
mod lane;
mod opening;
mod run;
mod settings;
mod spent;

pub use self::core::{Loss, Progress};
pub use lane::{Lane, Setup, Source};
pub use opening::Target;
pub use run::{Control, CoreSpent, Failed, Opened, Options, Outcome, RunError, run};
