//! What a server has: its objects and variables, as somebody finds them who knows nothing of it, and how values move.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use wire::types::{
    AttributeId, BrowseDirection, DataValue, EUInformation, NodeClass, NodeId, ObjectId, Range,
    ReferenceDescription, ReferenceTypeId, Variant,
};

use crate::access::Session;
use crate::work::WorkError;
use crate::work::find::{AT_A_TIME, attributes, references};

/// An object, or a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Its id.
    pub node: NodeId,
    /// The names of what it is in, from Objects on, and its own.
    pub path: Vec<String>,
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its id.
    pub node: NodeId,
    /// The names of what it is in, from Objects on.
    pub path: Vec<String>,
    /// Its own.
    pub name: String,
    /// What it had at first, if it could be read.
    pub value: Option<Variant>,
    /// AccessLevel (Part 3, 8.57).
    pub access: u8,
    /// What it is for.
    pub description: Option<String>,
    /// EURange: low and high.
    pub range: Option<[f64; 2]>,
    /// EngineeringUnits.
    pub unit: Option<String>,
    /// How it moved while it was looked at.
    pub moves: Moves,
}

/// How a value moved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moves {
    /// From one look to the next.
    pub changes: u64,
    /// The smallest and the largest, of a number.
    pub bounds: Option<[f64; 2]>,
    /// It was never smaller than before.
    pub rises: bool,
    /// The largest step.
    pub step: f64,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Survey {
    /// Those above variables, and those without any.
    pub objects: Vec<Object>,
    /// All that have a value.
    pub variables: Vec<Variable>,
    /// Methods, of which no more is known.
    pub methods: u64,
    /// Properties other than ranges and units, and what is below variables.
    pub properties: u64,
    /// Nodes that may not be browsed.
    pub hidden: u64,
    /// There were more nodes than wanted.
    pub is_cut: bool,
    /// How often values were looked at.
    pub looks: u64,
    /// How long.
    pub watched: Duration,
}

/// Not more often: a server has others to serve.
const LOOK: Duration = Duration::from_millis(50);

/// Looks for all that is below Objects but the Server object, at most so many nodes, and at the values for so long.
/// `found` is told how many nodes there are, now and then; once it says no the rest is left out.
///
/// # Errors
/// The server does not answer.
pub fn survey(
    session: &mut Session,
    most: usize,
    watch: Duration,
    mut found: impl FnMut(usize) -> bool,
) -> Result<Survey, WorkError> {
    let mut survey = Survey::default();
    let start = NodeId::from(ObjectId::ObjectsFolder);
    let mut seen = HashSet::from([start.clone(), NodeId::from(ObjectId::Server)]);
    let mut next = VecDeque::from([(start, Vec::<String>::new())]);
    while let Some((node, path)) = next.pop_front() {
        if !found(seen.len()) {
            survey.is_cut = true;
            break;
        }
        for child in children(&node, session, &mut survey)? {
            let id = child.node_id.node_id;
            if !seen.insert(id.clone()) {
                continue;
            }
            if seen.len() > most {
                survey.is_cut = true;
                next.clear();
                break;
            }
            let name = child.browse_name.name.as_ref().to_owned();
            match child.node_class {
                NodeClass::Object => {
                    let path = [path.as_slice(), &[name]].concat();
                    let node = id.clone();
                    survey.objects.push(Object {
                        node,
                        path: path.clone(),
                    });
                    next.push_back((id, path));
                }
                NodeClass::Variable if child.reference_type_id == ReferenceTypeId::HasProperty => {
                    survey.properties += 1;
                }
                NodeClass::Variable => survey.variables.push(Variable {
                    node: id,
                    path: path.clone(),
                    name,
                    value: None,
                    access: 0,
                    description: None,
                    range: None,
                    unit: None,
                    moves: Moves::default(),
                }),
                NodeClass::Method => survey.methods += 1,
                _ => {}
            }
        }
    }
    let mut all = std::mem::take(&mut survey.variables);
    for some in all.chunks_mut(AT_A_TIME) {
        describe(some, session)?;
        if !found(seen.len()) {
            survey.is_cut = true;
            break;
        }
    }
    for variable in all.iter_mut().filter(|it| is_number(it.value.as_ref())) {
        if !found(seen.len()) {
            survey.is_cut = true;
            break;
        }
        properties(variable, session, &mut survey)?;
    }
    look_on(&mut all, session, watch, &mut survey)?;
    survey.variables = all;
    Ok(survey)
}

/// What is right below a node; nothing if that may not be browsed.
fn children(
    node: &NodeId,
    session: &mut Session,
    survey: &mut Survey,
) -> Result<Vec<ReferenceDescription>, WorkError> {
    let by = ReferenceTypeId::HierarchicalReferences;
    match references(node, BrowseDirection::Forward, by, usize::MAX, session) {
        Err(WorkError::Node { .. }) => {
            survey.hidden += 1;
            Ok(Vec::new())
        }
        found => found,
    }
}

fn good(value: DataValue) -> Option<Variant> {
    let is_bad = value.status.is_some_and(|it| it.is_bad());
    value.value.filter(|_| !is_bad)
}

