//! A scene passes: one session, or many.

use std::ops::ControlFlow;

use super::course::SessionCourse;
use super::scene::Scene;
use super::world::World;

impl Scene {
    /// One session on a link that nobody else uses; its number tells its chance apart from that of others.
    pub fn session(&self, number: u32) -> SessionCourse {
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
    ) -> Vec<SessionCourse> {
        let mut world = World::new(self, 0);
        for number in 0..count {
            world.begin(number, u64::from(number) * every);
        }
        world.run(look);
        world.finish()
    }
}
