//! A phase carried out: sessions on event loops, each with a thread of its own.
//!
//! [`Target`] is a server that was looked at and may be loaded. [`run`] opens the sessions, deals
//! them out to loops as the plan says, lets all of them begin at the same moment and gathers what
//! they wrote down. A [`Control`] ends it early,
//! pauses it or has it offer more. Nothing here judges or prints.
//!
//! An [`EventLoop`] does it. It knows time, sockets and helpers through a [`Host`] only,
//! so that the loop that measures is the one that is played in virtual time by the tests.

mod barrier;
mod control;
mod course;
mod cycle;
mod diagnostics_reader;
mod end;
mod error;
mod event_loop;
mod fresh;
mod heartbeat;
mod held;
mod helper;
mod host;
mod lane;
mod loops;
mod machine;
mod opening;
mod outcome;
mod part;
mod recorder;
mod reports;
mod rounds;
mod run;
mod running;
mod seat;
mod settings;
mod settle;
mod several;
mod source;
mod spent;
mod subscriber;
mod target;

pub use barrier::{Barrier, Set};
pub use control::{Change, Control, Did, Level};
pub use cycle::Took;
pub use error::{Failed, RunError, SessionError};
pub use event_loop::{EventLoop, Parts};
pub use held::{Held, Rounds};
pub use host::{Host, Mail, ReadySocket, Reopened, SlowTask};
pub use lane::{Lane, Setup};
pub use outcome::Outcome;
pub use part::Part;
pub use recorder::Recorder;
pub use reports::{Left, LoopSpent, Loss, Progress, Report};
pub use run::run;
pub use running::{Options, Others};
pub use seat::Seat;
pub use settings::Settings;
pub use settle::{Settled, settle};
pub use source::Source;
pub use spent::Idle;
pub use subscriber::{DiagnosticsDuty, Orders, RecoveryPath, Shape, Subscriber, SubscriberStep};
pub use target::Target;
