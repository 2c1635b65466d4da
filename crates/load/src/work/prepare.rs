//! From what a plan says to what a session sends: asked of the server once for all sessions.

use std::sync::Arc;

use plan::{Nodes, Phase, Read, Spread, Work};
use record::notification_ledger::WatchedValue;
use wire::types::{AttributeId, ExtensionObject, NodeId, NumericRange};

use super::find::{LeftOut, Wanted};
use super::operations::Selection;
use super::{
    Asker, Operations, Original, Requests, Service, Terms, WorkError, browse, call, events, find,
    history, read, register, translate, watch, write,
};
use crate::access::{ServerFacts, Session};

/// What is sent to one server.
#[derive(Debug)]
pub struct Prepared {
    work: Work,
    /// What Register reads and what items watch; elsewhere the operations are all there is to know.
    nodes: Vec<NodeId>,
    operations: Arc<Operations>,
    originals: Vec<Original>,
    /// Nodes that wildcards led to and that have not what is asked of them.
    left_out: Vec<LeftOut>,
    /// Of values that are written at random.
    seed: u64,
    /// What HistoryRead is told beside the nodes.
    details: ExtensionObject,
    /// Nodes in a RegisterNodes request.
    registers: usize,
    /// Items or nodes in a request that makes some.
    per_call: usize,
    /// What is subscribed to.
    terms: Option<Arc<Terms>>,
    /// What the same sessions ask meanwhile.
    beside: Vec<Prepared>,
}

/// Nodes in a RegisterNodes request when the server does not say how many it takes.
const REGISTERS: usize = 1000;

/// Items or nodes in a request when neither the plan nor the server says how many.
const PER_CALL: usize = 1000;

impl Prepared {
    /// All that the sessions of a phase do.
    pub fn of_phase(
        phase: &Phase,
        limits: bool,
        about: &ServerFacts,
        session: &mut Session,
    ) -> Result<Self, WorkError> {
        let mut this = Self::new(&phase.work, phase.seed, limits, about, session)?;
        for work in phase.asked_besides() {
            this.beside
                .push(Self::new(&work, phase.seed, limits, about, session)?);
        }
        Ok(this)
    }

    /// Finds the nodes, reads what has to be known of them and encodes what will be asked.
    /// `limits`: whether those that the server declares are kept.
    pub fn new(
        work: &Work,
        seed: u64,
        limits: bool,
        about: &ServerFacts,
        session: &mut Session,
    ) -> Result<Self, WorkError> {
        if limits {
            keep_limits(work, about)?;
        }
        let namespaces = &about.namespaces;
        let mut originals = Vec::new();
        let mut nodes = Vec::new();
        let mut left_out = Vec::new();
        let mut having = |wanted, nodes: &Nodes, session: &mut Session| {
            find::with(wanted, nodes, namespaces, session, &mut left_out)
        };
        let mut details = ExtensionObject::null();
        let mut terms = None;
        let operations = match work {
            Work::Read(read) => {
                let nodes = having(attribute(read), &read.nodes, session)?;
                read::read(&nodes, read)?
            }
            Work::Write(write) => {
                let nodes = having(Wanted::WRITABLE, &write.nodes, session)?;
                let range = write.index_range.clone().unwrap_or(NumericRange::None);
                let (operations, before) =
                    write::write(&nodes, &write.values, seed, &range, session)?;
                originals = before;
                operations
            }
            Work::Browse(browse) => {
                let nodes = find::nodes(&browse.nodes, namespaces, session)?;
                let reference = match &browse.reference {
                    Some(spec) => Some(find::node(spec, namespaces, session)?),
                    None => None,
                };
                browse::browse(&nodes, browse.direction, reference.as_ref())?
            }
            Work::Translate(translate) => {
                let start = find::node(&translate.start, namespaces, session)?;
                translate::translate(&start, &translate.paths)?
            }
            Work::Call(call) => {
                let object = find::node(&call.object, namespaces, session)?;
                let method = find::node(&call.method, namespaces, session)?;
                let arguments = call::arguments(&method, &call.arguments, session)?;
                call::call(&object, &method, arguments)?
            }
            Work::Register(register) => {
                nodes = having(attribute(&register.read), &register.read.nodes, session)?;
                read::read(&nodes, &register.read)?
            }
            Work::History(asked) => {
                details = history::details(asked, session)?;
                history::history(&having(Wanted::HISTORY, &asked.nodes, session)?)?
            }
            Work::Subscribe(subscribe) => {
                let wanted = match subscribe.events {
                    Some(_) => Wanted {
                        attribute: AttributeId::EventNotifier,
                        access: 0,
                    },
                    None => Wanted::VALUE,
                };
                nodes = having(wanted, &subscribe.nodes, session)?;
                let limit = about.limit(ITEMS_PER_CALL).filter(|_| limits);
                let limit = limit.map(|limit| limit as usize);
                let filter = match &subscribe.events {
                    Some(wanted) => Some(events::filter(wanted, namespaces, session)?),
                    None => None,
                };
                let known = match &filter {
                    Some(filter) => {
                        let ids = watch::ids(namespaces, filter.all);
                        vec![WatchedValue::Events(ids); nodes.len()]
                    }
                    None => watch::watches(&nodes, namespaces, session)?,
                };
                let made = Terms::new(&nodes, subscribe, filter, limit)?;
                terms = Some(Arc::new(made.watching(known)));
                Operations::default()
            }
            Work::Items(items) => {
                nodes = having(Wanted::VALUE, &items.nodes, session)?;
                Operations::default()
            }
            Work::Nodes(new) => {
                nodes = vec![find::node(&new.below, namespaces, session)?];
                Operations::default()
            }
            Work::Connect(_) | Work::Sequence(_) => Operations::default(),
            _ => return Err(WorkError::Unknown(work.name())),
        };
        let per_call = made_in(work).and_then(|(_, limit)| about.limit(limit));
        // Part 5, 6.3.11: 0 says that there is no limit.
        let per_call = per_call.filter(|_| limits).unwrap_or_default() as usize;
        let registers = about.limit(Service::Register.limit()).unwrap_or_default();
        Ok(Self {
            work: work.clone(),
            nodes,
            operations: Arc::new(operations),
            originals,
            left_out,
            seed,
            details,
            registers: match registers as usize {
                0 => REGISTERS,
                some => some.min(REGISTERS),
            },
            per_call: match (work.batch() as usize, per_call) {
                (0, 0) => PER_CALL,
                (0, allowed) => allowed.min(PER_CALL),
                (asked, _) => asked,
            },
            terms,
            beside: Vec::new(),
        })
    }

