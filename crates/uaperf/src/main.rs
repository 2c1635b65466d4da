//! The program: arguments in, exit code out.

mod access;
mod advice;
mod calibrate;
mod cert;
mod cli;
mod compare;
mod demo;
mod discover;
mod failure;
mod pages;
mod peers;
mod perfclient;
mod place;
mod plant;
mod probe;
mod quick;
mod report;
mod results;
mod saturate;
mod scenario;
mod screen;
mod serve;
mod serving;
mod show;
mod usage;

use std::process::ExitCode;

fn main() -> ExitCode {
    match usage::parse().run() {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
