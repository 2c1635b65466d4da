//! The house rules: what holds for the whole repository and for no crate alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arrows;
mod coverage;
mod figures;
mod files;
mod interrupts;
mod layers;
mod licences;
mod links;
mod modules;
mod once;
mod picture;
mod printing;
mod profiles;
mod promises;
mod scenarios;
mod systems;
mod ways;
mod words;
