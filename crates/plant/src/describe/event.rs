//! Sources of events as a plant file says them, and their nodes.

use wire::types::{NodeId, ObjectId, ObjectTypeId, ReferenceTypeId};

use super::build::Site;
use crate::space::event::condition::Condition;
use crate::space::event::{Beat, EventKind, Group, Source, nodes};
use crate::space::{Body, below};
use crate::terms::{Ids, Template};

/// Sources that are alike.
#[derive(Debug, Clone)]
pub struct EventSources {
    /// The path of their area; empty for the Objects folder, where nobody can listen.
    pub folder: String,
    /// How many there are.
    pub count: u64,
    /// The number of the first, for names.
    pub first: u64,
    /// Their ids.
    pub ids: Ids,
    /// Their names.
    pub name: Template,
    /// The type of the events.
    pub kind: EventKind,
    /// When events of all of them together are due.
    pub beat: Beat,
    /// The lowest severity and the highest.
    pub severity: (u16, u16),
    /// What they say.
    pub message: Option<Template>,
    /// HighHigh, High, Low, LowLow.
    pub limits: [Option<f64>; 4],
}

impl Site<'_> {
    /// Puts sources up: objects below areas, which tell of their events as the Server does.
    pub(super) fn events(&mut self, of: &EventSources) {
        let areas = self.areas(&of.folder);
        let parent = self.folder(&of.folder);
        let notifier: NodeId = match areas.last() {
            Some(area) => area.clone(),
            None => ObjectId::Server.into(),
        };
        let group = self.builder.events.groups();
        let number = self.builder.events.next_source();
        let mut sources = Vec::new();
        for k in 0..of.count {
            let n = of.first.saturating_add(k);
            let id = of.ids.id(self.namespace, k, n);
            let name = of.name.with(n);
            let own = ObjectTypeId::BaseObjectType;
            self.builder.object(&parent, id.clone(), &name, own);
            nodes::listen(self.builder, &id);
            // Part 3, 7.17: from one who tells of events to another.
            let kind = ReferenceTypeId::HasNotifier;
            self.builder.link(&notifier, kind, &id);
            let condition = of.kind.is_condition().then(|| {
                let alarm = below(&id, "Alarm");
                let at = (group, k as usize);
                let name = format!("{name} alarm");
                nodes::condition(self.builder, of.kind, &id, &alarm, &name, at);
                Condition::new(alarm)
            });
            sources.push(Source {
                number: number.saturating_add(u32::try_from(k).unwrap_or(u32::MAX)),
                id,
                name,
                condition,
            });
        }
        self.builder.events.add(Group {
            kind: of.kind,
            beat: of.beat,
            severity: of.severity,
            message: of.message.clone(),
            limits: of.limits,
            areas,
            sources,
        });
    }

    /// The folders of a path, from the top: each tells of the events below it.
    fn areas(&mut self, path: &str) -> Vec<NodeId> {
        let mut areas: Vec<NodeId> = Vec::new();
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]).filter(|end| *end > 0) {
            let id = self.folder(path.get(..end).unwrap_or_default());
            let above = match areas.last() {
                Some(above) => above.clone(),
                None => ObjectId::Server.into(),
            };
            if let Some(node) = self.builder.node_mut(&id)
                && let Body::Object { event_notifier } = &mut node.body
                && *event_notifier & nodes::SUBSCRIBE == 0
            {
                *event_notifier |= nodes::SUBSCRIBE;
                let kind = ReferenceTypeId::HasNotifier;
                self.builder.link(&above, kind, &id);
            }
            areas.push(id);
        }
        areas
    }
}
