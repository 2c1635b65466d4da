//! One node of a file, with its references.

use std::sync::Arc;

use wire::types::{DataTypeId, LocalizedText, NodeId, ReferenceTypeId, StatusCode, Variant};

use super::definition::{Known, definition};
use super::ids::Ids;
use super::value::{Wrong, localized, variant};
use super::xml::Element;
use super::{Loaded, dimensions, id_of};
use crate::space::node::VariableType;
use crate::space::value::{Blob, Scalar};
use crate::space::{
    Body, Builder, FullNames, Names, Node, Shape, Source, Stamp, Variable, access, encode,
};
use wire::template::walk::RawVariant;

/// A reference of a node: its type, its other end, and whether it goes there.
struct Reference {
    kind: NodeId,
    other: NodeId,
    forward: bool,
}

fn references(element: &Element, ids: &Ids<'_>) -> Result<Vec<Reference>, Wrong> {
    let all = element.child("References");
    let all = all.map_or(&[][..], |all| all.children.as_slice());
    let read = |it: &Element| {
        Ok(Reference {
            kind: id_of(it, "ReferenceType", ids)?,
            other: ids.of(&it.text, it.line)?,
            forward: it.attribute("IsForward") != Some("false"),
        })
    };
    all.iter().map(read).collect()
}

/// Notes which data type an encoding is of, before definitions are made that name it.
pub fn encoding(element: &Element, ids: &Ids<'_>, known: &mut Known) -> Result<(), Wrong> {
    let is_binary = |name: &str| name == "Default Binary" || name.ends_with(":Default Binary");
    if element.name != "UAObject" || !element.attribute("BrowseName").is_some_and(is_binary) {
        return Ok(());
    }
    let id = id_of(element, "NodeId", ids)?;
    let kind = NodeId::from(ReferenceTypeId::HasEncoding);
    for reference in references(element, ids)? {
        if reference.kind == kind && !reference.forward {
            known.encodings.insert(reference.other, id.clone());
        }
    }
    Ok(())
}

/// Adds a node and its references.
pub fn node(
    element: &Element,
    ids: &Ids<'_>,
    known: &mut Known,
    builder: &mut Builder,
    loaded: &mut Loaded,
) -> Result<(), Wrong> {
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
    let above = references
        .iter()
        .find(|it| !it.forward && it.kind == ReferenceTypeId::HasSubtype);
    let is_abstract = element.attribute("IsAbstract") == Some("true");
    let event_notifier = number(element, "EventNotifier", 0)?;
    let body = match element.name.as_str() {
        "UAObject" => Body::Object { event_notifier },
        "UAVariable" => variable(element, ids, builder.anchor(), loaded)?,
        "UAMethod" => Body::Method {
            executable: true,
            // What it does nobody has said: it answers BadNotImplemented.
            method: None,
            zone: 0,
        },
        "UAObjectType" => Body::ObjectType { is_abstract },
        "UAVariableType" => {
            let value = value(element, ids, loaded)?;
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
            symmetric: element.attribute("Symmetric") == Some("true"),
            inverse_name: element
                .child("InverseName")
                .map(|name| Box::new(localized(name))),
        },
        "UADataType" => Body::DataType {
            is_abstract,
            definition: match element.child("Definition") {
                Some(of) => {
                    let above = above.map(|it| &it.other);
                    let object = definition(of, &id, above, ids, known)?;
                    Some(encode::variant(Variant::ExtensionObject(object)))
                }
                None => None,
            },
        },
        "UAView" => Body::View {
            event_notifier,
            contains_no_loops: element.attribute("ContainsNoLoops") == Some("true"),
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
        if known.references.insert(edge) {
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

fn value(element: &Element, ids: &Ids<'_>, loaded: &mut Loaded) -> Result<Variant, Wrong> {
    match element
        .child("Value")
        .and_then(|value| value.children.first())
    {
        Some(inside) => variant(inside, ids, &mut loaded.left_out),
        None => Ok(Variant::Empty),
    }
}

fn variable(
    element: &Element,
    ids: &Ids<'_>,
    anchor: i64,
    loaded: &mut Loaded,
) -> Result<Body, Wrong> {
    let access_level = number::<u32>(element, "AccessLevel", 1)? as u8;
    let access_level = access_level & (access::READ | access::WRITE);
    let shape = Shape {
        data_type: data_type(element, ids)?,
        value_rank: number(element, "ValueRank", -1)?,
        array_dimensions: dimensions(element)?,
        access_level,
        minimum_sampling_interval: number(element, "MinimumSamplingInterval", 0.0)?,
        range: None,
        zone: 0,
    };
    let encoded = encode::variant(value(element, ids, loaded)?);
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
