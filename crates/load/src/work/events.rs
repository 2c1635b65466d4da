//! Filters of events, as they stand in a request (Part 4, 7.7 and 7.22.3).

use plan::events::{Comparison, EventType, Expression, Field, Holds, Literal, Operand};
use plan::{Events, NodeSpec};
use wire::types::{
    AttributeId, BinaryDecodable, ContentFilter, ContentFilterElement, ContextOwned,
    ElementOperand, EventFilter, EventFilterResult, ExtensionObject, FilterOperator,
    LiteralOperand, NodeId, NumericRange, ObjectTypeId, QualifiedName, SimpleAttributeOperand,
    StatusCode, Variant,
};

use super::{WorkError, find};
use crate::access::Session;

/// What items that wait for events are created with.
#[derive(Debug, Clone)]
pub struct Filter {
    /// As it stands in a request.
    pub filter: EventFilter,
    /// The names of the fields, as people wrote them.
    pub names: Vec<String>,
    /// Where those are that accounting needs.
    pub places: Places,
    /// Whether all events are let through.
    pub all: bool,
}

/// Where in an event the fields are that accounting needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places {
    /// EventId.
    pub id: usize,
    /// EventType.
    pub kind: usize,
    /// Time.
    pub time: usize,
    /// ReceiveTime.
    pub received: usize,
}

/// The filter for what is planned; types that are named by their nodes are looked up.
pub fn filter(
    events: &Events,
    namespaces: &[String],
    session: &mut Session,
) -> Result<Filter, WorkError> {
    filter_with(events, &mut |spec| find::node(spec, namespaces, session))
}

fn filter_with(events: &Events, nodes: Nodes<'_>) -> Result<Filter, WorkError> {
    let fields = events.fields();
    let place = |path: &str| {
        let wanted = Field::standard(path);
        fields.iter().position(|field| *field == wanted)
    };
    // All of them are among the fields: who does not name them has them added.
    let [id, kind, time, received] = Events::NEEDED.map(|path| {
        let place = place(path);
        debug_assert!(place.is_some(), "{path} is not among the fields");
        place.unwrap_or_default()
    });
    let mut elements = Elements {
        made: Vec::new(),
        nodes,
    };
    let clauses: Result<Vec<_>, _> = fields.iter().map(|field| elements.field(field)).collect();
    let clauses = clauses?;
    if let Some(filter) = &events.filter {
        elements.put(filter.expression())?;
    }
    let made = elements.made;
    Ok(Filter {
        all: made.is_empty(),
        filter: EventFilter {
            select_clauses: Some(clauses),
            where_clause: ContentFilter {
                elements: Some(made),
            },
        },
        names: fields.iter().map(ToString::to_string).collect(),
        places: Places {
            id,
            kind,
            time,
            received,
        },
    })
}

type Nodes<'a> = &'a mut dyn FnMut(&NodeSpec) -> Result<NodeId, WorkError>;

/// The elements of a where clause. The first is the whole; each refers to later ones only (Part 4,
/// 7.7.4.2).
struct Elements<'a> {
    made: Vec<ContentFilterElement>,
    nodes: Nodes<'a>,
}

