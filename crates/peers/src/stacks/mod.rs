//! The stacks: one file each, one line each in `ALL`.

use crate::stack::Stack;

mod async_opcua;
mod asyncua;
mod bulk_load;
mod common;
mod gopcua;
mod milo;
mod milo06;
mod milo1;
mod nats_server;
mod node_opcua;
mod open62541;
mod open62541_load;
mod open62541_pubsub_load;
mod pyopcua;

/// Every stack that can be installed.
pub(crate) const ALL: &[&Stack] = &[
    &open62541::STACK,
    &async_opcua::STACK,
    &asyncua::STACK,
    &pyopcua::STACK,
    &node_opcua::STACK,
    &gopcua::STACK,
    &milo1::STACK,
    &milo06::STACK,
];

/// Clients that are a load, for benches.
pub(crate) const LOADERS: &[&Stack] = &[&open62541_load::STACK, &bulk_load::STACK];

/// Brokers between controllers and agents of a fleet: no stacks, but installed as they are.
pub(crate) const BROKERS: &[&Stack] = &[&nats_server::STACK];

/// Publishers and a subscriber that are a load, for benches.
pub(crate) const PUBSUB_LOAD: &Stack = &open62541_pubsub_load::STACK;

impl Stack {
    /// All stacks, in the order in which they are listed.
    pub fn all() -> &'static [&'static Stack] {
        ALL
    }

    /// The broker with this name, which is no stack of OPC UA.
    pub fn broker(name: &str) -> Option<&'static Stack> {
        BROKERS.iter().copied().find(|it| it.name == name)
    }

    /// The program of a broker.
    pub fn program(&self) -> std::path::PathBuf {
        self.server
            .first()
            .map_or_else(|| self.dir(), |it| self.expand(it).into())
    }

    /// The stack with this name.
    pub fn named(name: &str) -> Option<&'static Stack> {
        Self::all().iter().copied().find(|s| s.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stack_has_a_name_of_its_own_and_all_that_it_needs() {
        let mut names: Vec<_> = Stack::all().iter().map(|stack| stack.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Stack::all().len());
        for stack in Stack::all() {
            assert!(
                !stack.sources.is_empty() && !stack.steps.is_empty(),
                "{}",
                stack.name
            );
            assert!(
                stack.offers.policies.contains(&crate::Policy::None),
                "{}",
                stack.name
            );
            let steps = stack.steps.iter().flat_map(|step| step.command);
            for word in steps.chain(stack.server).chain(stack.client) {
                let expanded = stack.expand(word);
                assert!(!expanded.contains(['{', '}']), "{}: {expanded}", stack.name);
            }
        }
    }

    #[test]
    fn another_source_is_another_fingerprint() {
        let prints: Vec<_> = Stack::all()
            .iter()
            .map(|stack| stack.fingerprint())
            .collect();
        let mut distinct = prints.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), prints.len());
        assert_eq!(prints[0], Stack::all()[0].fingerprint());
    }
}
