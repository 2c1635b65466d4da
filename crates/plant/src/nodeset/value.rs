//! Values in XML (Part 6, 5.3) as Variants; structures among them (Part 6, 5.3.6) as the bytes of their Default Binary
//! encoding (Part 6, 5.2.6 to 5.2.8).

use std::cell::Cell;
use std::str::FromStr;

use wire::types::{
    Array, ByteString, ByteStringBody, ExpandedNodeId, ExtensionObject, Guid, NodeId,
    QualifiedName, StatusCode, StructureDefinition, StructureField, StructureType, UAString,
    Variant, VariantScalarTypeId, XmlElement,
};

use super::ids::Ids;
use super::is_true;
use super::leaf::{
    Wrong, bytes, enumerated, identifier, kind, localized, nothing, number, put_len, real, time,
};
use super::types::{Form, Types};
use super::xml::Element;
use crate::space::encode;

/// Fields in one value, those that it leaves out among them: more is a type that contains itself.
const MOST: u32 = 1_000_000;
/// Structures in structures.
const DEEPEST: u32 = 100;

/// Why there is no value.
#[derive(Debug)]
pub enum NoValue {
    /// The file is wrong.
    Wrong(Wrong),
    /// Too little is known to read it; the place and what is missing.
    Unknown(Wrong),
}

impl From<Wrong> for NoValue {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

/// What the names and ids in values mean.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Ids of the file.
    pub ids: &'a Ids<'a>,
    /// Data types of this file and of those before it.
    pub types: &'a Types,
}

/// What stands in a Value.
pub fn variant(element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    if let Some(of) = element.name.strip_prefix("ListOf") {
        let kind = known(of, element)?;
        let values = list(of, kind, &element.children, scope)?;
        let array = Array::new(kind, values);
        let array = array.map_err(|error| (element.line, format!("{}: {error}", element.name)))?;
        return Ok(array.into());
    }
    match element.name.as_str() {
        "Variant" => inner(element, scope),
        "Matrix" => matrix(element, scope),
        name => scalar(name, element, scope),
    }
}

fn list(
    of: &str,
    kind: VariantScalarTypeId,
    elements: &[Element],
    scope: Scope<'_>,
) -> Result<Vec<Variant>, NoValue> {
    let one = |element: &Element| match kind {
        VariantScalarTypeId::Variant => Ok(Variant::Variant(Box::new(inner(element, scope)?))),
        _ => scalar(of, element, scope),
    };
    elements.iter().map(one).collect()
}

/// `<Matrix><Dimensions><Int32>2</Int32>…</Dimensions><Elements><Double>1</Double>…</Elements></Matrix>`.
fn matrix(element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    let (dimensions, elements) = sides(element)?;
    let Some(first) = elements.first() else {
        return Err(NoValue::Wrong((
            element.line,
            "a Matrix without Elements".to_owned(),
        )));
    };
    let kind = known(&first.name, first)?;
    let values = list(&first.name, kind, elements, scope)?;
    let array = Array::new_multi(kind, values, dimensions);
    let array = array.map_err(|error| (element.line, format!("Matrix: {error}")))?;
    Ok(array.into())
}

/// The Dimensions of a matrix and its Elements.
pub fn sides(element: &Element) -> Result<(Vec<u32>, &[Element]), Wrong> {
    let inside = |name: &str| {
        element
            .child(name)
            .map_or(&[][..], |it| it.children.as_slice())
    };
    let dimensions: Result<Vec<u32>, _> = inside("Dimensions")
        .iter()
        .map(|it| number(it, "dimension"))
        .collect();
    let (dimensions, elements) = (dimensions?, inside("Elements"));
    let count = dimensions
        .iter()
        .try_fold(1u32, |count, &one| count.checked_mul(one));
    match count {
        Some(count) if count as usize == elements.len() => Ok((dimensions, elements)),
        _ => {
            let there = elements.len();
            Err((
                element.line,
                format!("a matrix of {dimensions:?} with {there} Elements"),
            ))
        }
    }
}

/// `<Variant><Value><Int32>5</Int32></Value></Variant>`.
pub fn inner(element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    let value = element.child("Value").and_then(|it| it.children.first());
    match value {
        Some(value) => variant(value, scope),
        None => Ok(Variant::Empty),
    }
}

fn known(name: &str, element: &Element) -> Result<VariantScalarTypeId, NoValue> {
    kind(name).ok_or_else(|| unread(name, element))
}

fn unread(name: &str, element: &Element) -> NoValue {
    let what = format!(
        "{name} is none of the types that a Value has (Part 6, 5.3.1: a built-in type, or a structure in an ExtensionObject)"
    );
    NoValue::Unknown((element.line, what))
}