impl Elements<'_> {
    /// Appends an expression; gives its number.
    fn put(&mut self, expression: &Expression) -> Result<u32, WorkError> {
        let at = self.made.len();
        self.made.push(ContentFilterElement::default());
        let (operator, operands) = match expression {
            Expression::Compare(how, left, right) => {
                let holds = holds(&[left, right]);
                let operands = vec![self.operand(left, holds)?, self.operand(right, holds)?];
                (compared(*how), operands)
            }
            Expression::Between(it, from, to) => {
                let holds = holds(&[it, from, to]);
                let all = [it, from, to].map(|operand| self.operand(operand, holds));
                (
                    FilterOperator::Between,
                    all.into_iter().collect::<Result<_, _>>()?,
                )
            }
            Expression::In(it, list) => {
                let holds = holds(&[it]);
                let all = std::iter::once(it).chain(list);
                let all = all.map(|operand| self.operand(operand, holds));
                (FilterOperator::InList, all.collect::<Result<_, _>>()?)
            }
            Expression::IsNull(it) => (FilterOperator::IsNull, vec![self.operand(it, None)?]),
            Expression::OfType(kind) => {
                let kind = Variant::from(self.kind(kind)?);
                (FilterOperator::OfType, vec![literal(kind)])
            }
            Expression::Not(it) => (FilterOperator::Not, vec![self.element(it)?]),
            Expression::And(left, right) => {
                let operands = vec![self.element(left)?, self.element(right)?];
                (FilterOperator::And, operands)
            }
            Expression::Or(left, right) => {
                let operands = vec![self.element(left)?, self.element(right)?];
                (FilterOperator::Or, operands)
            }
        };
        if let Some(element) = self.made.get_mut(at) {
            *element = ContentFilterElement {
                filter_operator: operator,
                filter_operands: Some(operands),
            };
        }
        Ok(at as u32)
    }

    fn element(&mut self, expression: &Expression) -> Result<ExtensionObject, WorkError> {
        let index = self.put(expression)?;
        Ok(ExtensionObject::from_message(ElementOperand { index }))
    }

    fn operand(
        &mut self,
        operand: &Operand,
        holds: Option<Holds>,
    ) -> Result<ExtensionObject, WorkError> {
        Ok(match operand {
            Operand::Field(field) => ExtensionObject::from_message(self.field(field)?),
            Operand::Literal(it) => literal(match it {
                Literal::Number(number, whole) => counted(*number, *whole, holds),
                Literal::Text(text) => Variant::from(text.as_str()),
                Literal::Flag(flag) => Variant::from(*flag),
                Literal::Time(ticks) => Variant::from(wire::types::DateTime::from(*ticks)),
                Literal::Node(kind) => Variant::from(self.kind(kind)?),
            }),
        })
    }

    fn field(&mut self, field: &Field) -> Result<SimpleAttributeOperand, WorkError> {
        let attribute = match field.path.is_empty() {
            true => AttributeId::NodeId,
            false => AttributeId::Value,
        };
        let type_definition_id = match &field.of {
            Some(of) => self.kind(of)?,
            None if field.path.is_empty() => ObjectTypeId::ConditionType.into(),
            None => match field.known() {
                Some(known) => known.of.into(),
                None => ObjectTypeId::BaseEventType.into(),
            },
        };
        let path = field.path.iter();
        let path = path.map(|(namespace, name)| QualifiedName::new(*namespace, name.as_str()));
        Ok(SimpleAttributeOperand {
            type_definition_id,
            browse_path: Some(path.collect()),
            attribute_id: attribute as u32,
            index_range: NumericRange::None,
        })
    }

    fn kind(&mut self, kind: &EventType) -> Result<NodeId, WorkError> {
        match kind {
            EventType::Standard(kind) => Ok((*kind).into()),
            EventType::Node(spec) => (self.nodes)(spec),
        }
    }
}

fn literal(value: Variant) -> ExtensionObject {
    ExtensionObject::from_message(LiteralOperand { value })
}

fn compared(how: Comparison) -> FilterOperator {
    match how {
        Comparison::Equal => FilterOperator::Equals,
        Comparison::Less => FilterOperator::LessThan,
        Comparison::AtMost => FilterOperator::LessThanOrEqual,
        Comparison::Greater => FilterOperator::GreaterThan,
        Comparison::AtLeast => FilterOperator::GreaterThanOrEqual,
        Comparison::Like => FilterOperator::Like,
    }
}

/// What the first field among them holds.
fn holds(operands: &[&Operand]) -> Option<Holds> {
    operands.iter().find_map(|operand| match operand {
        Operand::Field(field) => field.holds(),
        Operand::Literal(_) => None,
    })
}

/// A number in the type of the field that it is compared with, where it fits: some servers convert
/// nothing.
fn counted(number: f64, whole: Option<i64>, holds: Option<Holds>) -> Variant {
    let small = whole.and_then(|whole| u16::try_from(whole).ok());
    let status = whole.and_then(|whole| u32::try_from(whole).ok());
    match (holds, whole) {
        (Some(Holds::Small), _) if let Some(small) = small => Variant::from(small),
        (Some(Holds::Status), _) if let Some(bits) = status => {
            Variant::from(StatusCode::from(bits))
        }
        (Some(Holds::Real), _) | (_, None) => Variant::from(number),
        (_, Some(whole)) => match i32::try_from(whole) {
            Ok(whole) => Variant::from(whole),
            Err(_) => Variant::from(whole),
        },
    }
}

/// What a server says of a filter: fields that it does not know, and what is wrong with the where
/// clause, each a sentence.
pub fn told(result: &[u8], names: &[String]) -> (Vec<String>, Vec<String>) {
    let context = ContextOwned::default();
    let decoded = ExtensionObject::decode(&mut &*result, &context.context());
    let Ok(decoded) = decoded else {
        return Default::default();
    };
    let Some(told) = decoded.inner_as::<EventFilterResult>() else {
        return Default::default();
    };
    let clauses = told.select_clause_results.iter().flatten();
    let fields = clauses
        .zip(names)
        .filter(|(status, _)| status.is_bad())
        .map(|(status, name)| format!("{name} ({status})"));
    let elements = told.where_clause_result.element_results.iter().flatten();
    let mut wrong = Vec::new();
    for (n, element) in (1..).zip(elements) {
        let operands = element.operand_status_codes.iter().flatten();
        let operand = (1..).zip(operands).find(|(_, status)| status.is_bad());
        if let Some((which, status)) = operand {
            wrong.push(format!("operand {which} of operator {n} ({status})"));
        } else if element.status_code.is_bad() {
            wrong.push(format!("operator {n} ({})", element.status_code));
        }
    }
    (fields.collect(), wrong)
}

