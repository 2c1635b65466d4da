//! A landscape over hosts: agents serve its devices, and this process has their ledger.

use std::ops::Range;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use fleet::frame::unpack;
use load::engine::Control;
use plant::Counted;

use super::Args;
use super::file::{Landscape, NO_FILES};
use super::ledger::{Joint, Server, Struck, happened};
use super::live::{self, Begun, Live, Look};
use super::part::{PartMessage, PartResult};
use crate::failure::Failure;
use crate::fleet::nats;
use crate::fleet::roles::{RoleEvent, Roles};
use crate::fleet::spec::{Spec, places};
use crate::fleet::task::{Role, Serves};
use crate::global::Global;
use crate::screen::{self, plain, tell};
use crate::serve::running::End;

/// How often something is looked for.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How often a line shows how all are.
const EVERY: Duration = Duration::from_secs(1);

/// Whether agents serve any of it.
pub fn is_asked(landscape: &Landscape, args: &Args) -> bool {
    !args.fleet.is_empty() || landscape.groups.iter().any(|it| it.on.is_some())
}

/// Which agents there are, and which of them serve which group, by their numbers.
struct Placement {
    specs: Vec<Spec>,
    groups: Vec<Vec<usize>>,
}

impl Placement {
    /// The same words are the same agents. A group that says nothing is for those of --fleet, or else for one on this host.
    fn of(landscape: &Landscape, args: &Args) -> anyhow::Result<Self> {
        let here = [Spec::here()];
        let usual = match args.fleet.as_slice() {
            [] => &here[..],
            said => said,
        };
        let mut specs: Vec<Spec> = Vec::new();
        let mut groups = Vec::new();
        for group in &landscape.groups {
            if group.is_file {
                let what = format!("group {}: {NO_FILES}", group.name);
                return Err(Failure::usage(what).into());
            }
            let mut numbers = Vec::new();
            let wanted = group.on.as_ref().map_or(usual, std::slice::from_ref);
            for spec in nats::resolved(wanted)? {
                let place = specs.iter().position(|it| *it == spec);
                let place = place.unwrap_or_else(|| {
                    specs.push(spec);
                    specs.len() - 1
                });
                numbers.push(place);
            }
            groups.push(numbers);
        }
        // A number of specs so far; each of them may be several agents.
        let mut first = Vec::new();
        let mut count = 0;
        for spec in &specs {
            let own = places(std::slice::from_ref(spec)).len();
            first.push(count..count + own);
            count += own;
        }
        let agents = |numbers: Vec<usize>| {
            let each = numbers.into_iter().filter_map(|it| first.get(it).cloned());
            each.flatten().collect()
        };
        let groups: Vec<Vec<usize>> = groups.into_iter().map(agents).collect();
        let mut named = landscape.groups.iter().zip(&groups);
        if let Some((group, agents)) = named.find(|(it, on)| it.host.is_some() && on.len() > 1) {
            let what = format!(
                "group {}: host is the name of one host, and {} agents serve it",
                group.name,
                agents.len()
            );
            return Err(Failure::usage(what)
                .hint("want a group for each host")
                .into());
        }
        Ok(Self { specs, groups })
    }

    /// The devices of each agent, as ranges of places: those of a group stay together.
    fn deal(&self, landscape: &Landscape, weights: &[u32]) -> Vec<Vec<(usize, usize)>> {
        let mut hands = vec![Vec::new(); weights.len()];
        let mut first = 0;
        for (group, agents) in landscape.groups.iter().zip(&self.groups) {
            let weigh = |it: &usize| weights.get(*it).copied().unwrap_or(0);
            let own: Vec<u32> = agents.iter().map(weigh).collect();
            for (agent, block) in agents.iter().zip(blocks(group.devices.len(), &own)) {
                if let (false, Some(hand)) = (block.is_empty(), hands.get_mut(*agent)) {
                    hand.push((first + block.start, first + block.end));
                }
            }
            first += group.devices.len();
        }
        hands
    }
}

/// So many things in a row, cut by weight.
fn blocks(count: usize, weights: &[u32]) -> Vec<Range<usize>> {
    let total: u64 = weights.iter().map(|it| u64::from(*it)).sum();
    let mut before = 0;
    let mut from = 0;
    let cut = |weight: &u32| {
        before += u64::from(*weight);
        let share = (count as u64 * before).checked_div(total).unwrap_or(0);
        let to = usize::try_from(share).unwrap_or(count);
        std::mem::replace(&mut from, to)..to
    };
    weights.iter().map(cut).collect()
}

/// What an agent has said so far.
#[derive(Default)]
struct Agent {
    devices: usize,
    /// Of its devices, in the order of the file; with the time that certificates took.
    up: Option<(Vec<String>, Duration)>,
    counted: Counted,
    memory: Option<u64>,
    struck: Vec<Struck>,
    sheet: Option<super::ledger::Sheet>,
    is_gone: bool,
}

