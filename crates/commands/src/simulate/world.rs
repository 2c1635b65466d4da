//! From a plant file and costs to a world.

use model::plant::{self, Act, Node, Phases, Plant};
use model::{Model, Security, Term};
use simulate::{
    BackOff, Client, Connect, ConnectCost, Files, Happening, Kind, Link, On, Publishing, Requests,
    Updates,
};

/// A world, and where its figures come from.
#[derive(Debug)]
pub struct World {
    pub world: simulate::World,
    /// Of what the costs are.
    pub costs: String,
    /// What was assumed, in sentences.
    pub notes: Vec<String>,
}

/// Bytes of a Publish response without values, of a value in it with its time, and of a Publish request; of open62541.
const HEAD: u32 = 160;
const VALUE: u32 = 26;
const ASK: u32 = 120;
/// What a signed and encrypted message has beside.
const SECURED: u32 = 64;

/// CPU time of a client that connects to open62541 on the core of a virtual machine: without security and with
/// Basic256Sha256 and keys of 2048 bits.
const CONNECT_MS: f64 = 1.2;
const SECURED_CONNECT_MS: f64 = 6.0;

fn ns(ms: f64) -> u64 {
    (ms * 1e6).round().max(0.0) as u64
}

impl World {
    /// The world of a plant, at the costs of a model or those that the file states.
    pub fn of(plant: &Plant, model: Option<&Model>, seed: u64) -> Result<Self, String> {
        let mut notes = Vec::new();
        let links = plant.links.iter().map(|it| {
            let spec = it.link.parse::<link::Spec>();
            Ok(Link {
                name: it.name.clone(),
                spec: spec.map_err(|error| error.to_string())?,
                each: it.each,
            })
        });
        let links = links.collect::<Result<Vec<_>, String>>()?;
        let kinds = plant.nodes.iter();
        let kinds = kinds
            .map(|node| kind(plant, node, model, &mut notes))
            .collect();
        let costs = match model {
            Some(model) => model.name.clone(),
            None => "stated in the plant file".to_owned(),
        };
        Ok(Self {
            world: simulate::World {
                seed,
                length: ns(plant.duration_ms),
                links,
                kinds,
                happenings: plant.events.iter().map(|it| happening(plant, it)).collect(),
                files: Files::Kind,
            },
            costs,
            notes,
        })
    }
}

fn happening(plant: &Plant, it: &plant::Event) -> Happening {
    let which = it.which.map(|it| it - 1);
    // The file was read: they are there.
    let link = plant.links.iter().position(|link| link.name == it.on);
    let node = plant.nodes.iter().position(|node| node.name == it.on);
    Happening {
        at: ns(it.at_ms),
        on: match it.act {
            Act::Down => On::Link(link.unwrap_or(usize::MAX), which),
            _ => On::Node(node.unwrap_or(usize::MAX), which),
        },
        act: match it.act {
            Act::Down => simulate::Act::Down,
            Act::Restart => simulate::Act::Restart,
            Act::PowerOff => simulate::Act::PowerOff,
        },
        lasts: ns(it.lasts_ms),
    }
}

/// Where a server's time goes, in nanoseconds.
#[derive(Debug, Default)]
struct Parts {
    /// Of a second, whatever comes.
    background: f64,
    /// Of each message.
    message: f64,
    /// Of each round of the update loop.
    update: f64,
    /// Of each request.
    request: f64,
}

