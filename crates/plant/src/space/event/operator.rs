//! Operators of where clauses (Part 4, 7.7.3), with the third truth value, null.

use std::cmp::Ordering;

use wire::types::{FilterOperator, NodeId, Variant, VariantScalarTypeId};

use super::like;

/// Yes, no, or nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// Yes.
    True,
    /// No.
    False,
    /// Null.
    Unknown,
}

impl From<Option<bool>> for Truth {
    fn from(is: Option<bool>) -> Self {
        match is {
            Some(true) => Self::True,
            Some(false) => Self::False,
            None => Self::Unknown,
        }
    }
}

impl From<Truth> for Variant {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::True => true.into(),
            Truth::False => false.into(),
            Truth::Unknown => Self::Empty,
        }
    }
}

/// A value as a truth value: numbers and texts that can be converted to Boolean are.
pub fn truth(value: &Variant) -> Truth {
    let is = match value.convert(VariantScalarTypeId::Boolean) {
        Variant::Boolean(is) => Some(is),
        _ => None,
    };
    is.into()
}

/// How many operands an operator has, at least and at most; none if it is not supported.
pub fn operands(operator: FilterOperator) -> Option<(usize, usize)> {
    use FilterOperator as O;
    Some(match operator {
        O::IsNull | O::Not | O::OfType => (1, 1),
        O::Equals
        | O::GreaterThan
        | O::LessThan
        | O::GreaterThanOrEqual
        | O::LessThanOrEqual
        | O::Like
        | O::And
        | O::Or
        | O::Cast
        | O::BitwiseAnd
        | O::BitwiseOr => (2, 2),
        O::Between => (3, 3),
        O::InList => (2, 256),
        O::InView | O::RelatedTo => return None,
    })
}

/// Whether an operator can make something of a literal.
pub fn is_fit(operator: FilterOperator, literal: &Variant) -> bool {
    match operator {
        FilterOperator::Like => text(literal).is_some(),
        // The second one names a type; the first may be anything that is one.
        FilterOperator::Cast => !literal.is_empty(),
        _ => true,
    }
}

/// What an operator makes of its operands.
pub fn apply(operator: FilterOperator, operands: &[Variant]) -> Variant {
    use FilterOperator as O;
    let null = Variant::Empty;
    let at = |n: usize| operands.get(n).unwrap_or(&null);
    let (a, b) = (at(0), at(1));
    let ordered = |fits: fn(Ordering) -> bool| Truth::from(compare(a, b).map(fits)).into();
    match operator {
        O::Equals => Truth::from(equal(a, b)).into(),
        O::IsNull => a.is_empty().into(),
        O::GreaterThan => ordered(Ordering::is_gt),
        O::LessThan => ordered(Ordering::is_lt),
        O::GreaterThanOrEqual => ordered(Ordering::is_ge),
        O::LessThanOrEqual => ordered(Ordering::is_le),
        O::Like => {
            let both = text(a).zip(text(b));
            Truth::from(both.and_then(|(text, pattern)| like::matches(text, pattern))).into()
        }
        O::Not => match truth(a) {
            Truth::True => Truth::False,
            Truth::False => Truth::True,
            Truth::Unknown => Truth::Unknown,
        }
        .into(),
        O::Between => {
            let within = compare(a, b).zip(compare(a, at(2)));
            Truth::from(within.map(|(low, high)| low.is_ge() && high.is_le())).into()
        }
        O::InList => in_list(a, operands.get(1..).unwrap_or_default()).into(),
        O::And => and(truth(a), truth(b)).into(),
        O::Or => or(truth(a), truth(b)).into(),
        O::Cast => match b {
            Variant::NodeId(id) => match VariantScalarTypeId::try_from(&**id) {
                Ok(kind) => a.cast(kind),
                Err(_) => null,
            },
            _ => null,
        },
        O::BitwiseAnd => bits(a, b, |x, y| x & y),
        O::BitwiseOr => bits(a, b, |x, y| x | y),
        // Refused before; OfType is about the event, not its fields.
        O::InView | O::OfType | O::RelatedTo => null,
    }
}

