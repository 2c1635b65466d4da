//! One node of a file, with its references.

use std::sync::Arc;

use wire::types::{DataTypeId, LocalizedText, NodeId, StatusCode, Variant};

use super::ids::Ids;
use super::leaf::{Wrong, localized};
use super::reference::references;
use super::value::{NoValue, Scope, variant};
use super::xml::Element;
use super::{KnownReferences, LeftOut, Loaded, dimensions, id_of, is_true};
use crate::space::node::VariableType;
use crate::space::value::{Blob, Scalar};
use crate::space::{
    Body, Builder, FullNames, Names, Node, Shape, Source, Stamp, Variable, access, encode,
};
use wire::template::walk::RawVariant;

/// Adds a node and its references.
pub fn node(
    element: &Element,
    scope: Scope<'_>,
    told: &mut KnownReferences,
    builder: &mut Builder,
    loaded: &mut Loaded,
) -> Result<(), Wrong> {
    let ids = scope.ids;
    let wrong = |what: String| (element.line, what);
    let id = id_of(element, "NodeId", ids)?;
    if id.namespace == 0 {
        let what = format!(
            "{id} is a node of OPC UA itself, which the server has (want nodes of namespaces from 1 on)"
        );
        return Err(wrong(what));
    }
    let references = references(element, ids)?;
    let browse_name = match element.attribute("BrowseName") {
        Some(name) => ids.name(name, element.line)?,
        None => return Err(wrong(format!("{id} has no BrowseName"))),
    };
    let shown = element.child("DisplayName").map(localized);
    let names = FullNames {
        display_name: match shown {
            Some(shown) => shown,
            None => LocalizedText::new("", browse_name.name.as_ref()),
        },
        browse_name,
        description: element.child("Description").map(localized),
    };
    let is_abstract = is_true(element, "IsAbstract");
    let event_notifier = number(element, "EventNotifier", 0)?;
    let body = match element.name.as_str() {
        "UAObject" => Body::Object { event_notifier },
        "UAVariable" => variable(element, scope, builder.anchor(), loaded)?,
        "UAMethod" => Body::Method {
            executable: true,
            // What it does nobody has said: it answers BadNotImplemented.
            method: None,
            zone: 0,
        },
        "UAObjectType" => Body::ObjectType { is_abstract },
        "UAVariableType" => {
            let value = value(element, scope, loaded)?;
            Body::VariableType(Box::new(VariableType {
                data_type: data_type(element, ids)?,
                value_rank: number(element, "ValueRank", -1)?,
                array_dimensions: dimensions(element)?,
                is_abstract,
                value: (value != Variant::Empty).then(|| encode::variant(value)),
            }))
        }
        "UAReferenceType" => Body::ReferenceType {
            is_abstract,
            symmetric: is_true(element, "Symmetric"),
            inverse_name: element
                .child("InverseName")
                .map(|name| Box::new(localized(name))),
        },
        "UADataType" => Body::DataType {
            is_abstract,
            definition: scope.types.definition(&id).map(encode::variant),
        },
        "UAView" => Body::View {
            event_notifier,
            contains_no_loops: is_true(element, "ContainsNoLoops"),
        },
        other => {
            return Err(wrong(format!(
                "{other} is no node (want UAObject, UAVariable, UAMethod, UAView, or a type)"
            )));
        }
    };
    for reference in &references {
        let (source, target) = match reference.forward {
            true => (&id, &reference.other),
            false => (&reference.other, &id),
        };
        let edge = (source.clone(), reference.kind.clone(), target.clone());
        if told.insert(edge) {
            builder.link(source, reference.kind.clone(), target);
        }
    }
    builder.insert(Node {
        names: Names::Full(Box::new(names)),
        body,
        id,
    });
    loaded.nodes += 1;
    Ok(())
}

fn number<T: std::str::FromStr>(element: &Element, name: &str, usual: T) -> Result<T, Wrong> {
    match element.attribute(name) {
        None => Ok(usual),
        Some(text) => text
            .trim()
            .parse()
            .map_err(|_| (element.line, format!("{text:?} is no {name}"))),
    }
}

fn data_type(element: &Element, ids: &Ids<'_>) -> Result<NodeId, Wrong> {
    match element.attribute("DataType") {
        Some(of) => ids.of(of, element.line),
        None => Ok(DataTypeId::BaseDataType.into()),
    }
}

/// The Value of a variable; null, and noted, where it cannot be read.
fn value(element: &Element, scope: Scope<'_>, loaded: &mut Loaded) -> Result<Variant, Wrong> {
    let inside = element.child("Value").and_then(|it| it.children.first());
    let Some(inside) = inside else {
        return Ok(Variant::Empty);
    };
    match variant(inside, scope) {
        Ok(value) => Ok(value),
        Err(NoValue::Wrong(wrong)) => Err(wrong),
        Err(NoValue::Unknown((line, why))) => {
            let node = element.attribute("NodeId").unwrap_or_default().to_owned();
            loaded.left_out.push(LeftOut { node, line, why });
            Ok(Variant::Empty)
        }
    }
}

fn variable(
    element: &Element,
    scope: Scope<'_>,
    anchor: i64,
    loaded: &mut Loaded,
) -> Result<Body, Wrong> {
    let access_level = number::<u32>(element, "AccessLevel", 1)? as u8;
    let access_level = access_level & (access::READ | access::WRITE);
    let shape = Shape {
        data_type: data_type(element, scope.ids)?,
        value_rank: number(element, "ValueRank", -1)?,
        array_dimensions: dimensions(element)?,
        access_level,
        minimum_sampling_interval: number(element, "MinimumSamplingInterval", 0.0)?,
        range: None,
        zone: 0,
    };
    let encoded = encode::variant(value(element, scope, loaded)?);
    let source = match access_level & access::WRITE != 0 {
        true => {
            let stamp = Stamp {
                status: StatusCode::Good,
                source: anchor,
            };
            let value = RawVariant::parse(&encoded).ok();
            match value.and_then(|value| Scalar::new(&value, stamp)) {
                Some(scalar) => Source::Scalar(scalar),
                None => Source::Blob(Blob::new(Arc::from(encoded), stamp)),
            }
        }
        false => Source::Constant {
            encoded,
            since: anchor,
        },
    };
    Ok(Body::Variable(Box::new(Variable::new(source, shape))))
}