/// A value of the built-in type of this name.
pub fn scalar(name: &str, element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    let ids = scope.ids;
    Ok(match name {
        "Boolean" => match element.text.as_str() {
            "true" | "1" => true.into(),
            "false" | "0" => false.into(),
            other => {
                let what = format!("{other:?} is no Boolean (want true or false)");
                return Err((element.line, what).into());
            }
        },
        "SByte" => number::<i8>(element, name)?.into(),
        "Byte" => number::<u8>(element, name)?.into(),
        "Int16" => number::<i16>(element, name)?.into(),
        "UInt16" => number::<u16>(element, name)?.into(),
        "Int32" => number::<i32>(element, name)?.into(),
        "UInt32" => number::<u32>(element, name)?.into(),
        "Int64" => number::<i64>(element, name)?.into(),
        "UInt64" => number::<u64>(element, name)?.into(),
        "Float" => (real(element, name)? as f32).into(),
        "Double" => real(element, name)?.into(),
        "String" => UAString::from(element.text.as_str()).into(),
        "DateTime" => time(element)?.into(),
        "Guid" => {
            let text = match element.child("String") {
                Some(child) => child.text.as_str(),
                None => element.text.as_str(),
            };
            let guid = Guid::from_str(text);
            guid.map_err(|_| (element.line, format!("{text:?} is no Guid")))?
                .into()
        }
        "ByteString" => bytes(element)?.into(),
        "XmlElement" => Variant::XmlElement(XmlElement::from(element.text.as_str())),
        "NodeId" => ids.of(identifier(element), element.line)?.into(),
        "ExpandedNodeId" => ExpandedNodeId::from(ids.of(identifier(element), element.line)?).into(),
        "StatusCode" => {
            let code = element.child("Code").unwrap_or(element);
            StatusCode::from(number::<u32>(code, "status code")?).into()
        }
        "QualifiedName" => {
            let index = match element.child("NamespaceIndex") {
                Some(index) => ids.namespace(number(index, "namespace index")?, index.line)?,
                None => 0,
            };
            QualifiedName::new(index, element.text_of("Name")).into()
        }
        "LocalizedText" => localized(element).into(),
        "ExtensionObject" => extension(element, scope)?.into(),
        // A structure or enumeration by its own name, or what nobody knows.
        _ => return Err(unread(name, element)),
    })
}

/// A structure, in bytes already or field by field.
fn extension(element: &Element, scope: Scope<'_>) -> Result<ExtensionObject, NoValue> {
    let Some(body) = element.child("Body").and_then(|body| body.children.first()) else {
        return Ok(ExtensionObject::null());
    };
    let (id, written) = match element.child("TypeId") {
        Some(id) => (scope.ids.of(identifier(id), id.line)?, identifier(id)),
        None => (NodeId::null(), ""),
    };
    if body.name == "ByteString" {
        return Ok(ExtensionObject::new(ByteStringBody::new(bytes(body)?, id)));
    }
    let unknown = |what: String| NoValue::Unknown((body.line, what));
    let Some(of) = scope.types.of_encoding(&id) else {
        let what = format!(
            "{written:?}, the TypeId of {}, is neither a data type nor its encoding",
            body.name
        );
        return Err(unknown(what));
    };
    let Some(binary) = scope.types.binary(of) else {
        let what = format!(
            "the data type of {} has no encoding \"Default Binary\"",
            body.name
        );
        return Err(unknown(what));
    };
    let bytes = structure(of, body, scope)?;
    let body = ByteStringBody::new(ByteString::from(bytes), binary.clone());
    Ok(ExtensionObject::new(body))
}

/// A structure without its TypeId and length.
fn structure(of: &NodeId, body: &Element, scope: Scope<'_>) -> Result<Vec<u8>, NoValue> {
    let writing = Writing {
        scope,
        body,
        fields: Cell::new(0),
    };
    let Form::Structure(of) = writing.form(of, false, body)? else {
        let what = format!("{} is no structure, or an abstract one", body.name);
        return Err(writing.unknown(Some(body), what));
    };
    let mut out = Vec::new();
    writing.structure(of, Some(body), 0, &mut out)?;
    Ok(out)
}

/// A value on its way from XML to bytes.
struct Writing<'a> {
    scope: Scope<'a>,
    /// All of it, for what is said of it.
    body: &'a Element,
    /// Fields so far.
    fields: Cell<u32>,
}

impl<'a> Writing<'a> {
    fn unknown(&self, element: Option<&Element>, what: String) -> NoValue {
        NoValue::Unknown((element.unwrap_or(self.body).line, what))
    }