/// Part 4, table 121.
fn and(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Truth::False, _) | (_, Truth::False) => Truth::False,
        (Truth::True, Truth::True) => Truth::True,
        _ => Truth::Unknown,
    }
}

/// Part 4, table 122.
fn or(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Truth::True, _) | (_, Truth::True) => Truth::True,
        (Truth::False, Truth::False) => Truth::False,
        _ => Truth::Unknown,
    }
}

fn in_list(value: &Variant, list: &[Variant]) -> Truth {
    let is = list.iter().map(|other| equal(value, other));
    is.fold(Truth::False, |so_far, is| or(so_far, is.into()))
}

fn equal(a: &Variant, b: &Variant) -> Option<bool> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    if let Some(order) = compare(a, b) {
        return Some(order.is_eq());
    }
    if let (Some(a), Some(b)) = (node(a), node(b)) {
        return Some(a == b);
    }
    // Part 4, 7.7.3: what cannot be converted is not equal, and a null makes a null.
    let converted = b.convert(a.type_id());
    match converted.is_empty() {
        true => None,
        false => Some(*a == converted),
    }
}

/// Which of two values comes first; none if they cannot be compared.
fn compare(a: &Variant, b: &Variant) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return Some(a.cmp(&b));
    }
    if let (Variant::DateTime(a), Variant::DateTime(b)) = (a, b) {
        return Some(a.ticks().cmp(&b.ticks()));
    }
    if let (Variant::ByteString(a), Variant::ByteString(b)) = (a, b) {
        return Some(a.as_ref().cmp(b.as_ref()));
    }
    match (text(a), text(b)) {
        (Some(a), Some(b)) => return Some(a.cmp(b)),
        // Part 4, table 118: a text becomes what it stands beside.
        (Some(text), None) => {
            return number(b)?
                .partial_cmp(&text.parse().ok()?)
                .map(Ordering::reverse);
        }
        (None, Some(text)) => return number(a)?.partial_cmp(&text.parse().ok()?),
        (None, None) => {}
    }
    number(a)?.partial_cmp(&number(b)?)
}

fn node(value: &Variant) -> Option<&NodeId> {
    match value {
        Variant::NodeId(id) => Some(id),
        Variant::ExpandedNodeId(id) if id.server_index == 0 && id.namespace_uri.is_null() => {
            Some(&id.node_id)
        }
        _ => None,
    }
}

fn text(value: &Variant) -> Option<&str> {
    match value {
        Variant::String(text) => text.value().as_deref(),
        Variant::LocalizedText(text) => text.text.value().as_deref(),
        Variant::QualifiedName(name) => name.name.value().as_deref(),
        _ => None,
    }
}

/// A whole number, a Boolean or a status among them.
fn whole(value: &Variant) -> Option<i128> {
    Some(match value {
        Variant::Boolean(is) => i128::from(*is),
        Variant::SByte(n) => i128::from(*n),
        Variant::Byte(n) => i128::from(*n),
        Variant::Int16(n) => i128::from(*n),
        Variant::UInt16(n) => i128::from(*n),
        Variant::Int32(n) => i128::from(*n),
        Variant::UInt32(n) => i128::from(*n),
        Variant::Int64(n) => i128::from(*n),
        Variant::UInt64(n) => i128::from(*n),
        Variant::StatusCode(status) => i128::from(status.bits()),
        _ => return None,
    })
}

fn number(value: &Variant) -> Option<f64> {
    match value {
        Variant::Float(n) => Some(f64::from(*n)),
        Variant::Double(n) => Some(*n),
        other => whole(other).map(|n| n as f64),
    }
}

