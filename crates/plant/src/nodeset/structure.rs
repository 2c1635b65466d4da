//! Structures in XML (Part 6, 5.3.6) as the bytes of their Default Binary encoding (Part 6, 5.2.6 to 5.2.8).

use std::cell::Cell;

use wire::types::{
    EnumField, NodeId, StructureDefinition, StructureField, StructureType, VariantScalarTypeId,
};

use super::is_true;
use super::types::Form;
use super::value::{NoValue, Scope, Wrong, inner, scalar, sides};
use super::xml::Element;
use crate::space::encode;

/// Fields in one value, those that it leaves out among them: more is a type that contains itself.
const MOST: u32 = 1_000_000;
/// Structures in structures.
const DEEPEST: u32 = 100;

/// A structure without its TypeId and length.
pub fn bytes(of: &NodeId, body: &Element, scope: Scope<'_>) -> Result<Vec<u8>, NoValue> {
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
        let Some(stranger) = element.children.iter().find(|it| !is_known(it)) else {
            return Ok(());
        };
        let known: Vec<_> = fields.iter().map(|field| field.name.as_ref()).collect();
        let what = format!(
            "{} has no field {} (want {})",
            element.name,
            stranger.name,
            known.join(", ")
        );
        Err(self.unknown(Some(stranger), what))
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

/// A file is never so large that a length would not fit.
fn put_len(len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(len).unwrap_or(-1).to_le_bytes());
}

/// `On_4`, or the number alone (Part 6, 5.3.1.2).
fn enumerated(of: &[EnumField], element: &Element) -> Result<i32, Wrong> {
    let text = element.text.trim();
    let number = text.rsplit('_').next().unwrap_or(text);
    if let Ok(number) = number.parse() {
        return Ok(number);
    }
    let named = of.iter().find(|field| field.name.as_ref() == text);
    let value = named.and_then(|field| i32::try_from(field.value).ok());
    value.ok_or_else(|| {
        let known = of
            .iter()
            .map(|it| format!("{}_{}", it.name.as_ref(), it.value));
        let known: Vec<_> = known.collect();
        let what = format!("{text:?} is none of its values (want {})", known.join(", "));
        (element.line, what)
    })
}

/// The bytes of a field that is left out: zero, or null.
fn nothing(of: VariantScalarTypeId) -> &'static [u8] {
    use VariantScalarTypeId as T;
    match of {
        T::Boolean | T::SByte | T::Byte => &[0],
        T::Int16 | T::UInt16 => &[0; 2],
        T::Int32 | T::UInt32 | T::Float | T::StatusCode => &[0; 4],
        T::Int64 | T::UInt64 | T::Double | T::DateTime => &[0; 8],
        T::String | T::ByteString | T::XmlElement => &[0xff; 4],
        T::Guid => &[0; 16],
        // Two bytes: the form without a namespace, and the identifier.
        T::NodeId | T::ExpandedNodeId => &[0; 2],
        T::QualifiedName => &[0, 0, 0xff, 0xff, 0xff, 0xff],
        // An id, and no body.
        T::ExtensionObject => &[0; 3],
        T::LocalizedText | T::Variant | T::DataValue | T::DiagnosticInfo => &[0],
    }
}