    /// How a field is encoded; one that may have subtypes of its data type says which (Part 6, 5.2.6).
    fn form(&self, of: &NodeId, subtyped: bool, element: &Element) -> Result<Form<'a>, NoValue> {
        use VariantScalarTypeId as T;
        let object = Form::BuiltIn(T::ExtensionObject);
        match self.scope.types.form(of) {
            Some(Form::Structure(_)) if subtyped => Ok(object),
            Some(form) if subtyped && form != object => Ok(Form::BuiltIn(T::Variant)),
            Some(form) => Ok(form),
            None => {
                let what = format!(
                    "what the data type of {} is made of stands in no file",
                    element.name
                );
                Err(self.unknown(Some(element), what))
            }
        }
    }

    fn value(
        &self,
        form: &Form<'_>,
        element: Option<&Element>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NoValue> {
        match (form, element) {
            (Form::Structure(of), _) => self.structure(of, element, depth, out),
            (Form::BuiltIn(of), None) => {
                out.extend_from_slice(nothing(*of));
                Ok(())
            }
            (Form::Enumeration(_), None) => {
                out.extend_from_slice(&[0; 4]);
                Ok(())
            }
            (Form::Enumeration(of), Some(element)) => {
                out.extend_from_slice(&enumerated(of, element)?.to_le_bytes());
                Ok(())
            }
            (Form::BuiltIn(VariantScalarTypeId::Variant), Some(element)) => {
                encode::encode(&inner(element, self.scope)?, out);
                Ok(())
            }
            (Form::BuiltIn(of), Some(element)) => {
                let value = scalar(&of.to_string(), element, self.scope)?;
                // Where the type is known it is left out.
                let encoded = encode::encoded(&value);
                out.extend_from_slice(encoded.get(1..).unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Its fields; without an element all of them are left out.
    fn structure(
        &self,
        of: &StructureDefinition,
        element: Option<&Element>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NoValue> {
        if depth == DEEPEST {
            return Err(self.unknown(element, "its data type contains itself".to_owned()));
        }
        let fields = of.fields.as_deref().unwrap_or_default();
        if let Some(element) = element {
            self.only_fields(fields, element)?;
        }
        let given = |field: &StructureField| {
            let found = element?.child(field.name.as_ref());
            found.filter(|it| !is_true(it, "nil"))
        };
        let kind = of.structure_type;
        if matches!(
            kind,
            StructureType::Union | StructureType::UnionWithSubtypedValues
        ) {
            // Part 6, 5.2.8: the number of the field, from 1 on, and the field.
            let set = (1u32..)
                .zip(fields)
                .find(|(_, field)| given(field).is_some());
            let switch = set.map_or(0, |(n, _)| n);
            out.extend_from_slice(&switch.to_le_bytes());
            return match set {
                Some((_, field)) => self.field(field, kind, given(field), depth, out),
                None => Ok(()),
            };
        }
        let left_out = |field: &StructureField| {
            let has_mask = kind == StructureType::StructureWithOptionalFields;
            has_mask && field.is_optional && given(field).is_none()
        };
        if kind == StructureType::StructureWithOptionalFields {
            // Part 6, 5.2.7: a bit for each optional field that is there.
            let optional = fields.iter().filter(|field| field.is_optional);
            let mask = (0u32..32).zip(optional).fold(0u32, |mask, (bit, field)| {
                mask | u32::from(given(field).is_some()) << bit
            });
            out.extend_from_slice(&mask.to_le_bytes());
        }
        for field in fields.iter().filter(|field| !left_out(field)) {
            self.field(field, kind, given(field), depth, out)?;
        }
        Ok(())
    }

    /// A file may be made for another version of a type.
    fn only_fields(&self, fields: &[StructureField], element: &Element) -> Result<(), NoValue> {
        let is_known = |it: &Element| {
            ["EncodingMask", "SwitchField"].contains(&it.name.as_str())
                || fields.iter().any(|field| field.name.as_ref() == it.name)
        };
        let Some(unknown) = element.children.iter().find(|it| !is_known(it)) else {
            return Ok(());
        };
        let known: Vec<_> = fields.iter().map(|field| field.name.as_ref()).collect();
        let what = format!(
            "{} has no field {} (want {})",
            element.name,
            unknown.name,
            known.join(", ")
        );
        Err(self.unknown(Some(unknown), what))
    }

    fn field(
        &self,
        field: &StructureField,
        kind: StructureType,
        element: Option<&Element>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NoValue> {
        self.fields.set(self.fields.get() + 1);
        if self.fields.get() > MOST {
            let what = format!("it has more than {MOST} fields");
            return Err(self.unknown(element, what));
        }
        let subtyped = matches!(
            kind,
            StructureType::StructureWithSubtypedValues | StructureType::UnionWithSubtypedValues
        );
        let subtyped = subtyped && field.is_optional;
        let form = self.form(&field.data_type, subtyped, element.unwrap_or(self.body))?;
        let depth = depth + 1;
        match field.value_rank {
            -1 => self.value(&form, element, depth, out),
            0 | 1 => {
                let Some(element) = element else {
                    out.extend_from_slice(&(-1i32).to_le_bytes());
                    return Ok(());
                };
                put_len(element.children.len(), out);
                self.each(&form, &element.children, depth, out)
            }
            2.. => {
                // Part 6, 5.2.5: the dimensions as an array, then all values.
                let (dimensions, values) = match element {
                    Some(element) => sides(element)?,
                    None => (vec![0; field.value_rank.clamp(2, 100) as usize], &[][..]),
                };
                put_len(dimensions.len(), out);
                for dimension in dimensions {
                    out.extend_from_slice(&dimension.to_le_bytes());
                }
                self.each(&form, values, depth, out)
            }
            rank => {
                let what = format!("fields of ValueRank {rank} have no encoding");
                Err(self.unknown(element, what))
            }
        }
    }

    fn each(
        &self,
        form: &Form<'_>,
        elements: &[Element],
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), NoValue> {
        let mut each = elements.iter();
        each.try_for_each(|element| self.value(form, Some(element), depth, out))
    }
}