impl Parts {
    fn of(node: &Node, spent: &[(Term, f64)]) -> Self {
        let workload = node.workload();
        let messages = workload.messages_per_s();
        let reads = workload.reads_per_s;
        let updates = match node.change_ms > 0.0 {
            true => 1e3 / node.change_ms,
            false => 0.0,
        };
        // What is secured are messages and answers alike.
        let of_messages = messages / (messages + reads).max(f64::MIN_POSITIVE);
        let mut parts = Self::default();
        for &(term, us) in spent {
            let ns = us * 1e3;
            let (to, share, per_s) = match term {
                Term::Base | Term::Session | Term::Subscription | Term::Item | Term::Sample => {
                    (&mut parts.background, 1.0, 1.0)
                }
                Term::Update | Term::SpreadUpdate => (&mut parts.update, 1.0, updates),
                Term::Read | Term::ReadValue | Term::Write | Term::WriteValue => {
                    (&mut parts.request, 1.0, reads)
                }
                Term::SignedMessage | Term::EncryptedMessage | Term::SecuredBytes => {
                    if reads > 0.0 {
                        parts.request += ns * (1.0 - of_messages) / reads;
                    }
                    (&mut parts.message, of_messages, messages)
                }
                _ => (&mut parts.message, 1.0, messages),
            };
            if per_s > 0.0 {
                *to += ns * share / per_s;
            }
        }
        parts
    }
}

fn kind(plant: &Plant, node: &Node, model: Option<&Model>, notes: &mut Vec<String>) -> Kind {
    let spent = match model {
        Some(model) => {
            let found = node.predict(model, 0.95);
            for unknown in &found.unknown {
                notes.push(format!("{}: not known: {unknown}", node.name));
            }
            if let Some((factor, term)) = found.extrapolated {
                notes.push(format!(
                    "{}: {factor:.1} times the {}s that were measured",
                    node.name,
                    term.name()
                ));
            }
            found.parts
        }
        None => node.spends(&plant.costs),
    };
    let parts = Parts::of(node, &spent);
    let sessions = node.clients as u32;
    let items = node.workload().items;
    Kind {
        name: node.name.clone(),
        count: node.count,
        cores: node.cores,
        background: parts.background / 1e9,
        link: node
            .link
            .as_ref()
            .and_then(|name| plant.links.iter().position(|it| it.name == *name)),
        sessions,
        updates: (parts.update >= 1.0).then_some(Updates {
            every: ns(node.change_ms),
            cost: parts.update as u64,
        }),
        publishing: Some(publishing(plant, node, parts.message, items)),
        requests: (node.reads_per_s > 0.0).then(|| Requests {
            every: (1e9 * node.clients / node.reads_per_s) as u64,
            poisson: true,
            cost: parts.request as u64,
            up_bytes: 80 + 20 * node.batch as u32,
            down_bytes: 80 + VALUE * node.batch as u32,
            values: node.batch as u32,
        }),
        connect: connect(node, items, notes),
        client: Client {
            timeout: ns(plant.client.timeout_ms),
            // Who is published to rarely hears nothing for longer.
            watchdog: ns(plant.client.watchdog_ms.max(3.0 * longest(node))),
            back_off: BackOff {
                first: ns(plant.client.back_off_first_ms),
                most: ns(plant.client.back_off_most_ms),
                jitter: plant.client.jitter,
            },
        },
    }
}

/// Between two messages, in milliseconds.
fn longest(node: &Node) -> f64 {
    node.publishing_ms.max(node.change_ms).max(node.sampling_ms)
}

fn publishing(plant: &Plant, node: &Node, cost: f64, items: f64) -> Publishing {
    // Points that cannot be shared out evenly: some clients have one more.
    let clients = node.clients as usize;
    let share =
        |n: usize| ((n as f64 * items + 1e-6) as u32).max(n as u32 * u32::from(items < 1.0));
    let values = (0..clients).map(|n| (share(n + 1) - share(n)).max(1));
    let secured = match node.security {
        Security::None => 0,
        _ => SECURED,
    };
    Publishing {
        every: ns(node.publishing_ms),
        sampling: ns(node.sampling_ms),
        change: ns(node.change_ms),
        values: match items.fract() == 0.0 {
            true => vec![items as u32],
            false => values.collect(),
        },
        cost: cost as u64,
        head_bytes: HEAD + secured,
        value_bytes: VALUE,
        ask_bytes: ASK + secured,
        window: plant.client.publish_requests,
        lifetime: ns(plant.client.lifetime_ms),
        phases: match node.phases {
            Phases::Aligned => simulate::Phases::Aligned,
            Phases::Random => simulate::Phases::Random,
            Phases::Staggered => simulate::Phases::Staggered,
        },
    }
}

