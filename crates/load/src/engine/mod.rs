//! A phase carried out: sessions on cores, each a loop of its own.
//!
//! [`Target`] is a server that was looked at and may be loaded. [`run`] opens the sessions, deals
//! them out to cores as the plan says, lets all of them begin at the same moment and gathers what
//! they wrote down. A [`Control`] ends it early,
//! pauses it or has it offer more. Nothing here judges or prints.
//!
//! A [`Core`] is the loop that does it. It knows time, sockets and helpers through a [`Host`] only,
//! so that the loop that measures is the one that is played in virtual time by the tests.

mod books;
mod control;
mod core;
mod cores;
mod course;
mod cycle;
mod end;
mod error;
mod fresh;
mod gate;
mod heartbeat;
mod held;
mod helper;
mod host;
mod lane;
mod machine;
mod opening;
mod outcome;
mod part;
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
mod told;
mod witness;

pub use self::core::{Core, Parts};
pub use books::Books;
pub use control::{Change, Control, Did, Level};
pub use cycle::Took;
pub use error::{Failed, RunError, SessionError};
pub use gate::{Gate, Set};
pub use held::{Held, Rounds};
pub use host::{Errand, Host, Mail, Reopened, Rung};
pub use lane::{Lane, Setup};
pub use outcome::Outcome;
pub use part::Part;
pub use run::run;
pub use running::{Options, Others};
pub use seat::Seat;
pub use settings::Settings;
pub use settle::{Settled, settle};
pub use source::Source;
pub use spent::Idle;
pub use subscriber::{Came, Orders, Shape, Step as SubscriberStep, Subscriber, Witness};
pub use target::Target;
pub use told::{CoreSpent, Left, Loss, Progress, Report};