    /// What is watched, or what new nodes are added to.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Items, nodes or references in a request that makes or deletes some.
    pub fn per_call(&self) -> usize {
        self.per_call
    }

    /// What the ledgers of a phase are called: first that of its subscriptions, if it has some, then one for
    /// each of [`askers`](Self::askers).
    pub fn names(phase: &Phase) -> Vec<&'static str> {
        let works = std::iter::once(&phase.work).chain(&phase.beside);
        works.flat_map(Self::names_of).collect()
    }

    fn names_of(work: &Work) -> Vec<&'static str> {
        match work {
            Work::Register(register) if register.compare => vec!["read plain", "read registered"],
            Work::Register(_) => vec!["read registered"],
            work => {
                let steps = work.steps().iter().copied();
                std::iter::once(work.name()).chain(steps).collect()
            }
        }
    }

    /// What session `index` of `sessions` asks.
    pub async fn askers(
        &self,
        session: &mut Session,
        spread: Spread,
        index: u32,
        sessions: u32,
    ) -> Result<Vec<Asker>, WorkError> {
        if self.terms.is_some() || matches!(self.work, Work::Sequence(_)) {
            let mut all = Vec::new();
            for beside in &self.beside {
                // What is asked besides has nothing of the kind itself.
                let askers = Box::pin(beside.askers(session, spread, index, sessions));
                all.extend(askers.await?);
            }
            return Ok(all);
        }
        let part = spread.part(self.operations.len(), index, sessions);
        let selection = Selection::new(part.clone(), self.work.batch());
        let operations = || Arc::clone(&self.operations);
        let header = session.header();
        let asker = match &self.work {
            Work::Read(read) => Asker::read(header, read, operations(), selection)?,
            Work::Write(write) if write.registered => {
                let originals = self.originals.get(part).unwrap_or_default();
                let nodes: Vec<NodeId> = originals.iter().map(|it| it.node.clone()).collect();
                let aliases = register::register(&nodes, self.registers, session).await?;
                let under = write::under(&aliases, originals, &write.values, self.seed)?;
                let all = Selection::new(0..under.len(), self.work.batch());
                Asker::write(header, Arc::new(under), all)?
            }
            Work::Write(_) => Asker::write(header, operations(), selection)?,
            Work::Browse(browse) => {
                let all = Asker::browse(header, browse.max_references, operations(), selection)?;
                match browse.follow {
                    true => all,
                    false => all.without_rest(),
                }
            }
            Work::History(asked) => {
                let details = self.details.clone();
                Asker::history(header, asked, details, operations(), selection)?
            }
            Work::Translate(_) => Asker::translate(header, operations(), selection)?,
            Work::Call(_) => Asker::call(header, operations(), selection)?,
            Work::Register(register) => {
                let nodes = self.nodes.get(part).unwrap_or_default();
                let aliases = register::register(nodes, self.registers, session).await?;
                let registered = Arc::new(read::read(&aliases, &register.read)?);
                let all = Selection::new(0..registered.len(), self.work.batch());
                let registered = Asker::read(header.clone(), &register.read, registered, all)?;
                if !register.compare {
                    return Ok(vec![registered]);
                }
                let plain = Asker::read(header, &register.read, operations(), selection)?;
                return Ok(vec![plain, registered]);
            }
            _ => return Err(WorkError::Unknown(self.work.name())),
        };
        Ok(vec![asker])
    }

    /// What session `index` of `sessions` subscribes to, if that is what it does.
    pub fn requests(
        &self,
        session: &mut Session,
        spread: Spread,
        index: u32,
        sessions: u32,
    ) -> Result<Option<Requests>, WorkError> {
        let Some(terms) = &self.terms else {
            return Ok(None);
        };
        let part = spread.part(terms.nodes(), index, sessions);
        Requests::new(session.header(), Arc::clone(terms), part).map(Some)
    }

    /// Says what is known of the nodes that are subscribed to; one for each.
    #[must_use]
    pub fn watching(mut self, watches: Vec<WatchedValue>) -> Self {
        if let Some(terms) = self.terms.take() {
            // Nobody else has it yet.
            self.terms = Arc::into_inner(terms).map(|terms| Arc::new(terms.watching(watches)));
        }
        self
    }

    /// The node that an item of session `index` of `sessions` watches.
    pub fn watched(
        &self,
        spread: Spread,
        (index, sessions): (u32, u32),
        subscription: u32,
        item: u32,
    ) -> Option<&NodeId> {
        let plan = &self.terms.as_ref()?.plan;
        let part = spread.part(self.nodes.len(), index, sessions);
        let at = plan.node_of(subscription, item as usize, part.len());
        self.nodes.get(part.start + at)
    }

    /// What wildcards led to and was left out, of all that is asked.
    pub fn left_out(&self) -> impl Iterator<Item = &LeftOut> {
        let beside = self.beside.iter().flat_map(|it| &it.left_out);
        self.left_out.iter().chain(beside)
    }

    /// What was in the nodes that were written to.
    pub fn originals(&self) -> &[Original] {
        &self.originals
    }

    /// Puts it back, and tells how many nodes took it.
    pub fn restore(&self, session: &mut Session) -> Result<usize, WorkError> {
        write::restore(&self.originals, session)
    }
}

