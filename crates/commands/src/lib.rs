//! The commands of the program: arguments in, exit code out.

mod access;
mod advice;
mod agent;
mod attack;
mod bench;
mod ca;
mod calibrate;
mod calibrated;
mod cert;
mod cli;
mod compare;
mod cost;
mod demo;
mod discover;
mod doctor;
mod ending;
mod failure;
mod fleet;
mod fleet_command;
mod global;
mod held_against;
mod interrupt;
mod landscape;
mod link;
mod log;
mod looking_up;
mod lost;
mod metrics;
mod model;
mod pages;
mod paper;
mod pcap;
mod peers;
mod percentiles;
mod perfclient;
mod pinning;
mod place;
mod plant;
mod printed;
mod probe;
mod proxy;
mod publishing;
mod quick;
mod remote_watch;
mod report;
mod rerun;
mod results;
mod results_command;
mod reverse;
mod saturate;
mod scenario;
mod screen;
mod secret;
mod security;
mod serve;
mod serving;
mod settings;
mod sheet;
mod show;
mod simulate;
mod size;
mod tags;
mod time_limit;
mod usage;
mod watch;
mod written;

use std::process::ExitCode;

/// Does what the arguments of this process say.
pub fn main() -> ExitCode {
    let words = perfclient::spelled(std::env::args_os());
    let done = match cli::is_of_agent(&words) {
        true => usage::parse::<cli::OfAgent>(words).run(),
        false => usage::parse::<cli::Cli>(words).run(),
    };
    // What went wrong because an interrupt took the server away is no failure.
    interrupt::wait_if_quitting();
    let code = match done {
        Ok(code) => code,
        Err(error) => ending::report(&error),
    };
    metrics::finish();
    pcap::finish();
    ending::with_lost(code)
}
