//! The machine beside the processes: how busy it is, its links, clocks and energy.

use std::time::Instant;

use observe::{
    Domain, NotAvailable, Pressure, Resource, Times, Tree, core_clocks, domains, links, pressure,
    zones,
};
use plan::unit::duration::nanos;
use record::Timestamp;
use record::run::Figure;

use super::difference::less;
use super::line::{Host, Line, Link, Watts};

/// The machine, up to a moment.
#[derive(Debug)]
pub struct Machine {
    at: Instant,
    times: observe::Figure<Times>,
    pressures: [observe::Figure<Pressure>; 3],
    links: observe::Figure<Vec<observe::Link>>,
    domains: observe::Figure<Vec<Domain>>,
}

impl Machine {
    /// This one, now.
    pub fn here() -> Self {
        let here = Tree::here();
        Self {
            at: Instant::now(),
            times: observe::Host::cpu(),
            pressures: [Resource::Cpu, Resource::Memory, Resource::Io]
                .map(|it| pressure(&here, it)),
            links: links(&here),
            domains: domains(&here),
        }
    }

    /// What it spent since it was looked at last.
    pub fn look(&mut self, at: Timestamp) -> Line {
        let then = std::mem::replace(self, Self::here());
        let interval = self.at.duration_since(then.at);
        let seconds = interval.as_secs_f64();
        let spent = match (&self.times, &then.times) {
            (Ok(now), Ok(then)) => Ok(now.since(then)),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        };
        let cores = |of: fn(&Times) -> u64| {
            Figure::from(
                spent
                    .as_ref()
                    .map(|it| of(it) as f64 / 1e9 / seconds.max(1e-9)),
            )
        };
        let memory = observe::Host::memory();
        let clocks = core_clocks(&Tree::here());
        let mut stalls = self
            .pressures
            .iter()
            .zip(&then.pressures)
            .map(|(now, then)| {
                let total = |it: &observe::Figure<Pressure>| {
                    it.as_ref().map(|it| it.some.total_ns).map_err(Clone::clone)
                };
                Figure::from(less(&total(now), &total(then)))
            });
        let mut stalled = || stalls.next().unwrap_or_default();
        Line::Host(Box::new(Host {
            at,
            name: None,
            from: None,
            interval_ns: nanos(interval),
            cores: clocks.as_ref().map(|it| it.len() as u64).into(),
            busy_cores: cores(Times::busy_ns),
            user_cores: None,
            system_cores: None,
            stolen_cores: cores(|it| it.steal_ns),
            used_bytes: memory.as_ref().map(observe::Memory::used_bytes).into(),
            ram_bytes: memory.as_ref().map(|it| it.total_bytes).into(),
            cpu_pressure_ns: stalled(),
            memory_pressure_ns: stalled(),
            io_pressure_ns: stalled(),
            links: match (&self.links, &then.links) {
                (Ok(now), Ok(then)) => Figure::Known(Link::all(now, then, seconds)),
                (Err(why), _) | (_, Err(why)) => Figure::missing(why.reason()),
            },
            mean_hertz: clocks.and_then(|it| mean_hertz(&it)).into(),
            hottest_celsius: hottest().into(),
            watts: match (&self.domains, &then.domains) {
                (Ok(now), Ok(then)) => Figure::Known(watts(now, then, seconds)),
                (Err(why), _) | (_, Err(why)) => Figure::missing(why.reason()),
            },
        }))
    }
}

fn mean_hertz(clocks: &[observe::CoreClock]) -> observe::Figure<f64> {
    let known: Vec<u64> = clocks
        .iter()
        .filter_map(|it| it.hertz.clone().ok())
        .collect();
    match (known.len(), clocks.first()) {
        (0, Some(first)) => first.hertz.clone().map(|hertz| hertz as f64),
        (0, None) => Err(NotAvailable::because("no core is known")),
        (n, _) => Ok(known.iter().sum::<u64>() as f64 / n as f64),
    }
}

fn hottest() -> observe::Figure<f64> {
    let zones = zones(&Tree::here())?;
    let known = zones.iter().filter_map(|zone| zone.celsius.clone().ok());
    known
        .reduce(f64::max)
        .ok_or_else(|| NotAvailable::because("no thermal zone says its temperature"))
}

fn watts(now: &[Domain], then: &[Domain], seconds: f64) -> Vec<Watts> {
    let domain = |domain: &Domain| {
        let was = then.iter().find(|it| it.name == domain.name)?;
        let joules = domain.joules_since(was);
        Some(Watts {
            domain: domain.name.clone(),
            watts: joules.map(|it| it / seconds.max(1e-9)).into(),
        })
    };
    now.iter().filter_map(domain).collect()
}