/// Of two whole numbers, as wide as the wider one.
fn bits(a: &Variant, b: &Variant, put: fn(i128, i128) -> i128) -> Variant {
    let whole_of = |value: &Variant| match value {
        Variant::Boolean(_) | Variant::StatusCode(_) => None,
        other => whole(other),
    };
    let (Some(x), Some(y)) = (whole_of(a), whole_of(b)) else {
        return Variant::Empty;
    };
    let wide = |value: &Variant| match value {
        Variant::SByte(_) | Variant::Byte(_) => 1,
        Variant::Int16(_) | Variant::UInt16(_) => 2,
        Variant::Int32(_) | Variant::UInt32(_) => 4,
        _ => 8,
    };
    let kind = if wide(a) >= wide(b) { a } else { b };
    let value = put(x, y);
    match kind {
        Variant::SByte(_) => (value as i8).into(),
        Variant::Byte(_) => (value as u8).into(),
        Variant::Int16(_) => (value as i16).into(),
        Variant::UInt16(_) => (value as u16).into(),
        Variant::Int32(_) => (value as i32).into(),
        Variant::UInt32(_) => (value as u32).into(),
        Variant::Int64(_) => (value as i64).into(),
        _ => (value as u64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FilterOperator as O;
    use wire::types::{DataTypeId, DateTime, LocalizedText};

    fn apply_two(operator: O, a: impl Into<Variant>, b: impl Into<Variant>) -> Variant {
        apply(operator, &[a.into(), b.into()])
    }

    #[test]
    fn numbers_of_different_types_are_compared_as_numbers() {
        for (operator, a, b, is) in [
            (
                O::GreaterThan,
                Variant::from(500u16),
                Variant::from(499i64),
                true,
            ),
            (O::LessThan, 1.5f64.into(), 2u8.into(), true),
            (O::GreaterThanOrEqual, 2u8.into(), 2.0f32.into(), true),
            (O::LessThanOrEqual, u64::MAX.into(), i64::MAX.into(), false),
            (O::Equals, "500".into(), 500u16.into(), true),
            (O::LessThan, "499".into(), 500u16.into(), true),
            (O::Equals, true.into(), 1u8.into(), true),
            (
                O::Equals,
                LocalizedText::new("en", "hot").into(),
                "hot".into(),
                true,
            ),
            (
                O::LessThan,
                DateTime::from(5).into(),
                DateTime::from(6).into(),
                true,
            ),
        ] {
            assert_eq!(
                apply_two(operator, a, b),
                Variant::Boolean(is),
                "{operator:?}"
            );
        }
    }

    #[test]
    fn null_is_neither_true_nor_false() {
        let null = Variant::Empty;
        assert_eq!(apply_two(O::Equals, null.clone(), 1u8), null);
        assert_eq!(
            apply_two(O::And, null.clone(), false),
            Variant::Boolean(false)
        );
        assert_eq!(apply_two(O::And, null.clone(), true), null);
        assert_eq!(apply_two(O::Or, null.clone(), true), Variant::Boolean(true));
        assert_eq!(apply_two(O::Or, null.clone(), false), null);
        assert_eq!(apply(O::Not, std::slice::from_ref(&null)), null);
        assert_eq!(apply(O::IsNull, &[null]), Variant::Boolean(true));
    }

    #[test]
    fn lists_ranges_bits_and_casts() {
        let list = [2u16, 1, 2, 3].map(Variant::from);
        assert_eq!(apply(O::InList, &list), Variant::Boolean(true));
        let between = |n: u16| apply(O::Between, &[n.into(), 10u8.into(), 20u8.into()]);
        assert_eq!(between(10), Variant::Boolean(true));
        assert_eq!(between(21), Variant::Boolean(false));
        assert_eq!(
            apply_two(O::BitwiseAnd, 0x0fu8, 0xfcu16),
            Variant::UInt16(0x0c)
        );
        assert_eq!(apply_two(O::BitwiseOr, 1i32, 6i32), Variant::Int32(7));
        let double = NodeId::from(DataTypeId::Double);
        assert_eq!(apply_two(O::Cast, "1.5", double), Variant::Double(1.5));
        assert_eq!(
            apply_two(O::Like, "Pump 07", "Pump%"),
            Variant::Boolean(true)
        );
    }
}