/// Reads what a few variables say of themselves.
fn describe(some: &mut [Variable], session: &mut Session) -> Result<(), WorkError> {
    let nodes: Vec<NodeId> = some.iter().map(|it| it.node.clone()).collect();
    let mut read = |attribute| {
        let all = attributes(&nodes, attribute, session)?;
        Ok::<_, WorkError>(all.into_iter().map(good))
    };
    let values = read(AttributeId::Value)?;
    let access = read(AttributeId::AccessLevel)?;
    let descriptions = read(AttributeId::Description)?;
    for (((it, value), access), description) in
        some.iter_mut().zip(values).zip(access).zip(descriptions)
    {
        it.value = value;
        it.access = match access {
            Some(Variant::Byte(access)) => access,
            _ => 1,
        };
        it.description = match description {
            Some(Variant::LocalizedText(text)) => Some(text.text.as_ref().to_owned()),
            _ => None,
        };
        it.description = it.description.take().filter(|it| !it.is_empty());
    }
    Ok(())
}

/// Range and unit of a number, if it has them.
fn properties(
    variable: &mut Variable,
    session: &mut Session,
    survey: &mut Survey,
) -> Result<(), WorkError> {
    let mut wanted: [Option<NodeId>; 2] = [None, None];
    for child in children(&variable.node, session, survey)? {
        let is_own = child.browse_name.namespace_index == 0;
        match child.browse_name.name.as_ref() {
            "EURange" if is_own => wanted[0] = Some(child.node_id.node_id),
            "EngineeringUnits" if is_own => wanted[1] = Some(child.node_id.node_id),
            _ => survey.properties += 1,
        }
    }
    let [range, unit] = wanted;
    let mut body = |node: Option<NodeId>| {
        let Some(node) = node else { return Ok(None) };
        let read = attributes(&[node], AttributeId::Value, session)?;
        Ok::<_, WorkError>(match read.into_iter().next().and_then(good) {
            Some(Variant::ExtensionObject(it)) => Some(it),
            _ => None,
        })
    };
    let range = body(range)?.and_then(|it| it.inner_as::<Range>().map(|it| [it.low, it.high]));
    variable.range = range.filter(|[low, high]| low < high);
    let unit = body(unit)?;
    let unit = unit.and_then(|it| Some(it.inner_as::<EUInformation>()?.display_name.clone()));
    variable.unit = unit
        .map(|it| it.text.as_ref().to_owned())
        .filter(|it| !it.is_empty());
    Ok(())
}

/// Reads all values again and again.
fn look_on(
    all: &mut [Variable],
    session: &mut Session,
    watch: Duration,
    survey: &mut Survey,
) -> Result<(), WorkError> {
    let start = Instant::now();
    let mut last: Vec<Option<Variant>> = all.iter().map(|it| it.value.clone()).collect();
    for (it, value) in all.iter_mut().zip(&last) {
        let at = value.as_ref().and_then(number);
        it.moves.bounds = at.map(|at| [at, at]);
        it.moves.rises = true;
    }
    while start.elapsed() < watch && !all.is_empty() {
        let begun = Instant::now();
        for (some, last) in all.chunks_mut(AT_A_TIME).zip(last.chunks_mut(AT_A_TIME)) {
            let nodes: Vec<NodeId> = some.iter().map(|it| it.node.clone()).collect();
            let values = attributes(&nodes, AttributeId::Value, session)?;
            for ((it, last), now) in some.iter_mut().zip(last).zip(values) {
                let now = good(now);
                if now.is_some() && now != *last {
                    it.moves.note(last.as_ref(), now.as_ref());
                    *last = now;
                }
            }
        }
        survey.looks += 1;
        std::thread::sleep(LOOK.saturating_sub(begun.elapsed()));
    }
    survey.watched = start.elapsed();
    Ok(())
}

impl Moves {
    fn note(&mut self, last: Option<&Variant>, now: Option<&Variant>) {
        self.changes += 1;
        let (last, now) = (last.and_then(number), now.and_then(number));
        if let (Some(last), Some(now)) = (last, now) {
            self.rises &= now >= last;
            self.step = self.step.max((now - last).abs());
        }
        if let Some(now) = now {
            let [low, high] = self.bounds.unwrap_or([now, now]);
            self.bounds = Some([low.min(now), high.max(now)]);
        }
    }
}

fn is_number(value: Option<&Variant>) -> bool {
    value.and_then(number).is_some()
}

/// A number as it is, if it is one and finite.
pub fn number(value: &Variant) -> Option<f64> {
    let number = match value {
        Variant::SByte(it) => f64::from(*it),
        Variant::Byte(it) => f64::from(*it),
        Variant::Int16(it) => f64::from(*it),
        Variant::UInt16(it) => f64::from(*it),
        Variant::Int32(it) => f64::from(*it),
        Variant::UInt32(it) => f64::from(*it),
        Variant::Int64(it) => *it as f64,
        Variant::UInt64(it) => *it as f64,
        Variant::Float(it) => f64::from(*it),
        Variant::Double(it) => *it,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
