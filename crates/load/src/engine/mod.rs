//! A phase carried out: sessions on cores, each a loop of its own.
//!
//! [`Target`] is a server that was looked at and may be loaded. [`run`] opens the sessions, deals
//! them out to cores as the plan says, lets all of them begin at the same moment and gathers what
//! they wrote down. A [`Control`] ends it early. Nothing here judges or prints.

mod books;
mod core;
mod fresh;
mod helper;
mod lane;
mod opening;
mod run;
mod seat;
mod settings;
mod source;
mod spent;
mod told;

pub use books::Books;
pub use lane::{Lane, Setup};
pub use opening::{SessionError, Target};
pub use run::{Control, CoreSpent, Failed, Opened, Options, Outcome, RunError, run};
pub use source::Source;
pub use told::{Loss, Progress};
