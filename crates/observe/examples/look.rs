//! What can be observed here, and what looking costs: `look [PID]`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use observe::{Figure, Host, Process, fingerprint, limits};

fn show<T: std::fmt::Debug>(name: &str, figure: &Figure<T>) {
    match figure {
        Ok(value) => println!("  {name:<22} {value:?}"),
        Err(reason) => println!("  {name:<22} {reason}"),
    }
}

/// The median of what looking took, a thousand times over.
fn cost(mut look: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..1000)
        .map(|_| {
            let start = Instant::now();
            look();
            start.elapsed()
        })
        .collect();
    times.sort();
    times.get(500).copied().unwrap_or_default()
}

fn main() -> ExitCode {
    let process = match std::env::args().nth(1) {
        None => Ok(Process::own()),
        Some(word) => match word.parse() {
            Ok(id) => Process::of(id).map_err(|reason| reason.to_string()),
            Err(_) => Err(format!("bad process id: {word} (want a number)")),
        },
    };
    let mut process = match process {
        Ok(process) => process,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    println!("machine {:#?}", fingerprint());

    let sample = process.sample();
    println!("process {}", process.id());
    show("CPU, ns", &sample.cpu_ns);
    show("user, ns", &sample.user_ns);
    show("system, ns", &sample.system_ns);
    show("waited, ns", &sample.waited_ns);
    show("RSS", &sample.rss_bytes);
    show("peak RSS", &sample.peak_rss_bytes);
    show("threads", &sample.threads);
    show("voluntary switches", &sample.voluntary_switches);
    show("involuntary switches", &sample.involuntary_switches);
    show("minor faults", &sample.minor_faults);
    show("major faults", &sample.major_faults);
    show("descriptors", &sample.descriptors);
    for thread in process.threads().unwrap_or_default() {
        println!("  thread {:?}", thread);
    }

    let host = Host::sample();
    println!("host");
    show("CPU", &host.cpu);
    show("cores", &host.cores);
    show("load", &host.load);
    show("memory", &host.memory);
    show("network", &host.network);
    show("descriptors", &limits::descriptors());
    show("ports", &limits::ports());

    println!("cost of looking, median of 1000");
    println!(
        "  a process              {:?}",
        cost(|| drop(process.sample()))
    );
    println!(
        "  its CPU alone          {:?}",
        cost(|| drop(process.cpu()))
    );
    println!(
        "  its threads            {:?}",
        cost(|| drop(process.threads()))
    );
    println!(
        "  the host               {:?}",
        cost(|| drop(Host::sample()))
    );
    ExitCode::SUCCESS
}
