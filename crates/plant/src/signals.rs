//! The signals of a server, for who publishes them: what a subscription to the same nodes would sample.

use std::sync::Arc;

use plan::DatagramFate;
use wire::template::walk::BuiltInType;

use crate::fault::Class;
use crate::server_nodes::publish_subscribe::DataSetField;
use crate::shared::Shared;
use crate::space::NodeIndex;

/// The faults of a server that are about the datagrams by which its signals are published.
pub struct DatagramFaults(Arc<Shared>);

impl std::fmt::Debug for DatagramFaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DatagramFaults").finish_non_exhaustive()
    }
}

impl DatagramFaults {
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    /// Whether there are any now.
    pub fn are_wanted(&self) -> bool {
        self.0.faults.want(Class::Datagram)
    }

    /// What is to become of the next datagram.
    pub fn next(&self) -> DatagramFate {
        self.0.faults.datagram(self.0.clock.now().mono)
    }
}

/// All variables that change by themselves and are a Boolean or a number, in the order of the address space.
pub struct Signals {
    shared: Arc<Shared>,
    all: Vec<(NodeIndex, BuiltInType)>,
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Signals").field(&self.all.len()).finish()
    }
}

impl Signals {
    /// The first so many, or all.
    pub(crate) fn of(shared: &Arc<Shared>, most: Option<usize>) -> Self {
        let space = &shared.space;
        let now = shared.clock.now();
        let scalar = |at: NodeIndex| {
            space.rhythm(at)?;
            let source = &space.lasting(at)?.variable()?.source;
            let (kind, ..) = source.bits(now, space.anchor())?;
            Some((at, kind))
        };
        let all = space.places().filter_map(scalar);
        Self {
            shared: Arc::clone(shared),
            all: all.take(most.unwrap_or(usize::MAX)).collect(),
        }
    }

    /// Their types.
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = BuiltInType> + '_ {
        self.all.iter().map(|(_, kind)| *kind)
    }

    /// Their names: those that clients browse.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        let name = |(at, _): &(NodeIndex, BuiltInType)| {
            let node = self.shared.space.lasting(*at);
            node.map_or_else(String::new, |it| it.browse_name().name.to_string())
        };
        self.all.iter().map(name)
    }

    /// What they are as the fields of a DataSet.
    pub(crate) fn fields(&self) -> Vec<DataSetField> {
        let field = |(at, kind): &(NodeIndex, BuiltInType)| {
            let node = self.shared.space.lasting(*at)?;
            Some(DataSetField {
                name: node.browse_name().name.to_string(),
                kind: *kind as u8,
                node: node.id.clone(),
            })
        };
        self.all.iter().filter_map(field).collect()
    }

    /// The values of one moment: which signal, and its little-endian bytes, the rest zero.
    pub fn read(&self, mut visit: impl FnMut(usize, u64)) {
        let space = &self.shared.space;
        let (now, anchor) = (self.shared.clock.now(), space.anchor());
        for (n, (at, _)) in self.all.iter().enumerate() {
            let variable = space.lasting(*at).and_then(|node| node.variable());
            if let Some((_, bits, _)) = variable.and_then(|it| it.source.bits(now, anchor)) {
                visit(n, bits);
            }
        }
    }
}
