//! Event filters (Part 4, 7.22.3): which fields somebody wants of which events.

use wire::types::{
    ContentFilterElement, ContentFilterElementResult, ContentFilterResult, ElementOperand,
    EventFilter as RequestedFilter, EventFilterResult, ExtensionObject, FilterOperator,
    LiteralOperand, NodeId, NumericRange, ObjectTypeId, SimpleAttributeOperand, StatusCode,
    Variant,
};

use super::field::Row;
use super::operator::{self, Truth};
use super::{Event, Field};
use crate::space::attribute::id;
use crate::space::{Body, NodeIndex, Space, encode};

/// Elements of a where clause at most.
const MOST: usize = 256;
/// Select clauses at most.
const MOST_FIELDS: usize = 1024;

/// A filter that was looked through.
#[derive(Debug)]
pub struct EventFilter {
    select: Vec<Option<Clause>>,
    elements: Vec<Element>,
}

/// A field as it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    of: ObjectTypeId,
    field: Field,
    range: Option<NumericRange>,
}

#[derive(Debug)]
struct Element {
    operator: FilterOperator,
    operands: Vec<Operand>,
}

#[derive(Debug)]
enum Operand {
    /// What another element comes to; always a later one.
    Element(usize),
    Literal(Variant),
    Field(Clause),
    /// Types, for OfType, and the type that an event must have.
    Type(ObjectTypeId),
}

/// What the client is told of its filter.
#[derive(Debug)]
pub enum Judged {
    /// All of it is good.
    Good(EventFilter),
    /// Some fields will be null.
    Partly(EventFilter, EventFilterResult),
    /// It cannot be used.
    Bad(EventFilterResult),
}

impl EventFilter {
    /// Looks through what a client asks for.
    pub fn judge(asked: &RequestedFilter, space: &Space) -> Result<Judged, StatusCode> {
        let clauses = asked.select_clauses.as_deref().unwrap_or_default();
        let elements = asked.where_clause.elements.as_deref().unwrap_or_default();
        // Part 4, 7.22.3: without fields there is nothing to tell.
        if clauses.is_empty() || clauses.len() > MOST_FIELDS || elements.len() > MOST {
            return Err(StatusCode::BadEventFilterInvalid);
        }
        let select: Vec<_> = clauses.iter().map(|clause| read(clause, space)).collect();
        let parsed: Vec<_> = elements
            .iter()
            .enumerate()
            .map(|(at, element)| Element::new(element, at, elements.len(), space))
            .collect();
        let select_good = select.iter().all(Result::is_ok);
        let where_good = parsed.iter().all(Result::is_ok);
        let mut result = EventFilterResult::default();
        if !select_good {
            let status = |clause: &Result<_, StatusCode>| match clause {
                Ok(_) => StatusCode::Good,
                Err(status) => *status,
            };
            result.select_clause_results = Some(select.iter().map(status).collect());
        }
        if !where_good {
            let told = parsed.into_iter().map(|element| match element {
                Ok(_) => ContentFilterElementResult::default(),
                Err(wrong) => wrong,
            });
            result.where_clause_result = ContentFilterResult {
                element_results: Some(told.collect()),
                element_diagnostic_infos: None,
            };
            return Ok(Judged::Bad(result));
        }
        let filter = Self {
            select: select.into_iter().map(Result::ok).collect(),
            elements: parsed.into_iter().filter_map(Result::ok).collect(),
        };
        Ok(match select_good {
            true => Judged::Good(filter),
            false => Judged::Partly(filter, result),
        })
    }

    /// Whether an event is wanted.
    pub fn passes(&self, event: &Event<'_>) -> bool {
        let mut known: Vec<Variant> = vec![Variant::Empty; self.elements.len()];
        // An element refers to later ones only, so each is looked at once.
        for (at, element) in self.elements.iter().enumerate().rev() {
            let value = element.value(event, &known);
            if let Some(place) = known.get_mut(at) {
                *place = value;
            }
        }
        match known.first() {
            None => true,
            Some(first) => operator::truth(first) == Truth::True,
        }
    }

    /// Appends the fields of an event as an array of Variants.
    pub fn encode(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.select.len() as u32).to_le_bytes());
        for clause in &self.select {
            match clause {
                Some(clause) => encode::encode(&clause.value(event), out),
                None => out.push(0),
            }
        }
    }
}

impl Clause {
    fn value(&self, event: &Event<'_>) -> Variant {
        // Part 4, 7.4.4.5: only events of the type named have it. BaseEventType stands for any.
        if !event.kind.is_a(self.of) || !self.field.is_in(event.kind) {
            return Variant::Empty;
        }
        let whole = self.field.value(event);
        match &self.range {
            None => whole,
            // Part 4, 7.4.4.5: where the range has no data the field is null.
            Some(range) => whole.range_of(range).unwrap_or_default(),
        }
    }
}