/// Has agents serve the landscape until it ends; gives the ledger of all.
pub fn serve(
    landscape: &Landscape,
    args: &Args,
    global: &Global,
    ended: Receiver<End>,
    quiet: bool,
) -> anyhow::Result<Joint> {
    let control = Control::default();
    let stop = control.clone();
    std::thread::Builder::new()
        .name("end".into())
        .spawn(move || {
            // Without a sender nobody ends it.
            if ended.recv().is_ok() {
                stop.stop();
            }
        })?;
    let began = Instant::now();
    let placement = Placement::of(landscape, args)?;
    let mut roles = Roles::gather(&placement.specs, &control, global)?;
    let hands = placement.deal(landscape, &roles.weights());
    if let Some(idle) = hands.iter().position(Vec::is_empty) {
        let what = format!("no device is left for {}", roles.name(idle));
        return Err(Failure::usage(what)
            .hint("want fewer agents, or more devices")
            .into());
    }
    let count = |hand: &Vec<(usize, usize)>| hand.iter().map(|(from, to)| to - from).sum();
    let role = |(agent, hand): (usize, &Vec<(usize, usize)>)| {
        Role::Serve(Serves {
            text: landscape.text.clone(),
            name: landscape.name.clone(),
            devices: hand.clone(),
            host: roles.host(agent),
            words: args.words(),
        })
    };
    let shares = hands.iter().enumerate().map(role).collect();
    let agents: Vec<usize> = hands.iter().map(count).collect();
    let many: Vec<u64> = agents.iter().map(|it| *it as u64).collect();
    roles.begin(shares, &many, &control)?;
    let agents = agents.into_iter().map(|devices| Agent {
        devices,
        ..Agent::default()
    });
    let mut serving = DeviceAgents {
        landscape,
        roles,
        hands,
        agents: agents.collect(),
        shown: 0,
        quiet,
    };
    serving.rise(&control)?;
    if !quiet {
        tell!(
            "{}",
            live::begun(landscape, &serving.begun(began.elapsed()))
        );
    }
    let mut out = screen::out();
    for line in live::ready(landscape, &serving.urls()) {
        use std::io::Write as _;
        writeln!(out, "READY {}", plain(&line))?;
    }
    serving.pass_time(&control, args.duration);
    Ok(serving.end())
}

/// Agents that serve devices.
struct DeviceAgents<'a> {
    landscape: &'a Landscape,
    roles: Roles,
    hands: Vec<Vec<(usize, usize)>>,
    agents: Vec<Agent>,
    /// So many events are done with.
    shown: usize,
    quiet: bool,
}

