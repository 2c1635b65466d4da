//! From what became of a phase to the result file.

use std::collections::BTreeMap;

use load::access::{Access, Client, Credentials, ServerFacts};
use load::engine::{Change, Did, Outcome, Target};
use record::Tally;
use record::run::{ByHand, Figure, OperatorAction, Part, Product, Sum};
use wire::types::StatusCode;

/// The specification's name of a status code, without its flags.
pub fn status_name(code: u32) -> String {
    StatusCode::from(code).sub_code().to_string()
}

/// A server, as it presented itself.
pub fn target(target: &Target) -> record::run::Target {
    let (access, opening) = (&target.access, &target.opening);
    let endpoint = opening.endpoint();
    let typed = access.url.to_string();
    record::run::Target {
        endpoint_url: Some(endpoint.url().to_owned()).filter(|url| *url != typed),
        url: typed,
        peer: None,
        tools: Vec::new(),
        product: product(&target.about),
        security: match access.json {
            true => format!("{}, messages in JSON", endpoint.name()),
            false => endpoint.name(),
        },
        user: users(&target.access),
        link: access.link.as_ref().map(|link| link.spec().to_string()),
        proxy: access.proxy.as_ref().map(|proxy| proxy.to_string()),
        interface: access.interface(),
        dscp: access.dscp.map(|it| it.to_string()),
        limits: limits(&target.about),
    }
}

/// Who logs in; of several, the first and the last.
fn users(access: &Access) -> String {
    let name = |client: Option<&Client>| match client.map(|it| &it.user) {
        Some(Credentials::UserName { name, .. }) => name.clone(),
        _ => access.user_name().to_owned(),
    };
    let clients = access.each.as_ref().map_or(&[][..], |each| each.clients());
    match (name(clients.first()), name(clients.last())) {
        (first, last) if first == last => first,
        (first, last) => format!("{first} to {last}"),
    }
}

fn product(about: &ServerFacts) -> Product {
    let said = |it: &Option<String>| match it {
        Some(text) if !text.is_empty() => Figure::Known(text.clone()),
        _ => Figure::missing("the server does not say"),
    };
    Product {
        name: said(&about.product),
        manufacturer: said(&about.manufacturer),
        uri: said(&about.product_uri),
        version: said(&about.version),
        build: said(&about.build),
    }
}

fn limits(about: &ServerFacts) -> BTreeMap<String, u64> {
    let limits = about.limits.iter();
    limits
        .map(|limit| (limit.name.to_owned(), limit.value as u64))
        .collect()
}

/// What a person did while it ran, and when.
pub fn by_hand(changes: &[(u64, Change)]) -> Vec<ByHand> {
    let changes = changes.iter().map(|&(at_ns, change)| ByHand {
        at_ns,
        did: match change.did {
            Did::Paused => OperatorAction::Paused,
            Did::Resumed => OperatorAction::Resumed,
            Did::Offered => OperatorAction::Offered,
            Did::EndedPhase => OperatorAction::EndedPhase,
            Did::EndedRun => OperatorAction::EndedRun,
        },
        offered_percent: match change.level.paused {
            true => 0,
            false => change.level.percent,
        },
    });
    changes.collect()
}

/// Each target and service alone, where there is more than one.
pub fn parts(outcome: &Outcome, from_ns: u64, to_ns: u64) -> Vec<Part> {
    if outcome.tallies.len() * outcome.names.len() < 2 {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for (target, tallies) in outcome.tallies.iter().enumerate() {
        for (n, (service, tally)) in outcome.names.iter().zip(tallies).enumerate() {
            let mut sum = Sum::of(&tally.window(from_ns, to_ns), &status_name);
            let is_step = n >= outcome.operations;
            // A step that nobody came to, or a name that is an address and needs no lookup.
            if is_step && sum.completed == 0 {
                continue;
            }
            // What was done when all was over has no rate.
            if is_step && sum.drained == sum.completed {
                (sum.rate_per_s, sum.values_per_s) = (None, None);
                (sum.attempted_per_s, sum.failed_per_s) = (None, None);
                sum.timed_out_per_s = None;
            }
            parts.push(Part {
                target,
                service: (*service).to_owned(),
                sum,
            });
        }
    }
    parts
}

/// All targets and services together; not the steps that they are made of.
pub fn whole(outcome: &Outcome) -> Tally {
    let mut whole = Tally::default();
    let operations = |tallies: &Vec<Tally>| outcome.operations.min(tallies.len());
    let each = outcome.tallies.iter();
    for tally in each.flat_map(|tallies| &tallies[..operations(tallies)]) {
        whole.merge(tally);
    }
    whole
}
