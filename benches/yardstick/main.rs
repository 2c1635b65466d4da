//! The yardstick: what raw sockets take, what open62541 takes, and what we take, for the same
//! work in the same run.
//!
//! `cargo bench -p benches --bench yardstick -- --help`
//!
//! Subjects take turns, in one order and then in the other, so that whatever else the machine
//! does falls on all of them. What counts are ratios within a round. The server's side has one
//! core, the client's another.

mod bars;
mod client;
mod generator;
mod options;
mod peer;
mod place;
mod plant;
mod print;
mod raw;
mod results;
mod slice;
mod subjects;

use std::process::ExitCode;

use observe::{Host, fingerprint};

use crate::options::{Options, USAGE};
use crate::results::{Results, Turns};
use crate::subjects::Bench;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == plant::ROLE).is_some() {
        return ended(plant::serve(words));
    }
    if words.peek().is_some_and(|word| word == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match Options::parse(words) {
        Ok(options) => ended(run(&options)),
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn ended(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let machine = fingerprint();
    let before = Host::sample();
    print::machine(&machine, &before);
    let mut bench = Bench::set_up(options)?;
    let mut results = Results(Vec::new());
    for subject in &bench.subjects {
        results
            .0
            .push(Turns::new(subject.name.clone(), subject.batch));
    }
    // Everyone once, for nothing: connections, caches and branch predictors warm up.
    let all: Vec<usize> = (0..bench.subjects.len()).collect();
    for &index in &all {
        if let Err(error) = bench.turn(index, options.turn / 5)
            && let Some(turns) = results.0.get_mut(index)
        {
            turns.failure = Some(format!("{error:#}"));
        }
    }
    for round in 0..options.rounds {
        let mut order = all.clone();
        order.rotate_left((round / 2 * 7) % all.len().max(1));
        if round % 2 == 1 {
            order.reverse();
        }
        eprintln!("round {} of {}", round + 1, options.rounds);
        for index in order {
            let Some(turns) = results.0.get_mut(index) else {
                continue;
            };
            let slice = match turns.failure {
                Some(_) => None,
                None => match bench.turn(index, options.turn) {
                    Ok(slice) => Some(slice),
                    Err(error) => {
                        turns.failure = Some(format!("{error:#}"));
                        None
                    }
                },
            };
            turns.slices.push(slice);
        }
    }
    let after = Host::sample();
    print::table(&results, &bench);
    let bars = bars::all(&results, bench.generator);
    print::bars(&bars, bench.generator);
    print::host(&before, &after);
    let json = print::json(&results, &bench, &bars, &machine, &before, &after, options);
    match &options.json {
        Some(file) => std::fs::write(file, format!("{json:#}\n"))?,
        None => println!("{json}"),
    }
    Ok(())
}
