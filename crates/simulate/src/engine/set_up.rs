//! How it begins: everybody is connected, and each publishing interval has its phase.

use link::LinkDirection;
use plan::Random;
use plan::unit::duration::nanos;

use super::{Carrier, Engine, NO_LINK, Node};
use crate::event::What;
use crate::outcome::{Busy, LinkUse};
use crate::queue::Queue;
use crate::recorders::{self, Recorders};
use crate::session::{Session, SmallQueue};
use crate::world::{Kind, Phases, World, WorldError};

impl<'a> Engine<'a> {
    /// A world at its beginning.
    pub fn new(world: &'a World) -> Result<Self, WorldError> {
        world.check()?;
        let (recorders, whose) = Recorders::new(world);
        let look_every = recorders::look_every(world.length);
        let mut engine = Self {
            queue: Queue::new(world.events_per_s()),
            now: 0,
            nodes: Vec::with_capacity(world.nodes() as usize),
            cores: Vec::new(),
            sessions: Vec::with_capacity(world.sessions() as usize),
            links: Vec::new(),
            first_carrier: vec![0],
            first_node: vec![0],
            recorders,
            whose,
            random: Random::stream(world.seed, &[0]),
            look_every,
            looked_at: 0,
            busy: vec![Busy::default(); world.kinds.len()],
            uses: vec![LinkUse::default(); world.links.len()],
            marks: Vec::new(),
            events: 0,
            world,
        };
        engine.put_links();
        engine.put_nodes();
        for (n, it) in world.happenings.iter().enumerate() {
            engine.plan_at(it.at, What::Happens, 0, n);
        }
        engine.plan(look_every.min(world.length), What::Look, 0, 0);
        Ok(engine)
    }

    fn put_links(&mut self) {
        for (n, it) in self.world.links.iter().enumerate() {
            let copies = self.world.copies(n);
            self.uses[n].copies = copies;
            for _ in 0..copies {
                let which = self.links.len() as u64 * 2;
                let passage =
                    |direction, way| LinkDirection::new(direction, self.world.seed, which + way);
                self.links.push(Carrier {
                    ways: [passage(it.spec.up, 0), passage(it.spec.down, 1)],
                    rates: [it.spec.up.rate, it.spec.down.rate].map(|it| it.map(|it| it.get())),
                    cut: 0,
                    bytes: [0; 2],
                    seen: [0; 2],
                    round_trip: nanos(it.spec.up.delay) + nanos(it.spec.down.delay),
                    lost: 0,
                });
            }
            self.first_carrier.push(self.links.len());
        }
    }

    fn put_nodes(&mut self) {
        // How many servers stand behind each link already.
        let mut behind = vec![0_usize; self.world.links.len()];
        for (k, kind) in self.world.kinds.iter().enumerate() {
            for number in 0..kind.count {
                let link = kind.link.map_or(NO_LINK, |link| {
                    let each = self.world.links[link]
                        .each
                        .map_or(usize::MAX, |it| it.max(1) as usize);
                    let carrier = self.first_carrier[link] + behind[link] / each;
                    behind[link] += 1;
                    carrier as u32
                });
                self.put_node(k, kind, number, link);
            }
            self.first_node.push(self.nodes.len());
        }
    }

    fn put_node(&mut self, k: usize, kind: &Kind, number: u32, link: u32) {
        let node = self.nodes.len();
        let mut random = Random::stream(self.world.seed, &[1, k as u64, u64::from(number)]);
        let every = kind.updates.map(|it| it.every);
        let every = every.or(kind.publishing.as_ref().map(|it| it.change));
        let update_phase = random.next_u64() % every.unwrap_or(1).max(1);
        self.nodes.push(Node {
            kind: k as u32,
            link,
            first_core: self.cores.len() as u32,
            first_session: self.sessions.len() as u32,
            epoch: 0,
            stopped: 0,
            update_phase,
            cpu: 0,
            cpu_seen: 0,
        });
        self.cores.resize(self.cores.len() + kind.cores as usize, 0);
        if kind.updates.is_some() {
            self.plan_at(update_phase, What::Update, 0, node);
        }
        for client in 0..kind.sessions {
            self.put_session(k, kind, node, number, client, &mut random);
        }
    }

    fn put_session(
        &mut self,
        k: usize,
        kind: &Kind,
        node: usize,
        number: u32,
        client: u32,
        random: &mut Random,
    ) {
        let index = self.sessions.len();
        let recorder = self.whose[k].recorder(number as usize, client as usize);
        let mut session = Session {
            node: node as u32,
            kind: k as u32,
            number: client,
            recorder: recorder as u32,
            is_alive: true,
            ..Session::default()
        };
        self.recorders.all[recorder].sessions += 1;
        if let Some(it) = &kind.publishing {
            let part = match it.phases {
                Phases::Aligned => 0,
                Phases::Random => random.next_u64() % it.every,
                Phases::Staggered => {
                    let all = u128::from(kind.sessions.max(1));
                    (u128::from(it.every) * u128::from(client) / all) as u64
                }
            };
            // The first interval is over within one: values have changed before.
            let first = part;
            session.last_due = first;
            session.told = 0;
            let mut tokens = SmallQueue::default();
            (0..it.window).for_each(|_| tokens.push(0));
            session.tokens = tokens;
            self.recorders.all[recorder].items += u64::from(values(it.values.as_slice(), client));
            self.plan_at(first, What::Publish, session.life, index);
        }
        if let Some(it) = &kind.requests {
            let first = match it.poisson {
                true => (random.exponential() * it.every as f64) as u64,
                false => random.next_u64() % it.every.max(1),
            };
            self.plan_at(first, What::Request, 0, index);
        }
        self.sessions.push(session);
    }
}

/// Values in a message of a client.
#[inline]
pub(super) fn values(all: &[u32], client: u32) -> u32 {
    match all {
        [one] => *one,
        [] => 0,
        some => some[client as usize % some.len()],
    }
}
