//! No id twice: what is taken, by numbers in stretches and by everything else one by one.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use toml::Spanned;
use wire::types::{Identifier, NodeId};

use super::error::Complaint;
use crate::describe::Group;
use crate::terms::{Id, Ids};

/// The ids that are taken.
#[derive(Debug, Default)]
pub struct Taken {
    /// Stretches of numbers by namespace and first number: the last one, and who has them.
    numbers: BTreeMap<(u16, u32), (u32, String)>,
    others: HashMap<NodeId, String>,
}

impl Taken {
    /// Takes the id of one node.
    pub fn one<T>(
        &mut self,
        namespace: u16,
        at: &Spanned<T>,
        id: &Id,
        who: &str,
    ) -> Result<(), Complaint> {
        let id = id.in_namespace(namespace);
        match id.identifier {
            Identifier::Numeric(number) => self.stretch(namespace, number, number, at.span(), who),
            _ => self.other(id, at.span(), who),
        }
    }

    /// Takes the ids of all variables of a group.
    pub fn group(
        &mut self,
        namespace: u16,
        span: Range<usize>,
        group: &Group,
    ) -> Result<(), Complaint> {
        let who = format!("signals {}", group.name.with(group.number(0)));
        let numbers = (group.count, group.number(0));
        self.many(namespace, span, &group.ids, numbers, &who)
    }

    /// Takes so many ids; `start` is the number of the first node.
    pub fn many(
        &mut self,
        namespace: u16,
        span: Range<usize>,
        ids: &Ids,
        (count, start): (u64, u64),
        who: &str,
    ) -> Result<(), Complaint> {
        if let Ids::Numbers { first, .. } = *ids {
            let last = u32::try_from(u64::from(first) + count - 1).unwrap_or(u32::MAX);
            return self.stretch(namespace, first, last, span, who);
        }
        for k in 0..count {
            let id = ids.id(namespace, k, start.saturating_add(k));
            self.other(id, span.clone(), who)?;
        }
        Ok(())
    }

    fn stretch(
        &mut self,
        namespace: u16,
        first: u32,
        last: u32,
        span: Range<usize>,
        who: &str,
    ) -> Result<(), Complaint> {
        // The one that begins last before the end of this one is the only one that can reach it.
        let before = self.numbers.range(..=(namespace, last)).next_back();
        if let Some(((there, begins), (ends, by))) = before
            && *there == namespace
            && *ends >= first
        {
            let id = first.max(*begins);
            let what =
                format!("ns={namespace};i={id} is there already: {by} has it (want another id)");
            return Err(Complaint { span, what });
        }
        self.numbers
            .insert((namespace, first), (last, who.to_owned()));
        Ok(())
    }

    fn other(&mut self, id: NodeId, span: Range<usize>, who: &str) -> Result<(), Complaint> {
        if let Some(by) = self.others.get(&id) {
            let what = format!("{id} is there already: {by} has it (want another id or name)");
            return Err(Complaint { span, what });
        }
        self.others.insert(id, who.to_owned());
        Ok(())
    }
}
