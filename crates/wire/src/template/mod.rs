//! The hot path: requests encoded once and patched, responses walked where they lie.
//!
//! A load of a million Reads sends the same request a million times. A [`Template`] is that
//! request, encoded once: sending it is a copy and twelve patched bytes. A response is not
//! decoded into values nobody looks at: [`walk`] reads statuses, counts, handles and raw values
//! where they lie, without allocating.
//!
//! Both sides work on *message bodies*: the encoding's NodeId, the header, the service's fields
//! (Part 6, 5.2.9), before the secure channel puts them into chunks or after it took them out.
//!
//! Costs are kept by `crates/counted`, the absence of allocations by
//! `tests/allocations.rs`.

mod publish;
mod request;
pub mod walk;

pub use publish::PublishTemplate;
pub use request::{Template, TemplateError};
