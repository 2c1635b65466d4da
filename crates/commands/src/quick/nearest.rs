//! Which node was meant, when the one that was typed is not there.

use std::sync::Arc;
use std::time::Duration;

use load::access::{Access, ServerFacts};
use load::engine::{Control, Target};
use load::survey::survey;
use load::transport::Steps;
use load::work::resolve;
use plan::{Nodes, Phase, scenario};
use record::Run;
use wire::types::{Identifier, NodeId};

/// At most so many nodes are looked through.
const MOST: usize = 5_000;

/// What a server says of a node that it has not.
const UNKNOWN: &str = "BadNodeIdUnknown";

/// What to say of a run in which all failed because what it asked for is not there.
pub fn note(run: &Run, phase: &Phase, looked: &[Arc<Target>], control: &Control) -> Option<String> {
    let mut all = run
        .phases
        .iter()
        .flat_map(|it| &it.total.statuses)
        .peekable();
    all.peek()?;
    if all.any(|it| it.name != UNKNOWN) {
        return None;
    }
    let (wanted, near) = look(&looked.first()?.access, phase.work.nodes()?, control)?;
    Some(format!(
        "there is no {wanted}; the nearest that the server has is {near}"
    ))
}

/// The first of these nodes, and the one that is nearest to it of those below Objects. None where none is near, or the
/// server does not tell.
fn look(access: &Access, nodes: &Nodes, control: &Control) -> Option<(NodeId, NodeId)> {
    // Whoever ended it waits for the result only.
    let goes_on = || !control.is_stopped();
    if !goes_on() {
        return None;
    }
    let opening = access.discover().ok()?;
    let mut session = access.open(&opening, &mut Steps::new()).ok()?;
    let found = ServerFacts::ask(&mut session).ok().and_then(|about| {
        let wanted = resolve(nodes, &about.namespaces, &mut session).ok()?;
        let wanted = wanted.into_iter().next()?;
        let there = survey(&mut session, MOST, Duration::ZERO, |_| goes_on()).ok()?;
        let objects = there.objects.into_iter().map(|it| it.node);
        let all: Vec<NodeId> = objects
            .chain(there.variables.into_iter().map(|it| it.node))
            .collect();
        let near = nearest(&wanted, &all)?.clone();
        Some((wanted, near))
    });
    session.leave();
    found
}

/// The nearest by its name; among equals one of the same namespace.
fn nearest<'a>(wanted: &NodeId, there: &'a [NodeId]) -> Option<&'a NodeId> {
    // As it is shown, without its namespace.
    let name = |it: &NodeId| {
        let shown = it.to_string();
        match shown.strip_prefix("ns=").and_then(|it| it.split_once(';')) {
            Some((_, name)) => name.to_owned(),
            None => shown,
        }
    };
    // The same name in another namespace is what most often was meant.
    let same = there.iter().find(|it| it.identifier == wanted.identifier);
    same.or_else(|| next_to(wanted, there)).or_else(|| {
        let (near, far): (Vec<&NodeId>, Vec<&NodeId>) = there
            .iter()
            .partition(|it| it.namespace == wanted.namespace);
        [near, far].into_iter().find_map(|all| {
            let names: Vec<String> = all.iter().map(|it| name(it)).collect();
            let found = scenario::nearest(&name(wanted), names.iter().map(String::as_str))?;
            let at = names.iter().position(|it| it == found)?;
            all.get(at).copied()
        })
    })
}

/// Of numbers the next one, if it is no further than somebody miscounts.
fn next_to<'a>(wanted: &NodeId, there: &'a [NodeId]) -> Option<&'a NodeId> {
    let Identifier::Numeric(wanted_id) = wanted.identifier else {
        return None;
    };
    let far = |it: &NodeId| match it.identifier {
        Identifier::Numeric(id) if it.namespace == wanted.namespace => Some(id.abs_diff(wanted_id)),
        _ => None,
    };
    let all = there.iter().filter_map(|it| Some((far(it)?, it)));
    let (_, next) = all
        .filter(|(far, _)| *far <= MISCOUNTED)
        .min_by_key(|(far, _)| *far)?;
    Some(next)
}

/// Between a number and one that was meant.
const MISCOUNTED: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_elsewhere_is_nearer_than_another_one_and_numbers_are_near_to_numbers() {
        let there = [
            NodeId::new(2, "Line1.Speed"),
            NodeId::new(2, "Line1.Temperature"),
            NodeId::new(3, "Line1.Sped"),
            NodeId::new(2, 1000u32),
            NodeId::new(2, 1999u32),
        ];
        let near = |wanted: NodeId| nearest(&wanted, &there).map(ToString::to_string);
        assert_eq!(
            near(NodeId::new(2, "Line1.Sped")).as_deref(),
            Some("ns=3;s=Line1.Sped")
        );
        assert_eq!(
            near(NodeId::new(2, "Line1.Spee")).as_deref(),
            Some("ns=2;s=Line1.Speed")
        );
        assert_eq!(
            near(NodeId::new(9, 1000u32)).as_deref(),
            Some("ns=2;i=1000")
        );
        assert_eq!(near(NodeId::new(2, 999u32)).as_deref(), Some("ns=2;i=1000"));
        assert_eq!(
            near(NodeId::new(2, 10_000u32)).as_deref(),
            Some("ns=2;i=1000")
        );
        assert_eq!(near(NodeId::new(2, "Pressure")), None);
    }
}