/// Part 4, table 144: what can be wrong with a select clause.
fn read(asked: &SimpleAttributeOperand, space: &Space) -> Result<Clause, StatusCode> {
    let of = event_type(&asked.type_definition_id, space)?;
    let path = asked.browse_path.as_deref().unwrap_or_default();
    if path
        .iter()
        .any(|name| name.name.is_null() || name.name.is_empty())
    {
        return Err(StatusCode::BadBrowseNameInvalid);
    }
    let field = match (path, asked.attribute_id) {
        ([], id::NODE_ID) => Field::ConditionId,
        ([], _) => return Err(StatusCode::BadAttributeIdInvalid),
        (path, id::VALUE) => Row::at(path).ok_or(StatusCode::BadNodeIdUnknown)?.field,
        (path, _) => {
            return Err(match Row::at(path) {
                Some(_) => StatusCode::BadAttributeIdInvalid,
                None => StatusCode::BadNodeIdUnknown,
            });
        }
    };
    let range = asked
        .index_range
        .has_range()
        .then(|| asked.index_range.clone());
    // Texts and ids have parts; everything else here is a scalar.
    if range.is_some()
        && !matches!(
            field,
            Field::EventId | Field::SourceName | Field::ConditionName | Field::ClientUserId
        )
    {
        return Err(StatusCode::BadTypeMismatch);
    }
    Ok(Clause { of, field, range })
}

/// A type of events; null for all of them. Types that nothing here raises are types as well:
/// their place is taken by one that no event has.
fn event_type(asked: &NodeId, space: &Space) -> Result<ObjectTypeId, StatusCode> {
    if asked.is_null() {
        return Ok(ObjectTypeId::BaseEventType);
    }
    let invalid = StatusCode::BadTypeDefinitionInvalid;
    let at = space.find_id(asked).ok_or(invalid)?;
    let base = space.find_id(&ObjectTypeId::BaseEventType.into());
    if !base.is_some_and(|base| space.is_subtype(at, base)) {
        return Err(invalid);
    }
    let number = asked.as_u32().filter(|_| asked.namespace == 0);
    Ok(number
        .and_then(|number| ObjectTypeId::try_from(number).ok())
        .unwrap_or(ObjectTypeId::BaseObjectType))
}

impl Element {
    fn new(
        asked: &ContentFilterElement,
        at: usize,
        count: usize,
        space: &Space,
    ) -> Result<Self, ContentFilterElementResult> {
        let failed = |status_code, operands: Option<Vec<StatusCode>>| ContentFilterElementResult {
            status_code,
            operand_status_codes: operands,
            operand_diagnostic_infos: None,
        };
        let operator = asked.filter_operator;
        let operands = asked.filter_operands.as_deref().unwrap_or_default();
        let Some((least, most)) = operator::operands(operator) else {
            // Part 4, 7.7.3: InView and RelatedTo are about nodes, and events are none.
            return Err(failed(StatusCode::BadFilterOperatorUnsupported, None));
        };
        if operands.len() < least || operands.len() > most {
            return Err(failed(StatusCode::BadFilterOperandCountMismatch, None));
        }
        let read: Vec<_> = operands
            .iter()
            .map(|operand| Operand::new(operand, operator, at, count, space))
            .collect();
        if read.iter().all(Result::is_ok) {
            let operands = read.into_iter().filter_map(Result::ok).collect();
            return Ok(Self { operator, operands });
        }
        let told = read
            .into_iter()
            .map(|operand| operand.err().unwrap_or(StatusCode::Good));
        Err(failed(
            StatusCode::BadFilterOperandInvalid,
            Some(told.collect()),
        ))
    }

    fn value(&self, event: &Event<'_>, known: &[Variant]) -> Variant {
        if let (FilterOperator::OfType, Some(Operand::Type(of))) =
            (self.operator, self.operands.first())
        {
            return event.kind.is_a(*of).into();
        }
        let values = self.operands.iter().map(|operand| match operand {
            Operand::Element(at) => known.get(*at).cloned().unwrap_or_default(),
            Operand::Literal(value) => value.clone(),
            Operand::Field(clause) => clause.value(event),
            Operand::Type(of) => NodeId::from(*of).into(),
        });
        let values: Vec<_> = values.collect();
        operator::apply(self.operator, &values)
    }
}

impl Operand {
    fn new(
        asked: &ExtensionObject,
        operator: FilterOperator,
        at: usize,
        count: usize,
        space: &Space,
    ) -> Result<Self, StatusCode> {
        if let Some(element) = asked.inner_as::<ElementOperand>() {
            let index = element.index as usize;
            // Part 4, 7.7.4.2: of two elements the later one is the operand, so there are no
            // circles.
            return match index > at && index < count {
                true => Ok(Self::Element(index)),
                false => Err(StatusCode::BadFilterElementInvalid),
            };
        }
        if let Some(literal) = asked.inner_as::<LiteralOperand>() {
            if operator == FilterOperator::OfType {
                let Variant::NodeId(id) = &literal.value else {
                    return Err(StatusCode::BadFilterLiteralInvalid);
                };
                return event_type(id, space).map(Self::Type);
            }
            return match operator::is_fit(operator, &literal.value) {
                true => Ok(Self::Literal(literal.value.clone())),
                false => Err(StatusCode::BadFilterLiteralInvalid),
            };
        }
        if let Some(field) = asked.inner_as::<SimpleAttributeOperand>() {
            return read(field, space).map(Self::Field);
        }
        // Part 4, 7.22.3: event filters have no AttributeOperands.
        Err(StatusCode::BadFilterOperandInvalid)
    }
}

/// Whether somebody can listen at a node.
pub fn tells_of_events(space: &Space, at: NodeIndex) -> bool {
    let node = space.node(at);
    matches!(
        node.as_deref().map(|node| &node.body),
        Some(Body::Object { event_notifier } | Body::View { event_notifier, .. })
            if event_notifier & 1 != 0
    )
}