/// The steps of connecting: TCP, HEL, OPN, CreateSession, ActivateSession, CreateSubscription, CreateMonitoredItems; or,
/// to a session that is there, the first three, ActivateSession and Republish. Bytes are those of open62541 with one
/// endpoint.
fn connect(node: &Node, items: f64, notes: &mut Vec<String>) -> Connect {
    let secured = node.security != Security::None;
    let ms = node.connect_ms.unwrap_or_else(|| {
        let usual = match secured {
            false => CONNECT_MS,
            true => SECURED_CONNECT_MS,
        };
        let ms = usual / node.speed;
        notes.push(format!(
            "{}: connecting is taken to cost {ms:.1} ms of CPU, as open62541's does on a server's core; say connect = \"...\"",
            node.name
        ));
        ms
    });
    let step = |share: f64, up_bytes: u32, down_bytes: u32| ConnectCost {
        cost: ns(ms * share),
        up_bytes,
        down_bytes,
    };
    let items = items.ceil() as u32;
    let (open, create, activate) = match secured {
        false => (step(0.2, 132, 135), step(0.2, 152, 527), step(0.1, 147, 96)),
        true => (
            step(0.6, 1508, 1508),
            step(0.2, 1120, 2912),
            step(0.1, 512, 144),
        ),
    };
    let rest = if secured { 0.04 } else { 0.4 };
    let (tcp, hello) = (step(0.0, 8, 8), step(0.01, 56, 28));
    Connect {
        full: vec![
            tcp,
            hello,
            open,
            create,
            activate,
            step(0.05, 110, 90),
            step(rest, 80 + 70 * items, 60 + 30 * items),
        ],
        resume: vec![tcp, hello, open, activate, step(0.05, 100, 80)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_are_shared_out_unevenly_are_all_there() {
        let text = "name = \"x\"\nfanout = \"share\"\n[costs]\nmessage = \"1ms\"\n[[node]]\nname = \"a\"\n\
                    points = 100\nclients = 7\npublishing = \"100ms\"";
        let plant = Plant::read(text, None).unwrap();
        let made = World::of(&plant, None, 1).unwrap();
        let publishing = made.world.kinds[0].publishing.as_ref().unwrap();
        assert_eq!(publishing.values.len(), 7);
        assert_eq!(publishing.values.iter().sum::<u32>(), 100);
    }

    #[test]
    fn all_that_a_model_says_of_a_second_is_in_the_jobs_of_that_second() {
        let text = "name = \"x\"\nfanout = \"all\"\n[costs]\nbase = \"20ms\"\nmessage = \"200us\"\nvalue = \"5us\"\n\
                    update = \"1us\"\nread = \"50us\"\nsession = \"1ms\"\nsigned-message = \"40us\"\n[[node]]\n\
                    name = \"a\"\npoints = 100\nclients = 5\npublishing = \"100ms\"\nreads = \"30/s\"\n\
                    security = \"Sign\"\nspeed = 0.5";
        let plant = Plant::read(text, None).unwrap();
        let node = &plant.nodes[0];
        let all: f64 = node.spends(&plant.costs).iter().map(|it| it.1).sum();
        let it = World::of(&plant, None, 1).unwrap();
        let kind = &it.world.kinds[0];
        let publishing = kind.publishing.as_ref().unwrap().cost as f64 * 50.0;
        let updates = kind.updates.unwrap().cost as f64 * 10.0;
        let reads = kind.requests.as_ref().unwrap().cost as f64 * 30.0;
        let sum = kind.background * 1e9 + publishing + updates + reads;
        assert!((sum / 1e3 / all - 1.0).abs() < 1e-4, "{sum} {all}");
        // Half as fast, twice the time.
        let base_and_sessions = (20_000.0 + 5.0 * 1_000.0) * 2.0 * 1e3;
        assert!((kind.background * 1e9 - base_and_sessions).abs() < 10.0);
    }
}