impl DeviceAgents<'_> {
    /// Takes what comes within so long; whether anybody is left to wait for.
    fn take(&mut self, within: Duration) -> bool {
        let came = self.roles.next(within);
        let number = match &came {
            RoleEvent::Progress(agent, _)
            | RoleEvent::Results(agent, _)
            | RoleEvent::Gone(agent) => *agent,
            RoleEvent::Nothing => return true,
            RoleEvent::Over => return false,
        };
        let Some(agent) = self.agents.get_mut(number) else {
            return true;
        };
        match came {
            RoleEvent::Progress(_, bytes) => match unpack(&bytes) {
                Ok(PartMessage::Up {
                    urls,
                    certificates_ns,
                }) => agent.up = Some((urls, Duration::from_nanos(certificates_ns))),
                Ok(PartMessage::Look { counted, memory }) => {
                    agent.counted = *counted;
                    agent.memory = memory;
                }
                Ok(PartMessage::Struck(it)) => {
                    agent.struck.push(it);
                    if !self.quiet {
                        self.show();
                    }
                }
                // What it tells at the end counts.
                Err(_) => {}
            },
            RoleEvent::Results(_, bytes) => match PartResult::read(&bytes) {
                Ok(results) => {
                    agent.sheet = Some(results.sheet);
                    agent.struck = results.struck;
                }
                Err(error) => {
                    agent.is_gone = true;
                    let name = self.roles.name(number);
                    tell!("warning: agent {name}: its ledger cannot be read: {error:#}");
                }
            },
            RoleEvent::Gone(_) => agent.is_gone = true,
            RoleEvent::Nothing | RoleEvent::Over => {}
        }
        true
    }

    /// Until all devices are there.
    fn rise(&mut self, control: &Control) -> anyhow::Result<()> {
        while self.agents.iter().any(|it| it.up.is_none()) {
            if control.is_over() {
                return Err(Failure::interrupted().into());
            }
            let goes_on = self.take(LOOK_UP);
            let gone = self.agents.iter().position(|it| it.is_gone);
            if let Some(gone) = gone.or((!goes_on).then_some(0)) {
                return Err(self.roles.failed(gone).into());
            }
        }
        Ok(())
    }

    fn begun(&self, took: Duration) -> Begun {
        let up = self.agents.iter().filter_map(|it| it.up.as_ref());
        let memory = self.agents.iter().filter_map(|it| it.memory);
        Begun {
            devices: self.agents.iter().map(|it| it.devices).sum(),
            took,
            // They are made side by side; all agents have told of it by now.
            certificates: up.map(|it| it.1).max().unwrap_or_default(),
            memory: Some(memory.sum()).filter(|it| *it > 0),
            agents: self.agents.len(),
        }
    }

    /// Of all devices, in the order of the file.
    fn urls(&self) -> Vec<String> {
        let mut all = vec![String::new(); self.landscape.devices().count()];
        for (agent, hand) in self.agents.iter().zip(&self.hands) {
            let places = hand.iter().flat_map(|(from, to)| *from..*to);
            let urls = agent.up.iter().flat_map(|(urls, _)| urls);
            for (place, url) in places.zip(urls) {
                if let Some(it) = all.get_mut(place) {
                    it.clone_from(url);
                }
            }
        }
        all
    }

    fn struck(&self) -> Vec<Struck> {
        let each = self.agents.iter().flat_map(|it| &it.struck);
        each.copied().collect()
    }

    /// A line for each event that has happened to all whom it is for, in their order.
    fn show(&mut self) {
        while let Some(event) = self.landscape.events.get(self.shown) {
            let is_hit = |(from, to): &(usize, usize)| (*from..*to).any(|place| event.hits(place));
            let each = self.agents.iter().zip(&self.hands);
            let whom = each.filter(|(agent, hand)| !agent.is_gone && hand.iter().any(is_hit));
            let has = |agent: &Agent| agent.struck.iter().any(|it| it.event == self.shown);
            let has: Vec<bool> = whom.map(|(agent, _)| has(agent)).collect();
            if has.contains(&false) {
                return;
            }
            let mut struck = self.struck();
            struck.retain(|it| it.event == self.shown);
            self.shown += 1;
            for happened in happened(self.landscape, &struck) {
                screen::status("");
                tell!("{}", live::event(event, &happened));
            }
        }
    }

    /// Until it is over, or nobody is left.
    fn pass_time(&mut self, control: &Control, most: Option<Duration>) {
        let start = Instant::now();
        let mut live = (!self.quiet).then(|| Live::new(self.begun(Duration::ZERO).devices));
        let mut next = start + EVERY;
        while !control.is_over() && most.is_none_or(|most| start.elapsed() < most) {
            if !self.take(LOOK_UP) || self.agents.iter().all(|it| it.is_gone) {
                return;
            }
            let (Some(live), true) = (&mut live, Instant::now() >= next) else {
                continue;
            };
            next += EVERY;
            let up = start.elapsed();
            let mut counted = Counted::default();
            self.agents.iter().for_each(|it| counted += it.counted);
            let look = Look {
                counted,
                memory: self.begun(up).memory,
            };
            let mut events = self.landscape.events.iter().map(|it| it.at);
            let due = events.find(|at| *at > up);
            live.look(up, look, &happened(self.landscape, &self.struck()), due);
        }
    }

    /// Ends all devices, and adds up what became of them.
    fn end(mut self) -> Joint {
        self.roles.stop();
        let waits = |it: &Agent| it.sheet.is_none() && !it.is_gone;
        while self.agents.iter().any(waits) && self.take(EVERY) {}
        let names: Vec<String> = (0..self.agents.len())
            .map(|agent| self.roles.name(agent).to_owned())
            .collect();
        let struck = self.struck();
        let hosts = self.roles.end();
        let lost = hosts.into_iter().map(|it| it.lost);
        let servers = self.agents.into_iter().zip(names).zip(lost);
        let servers = servers.map(|((agent, name), lost)| Server {
            name,
            devices: agent.devices,
            sheet: agent.sheet.ok_or_else(|| {
                let why = lost.unwrap_or_else(|| "told nothing that can be read".to_owned());
                plain(&why)
            }),
        });
        let events = happened(self.landscape, &struck);
        Joint::of_agents(self.landscape, servers.collect(), events)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init)]

    use super::*;

    #[test]
    fn devices_of_a_group_stay_together_and_none_is_left() {
        assert_eq!(blocks(10, &[1, 1, 1]), [0..3, 3..6, 6..10]);
        assert_eq!(blocks(10, &[3, 1]), [0..7, 7..10]);
        assert_eq!(blocks(2, &[1, 1, 1]), [0..0, 0..1, 1..2]);
        assert_eq!(blocks(5, &[0, 7]), [0..0, 0..5]);
    }
}
