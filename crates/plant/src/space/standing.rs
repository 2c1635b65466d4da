//! Variables of the standard address space get their values.

use wire::types::{NodeId, VariableId, Variant};

use super::build::Builder;
use super::encode;
use super::value::Source;

/// It stays as it is.
pub fn constant(builder: &mut Builder, id: VariableId, value: impl Into<Variant>) {
    let since = builder.anchor();
    let encoded = encode::variant(value);
    set(builder, id, Source::Constant { encoded, since });
}

/// It comes from here.
pub fn set(builder: &mut Builder, id: VariableId, source: Source) {
    if let Some(variable) = builder.variable_mut(&NodeId::from(id)) {
        variable.source = source;
    }
}