/// What the nodes of a Read have to have.
fn attribute(read: &Read) -> Wanted {
    match read.attribute.0 {
        AttributeId::Value => Wanted::VALUE,
        attribute => Wanted {
            attribute,
            access: 0,
        },
    }
}

/// The server's limit on items in a request, as it stands under OperationLimits.
const ITEMS_PER_CALL: &str = "MaxMonitoredItemsPerCall";

/// The service that makes something, and the server's limit on how much of it at once, as it stands under
/// OperationLimits.
fn made_in(work: &Work) -> Option<(&'static str, &'static str)> {
    match work {
        Work::Subscribe(_) | Work::Items(_) => Some(("CreateMonitoredItems", ITEMS_PER_CALL)),
        Work::Nodes(_) => Some(("AddNodes", "MaxNodesPerNodeManagement")),
        _ => None,
    }
}

/// The server's limits are respected, or it is said which is not.
fn keep_limits(work: &Work, about: &ServerFacts) -> Result<(), WorkError> {
    let (service, limit) = made_in(work).unwrap_or_else(|| {
        let service = match work {
            Work::Write(_) => Service::Write,
            Work::Browse(_) => Service::Browse,
            Work::Translate(_) => Service::Translate,
            Work::Call(_) => Service::Call,
            Work::History(_) => Service::History,
            _ => Service::Read,
        };
        (service.name(), service.limit())
    });
    // Part 5, 6.3.11: 0 says that there is no limit.
    let allowed = about.limit(limit).unwrap_or_default() as u32;
    let batch = work.batch();
    match allowed != 0 && batch > allowed {
        true => Err(WorkError::Limit {
            service,
            limit,
            allowed,
            batch,
        }),
        false => Ok(()),
    }
}