#[cfg(test)]
mod tests {
    use wire::types::{BinaryEncodable, ContentFilterElementResult, ContentFilterResult};

    use super::*;

    fn made(filter: &str) -> Vec<ContentFilterElement> {
        let events = Events {
            filter: Some(filter.parse().unwrap()),
            ..Events::default()
        };
        let mut nodes = |spec: &NodeSpec| {
            assert_eq!(spec.to_string(), "ns=2;i=5");
            Ok(NodeId::new(2, 5u32))
        };
        let filter = filter_with(&events, &mut nodes).unwrap();
        assert!(!filter.all);
        filter.filter.where_clause.elements.unwrap()
    }

    fn value(element: &ContentFilterElement, at: usize) -> Variant {
        let operand = &element.filter_operands.as_ref().unwrap()[at];
        let operand = operand.inner_as::<LiteralOperand>();
        operand.unwrap().value.clone()
    }

    #[test]
    fn elements_refer_to_later_ones_and_the_first_is_the_whole() {
        let made = made("Severity >= 500 and not (OfType [ns=2;i=5] or SourceName in ('a', 'b'))");
        let operators: Vec<_> = made.iter().map(|it| it.filter_operator).collect();
        assert_eq!(
            operators,
            [
                FilterOperator::And,
                FilterOperator::GreaterThanOrEqual,
                FilterOperator::Not,
                FilterOperator::Or,
                FilterOperator::OfType,
                FilterOperator::InList
            ]
        );
        for (n, element) in made.iter().enumerate() {
            for operand in element.filter_operands.as_ref().unwrap() {
                if let Some(element) = operand.inner_as::<ElementOperand>() {
                    assert!(element.index as usize > n);
                }
            }
        }
        assert_eq!(value(&made[4], 0), Variant::from(NodeId::new(2, 5u32)));
        assert_eq!(made[5].filter_operands.as_ref().unwrap().len(), 3);
    }

    #[test]
    fn numbers_have_the_type_of_the_field_they_are_compared_with() {
        for (filter, wanted) in [
            ("Severity > 500", Variant::from(500u16)),
            ("Severity > 70000", Variant::from(70_000i32)),
            ("HighLimit > 5", Variant::from(5.0f64)),
            ("2:Own > 5", Variant::from(5i32)),
            ("2:Own > 5000000000", Variant::from(5_000_000_000i64)),
            ("2:Own > 0.5", Variant::from(0.5f64)),
            ("Retain = true", Variant::from(true)),
        ] {
            assert_eq!(value(&made(filter)[0], 1), wanted, "{filter}");
        }
    }

    #[test]
    fn a_field_is_asked_of_the_type_that_declares_it() {
        let events = Events {
            select: ["ActiveState/Id", "ConditionId", "2:Own", "[ns=2;i=5]2:Own"]
                .map(|it| it.parse().unwrap())
                .into(),
            ..Events::default()
        };
        let mut nodes = |_: &NodeSpec| Ok(NodeId::new(2, 5u32));
        let filter = filter_with(&events, &mut nodes).unwrap();
        assert!(filter.all);
        let places = filter.places;
        assert_eq!(
            (places.id, places.kind, places.time, places.received),
            (4, 5, 6, 7)
        );
        let clauses = filter.filter.select_clauses.unwrap();
        let of = |id: ObjectTypeId| NodeId::from(id);
        assert_eq!(
            clauses[0].type_definition_id,
            of(ObjectTypeId::AlarmConditionType)
        );
        assert_eq!(clauses[0].browse_path.as_ref().unwrap().len(), 2);
        assert_eq!(clauses[1].attribute_id, AttributeId::NodeId as u32);
        assert_eq!(
            clauses[2].type_definition_id,
            of(ObjectTypeId::BaseEventType)
        );
        assert_eq!(clauses[3].type_definition_id, NodeId::new(2, 5u32));
    }

    #[test]
    fn what_the_server_says_of_a_filter_is_told_by_name() {
        let result = EventFilterResult {
            select_clause_results: Some(vec![StatusCode::Good, StatusCode::BadNodeIdUnknown]),
            select_clause_diagnostic_infos: None,
            where_clause_result: ContentFilterResult {
                element_results: Some(vec![ContentFilterElementResult {
                    status_code: StatusCode::BadFilterOperandInvalid,
                    operand_status_codes: Some(vec![StatusCode::Good, StatusCode::BadTypeMismatch]),
                    operand_diagnostic_infos: None,
                }]),
                element_diagnostic_infos: None,
            },
        };
        let context = ContextOwned::default();
        let raw = ExtensionObject::from_message(result).encode_to_vec(&context.context());
        let names = ["Time".to_owned(), "Nothing".to_owned()];
        let (fields, wrong) = told(&raw, &names);
        assert_eq!(fields, ["Nothing (BadNodeIdUnknown)"]);
        assert_eq!(wrong, ["operand 2 of operator 1 (BadTypeMismatch)"]);
        assert_eq!(told(&[], &names), Default::default());
    }
}
