//! The model of costs, in one binary: against what is known, printed and measured.

mod amounts;
mod campaigns;
mod delay;
mod next;
mod parity;
mod published;
mod publishers;
mod scalability;
mod synthetic;
