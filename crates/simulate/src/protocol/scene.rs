//! Who talks over what, and at which cost.

use std::ops::ControlFlow;
use std::sync::Arc;

use link::Spec;

use super::costs::Costs;
use super::course::Course;
use super::parties::{Client, Server};
use super::world::World;

/// Bytes around each message, of a transport that is not UA TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Around each message.
    pub message: usize,
    /// Around one that opens a channel, instead.
    pub opening: usize,
}

/// A client, a server, a link between them, and what steps cost.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The link.
    pub link: Spec,
    /// Where chance comes from.
    pub seed: u64,
    /// What clients want.
    pub client: Arc<Client>,
    /// What the server offers.
    pub server: Arc<Server>,
    /// What steps cost a client.
    pub client_costs: Costs,
    /// What they cost the server.
    pub server_costs: Costs,
    /// What is around messages.
    pub envelope: Envelope,
}

impl Scene {
    /// One session on a link that nobody else uses; its number tells its chance apart from that of others.
    pub fn session(&self, number: u32) -> Course {
        let mut world = World::new(self, u64::from(number));
        world.begin(number, 0);
        world.run(|_| ControlFlow::Continue(()));
        let carried = world.carried();
        let events = world.events();
        let mut course = world.finish().pop().unwrap_or_default();
        (course.on_line, course.events) = (Some(carried), events);
        course
    }

    /// So many sessions on one link, the first at once and the others each so many nanoseconds later. `look` is shown the time
    /// now and then, and may end it: sessions that are not over then have failed.
    pub fn together(
        &self,
        count: u32,
        every: u64,
        look: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Vec<Course> {
        let mut world = World::new(self, 0);
        for number in 0..count {
            world.begin(number, u64::from(number) * every);
        }
        world.run(look);
        world.finish()
    }
}
