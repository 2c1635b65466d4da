//! What is known of data types: those of OPC UA, of the plant, and of all files up to now.

use std::collections::{HashMap, HashSet};

use wire::types::{
    DataTypeId, EnumDefinition, EnumField, ExtensionObject, Identifier, NodeId, ReferenceTypeId,
    StructureDefinition, Variant, VariantScalarTypeId,
};

use super::definition::{Definition, definition};
use super::ids::Ids;
use super::leaf::Wrong;
use super::reference::{Reference, references};
use super::xml::Element;
use super::{id_of, is_true};
use crate::space::{Builder, encode, structures};

/// Data types and their encodings.
#[derive(Debug, Default)]
pub struct Types {
    /// The type that each is a subtype of.
    above: HashMap<NodeId, NodeId>,
    /// Structures with all their fields.
    structures: HashMap<NodeId, StructureDefinition>,
    enumerations: HashMap<NodeId, Vec<EnumField>>,
    is_abstract: HashSet<NodeId>,
    /// The encoding Default Binary of each.
    binary: HashMap<NodeId, NodeId>,
    /// The type that an encoding of any kind is of.
    encoded: HashMap<NodeId, NodeId>,
}

/// How a value of a data type is encoded where the type is known.
#[derive(Debug, PartialEq)]
pub enum Form<'a> {
    /// As one of the built-in types.
    BuiltIn(VariantScalarTypeId),
    /// As an Int32.
    Enumeration(&'a [EnumField]),
    /// One field after the other.
    Structure(&'a StructureDefinition),
}

impl Types {
    /// Those that are there before any file.
    pub fn before(builder: &Builder) -> Self {
        let mut types = Self::default();
        for (source, target) in builder.references(&ReferenceTypeId::HasSubtype.into()) {
            types.above.insert(target.clone(), source.clone());
        }
        for (source, target) in builder.references(&ReferenceTypeId::HasEncoding.into()) {
            types.encoded.insert(target.clone(), source.clone());
        }
        for (id, is_abstract, definition) in builder.data_types() {
            if is_abstract {
                types.is_abstract.insert(id.clone());
            }
            let Some(Variant::ExtensionObject(object)) = definition.and_then(encode::decoded)
            else {
                continue;
            };
            if let Some(of) = object.inner_as::<StructureDefinition>() {
                if !of.default_encoding_id.is_null() {
                    let binary = of.default_encoding_id.clone();
                    types.encoded.insert(binary.clone(), id.clone());
                    types.binary.insert(id.clone(), binary);
                }
                types.structures.insert(id.clone(), of.clone());
            } else if let Some(of) = object.inner_as::<EnumDefinition>() {
                let fields = of.fields.clone().unwrap_or_default();
                types.enumerations.insert(id.clone(), fields);
            }
        }
        types
    }

    /// Learns the types of a file, in whatever order they stand there.
    pub fn learn(&mut self, elements: &[&Element], ids: &Ids<'_>) -> Result<(), Wrong> {
        let named = |name: &'static str| elements.iter().filter(move |it| it.name == name);
        for element in named("UADataType") {
            self.place(element, ids)?;
        }
        for element in named("UAObject") {
            self.encoding(element, ids)?;
        }
        let mut own = HashMap::new();
        for element in named("UADataType") {
            let Some(of) = element.child("Definition") else {
                continue;
            };
            let id = id_of(element, "NodeId", ids)?;
            match definition(of, ids)? {
                Definition::Enumeration(fields) => drop(self.enumerations.insert(id, fields)),
                // One without names.
                Definition::Structure(_) if self.is_number(&id) => {
                    self.enumerations.insert(id, Vec::new());
                }
                Definition::Structure(mut of) => {
                    of.default_encoding_id = self.binary.get(&id).cloned().unwrap_or_default();
                    own.insert(id, of);
                }
            }
        }
        structures::complete(&own, &self.above, &mut self.structures);
        Ok(())
    }

    /// Where a data type belongs, and its encodings if it tells of them.
    fn place(&mut self, element: &Element, ids: &Ids<'_>) -> Result<(), Wrong> {
        let id = id_of(element, "NodeId", ids)?;
        if is_true(element, "IsAbstract") {
            self.is_abstract.insert(id.clone());
        }
        for reference in references(element, ids)? {
            if reference.kind == ReferenceTypeId::HasSubtype {
                let (below, above) = match reference.forward {
                    true => (reference.other, id.clone()),
                    false => (id.clone(), reference.other),
                };
                self.above.insert(below, above);
            } else if reference.kind == ReferenceTypeId::HasEncoding && reference.forward {
                self.encoded.insert(reference.other, id.clone());
            }
        }
        Ok(())
    }

    /// An encoding of a data type, if the object is one.
    fn encoding(&mut self, element: &Element, ids: &Ids<'_>) -> Result<(), Wrong> {
        let is_encoding = |it: &Reference| !it.forward && it.kind == ReferenceTypeId::HasEncoding;
        let id = id_of(element, "NodeId", ids)?;
        let of = references(element, ids)?.into_iter().find(is_encoding);
        if let Some(of) = of {
            self.encoded.insert(id.clone(), of.other);
        }
        let name = element.attribute("BrowseName").unwrap_or_default();
        let is_binary = name == "Default Binary" || name.ends_with(":Default Binary");
        if let (true, Some(of)) = (is_binary, self.encoded.get(&id)) {
            self.binary.insert(of.clone(), id);
        }
        Ok(())
    }

    /// The attribute DataTypeDefinition.
    pub fn definition(&self, id: &NodeId) -> Option<Variant> {
        if let Some(fields) = self.enumerations.get(id) {
            let fields = Some(fields.clone());
            return Some(ExtensionObject::from_message(EnumDefinition { fields }).into());
        }
        let structure = self.structures.get(id)?;
        Some(ExtensionObject::from_message(structure.clone()).into())
    }

    /// The data type that an encoding is of; a data type itself is taken for its own.
    pub fn of_encoding(&self, id: &NodeId) -> Option<&NodeId> {
        let of = self.encoded.get(id);
        of.or_else(|| Some(self.above.get_key_value(id)?.0))
    }

    /// The encoding that values in messages have.
    pub fn binary(&self, of: &NodeId) -> Option<&NodeId> {
        self.binary.get(of)
    }

    /// How values are encoded; none if that is not known.
    pub fn form(&self, of: &NodeId) -> Option<Form<'_>> {
        for at in structures::line(of, &self.above) {
            if let Some(fields) = self.enumerations.get(at).filter(|_| self.is_number(at)) {
                return Some(Form::Enumeration(fields));
            }
            if at == &DataTypeId::Structure {
                // Which fields a structure has that nobody described, nobody knows.
                let itself = at == of;
                return itself.then_some(Form::BuiltIn(VariantScalarTypeId::ExtensionObject));
            }
            if let Some(structure) = self.structures.get(at) {
                // Part 6, 5.2.6: what is abstract says which structure it is.
                return Some(match self.is_abstract.contains(of) {
                    true => Form::BuiltIn(VariantScalarTypeId::ExtensionObject),
                    false => Form::Structure(structure),
                });
            }
            if at == &DataTypeId::Enumeration {
                return Some(Form::Enumeration(&[]));
            }
            let is_abstract_number = [
                DataTypeId::Number,
                DataTypeId::Integer,
                DataTypeId::UInteger,
            ]
            .iter()
            .any(|number| at == number);
            if is_abstract_number {
                // A Decimal is a number, too, and none of the built-in ones.
                let itself = self.is_abstract.contains(of);
                return itself.then_some(Form::BuiltIn(VariantScalarTypeId::Variant));
            }
            if let Some(built_in) = built_in(at) {
                return Some(Form::BuiltIn(built_in));
            }
        }
        None
    }

    /// Whether a type is below Enumeration: option sets have fields with values as well.
    fn is_number(&self, of: &NodeId) -> bool {
        structures::line(of, &self.above).any(|at| at == &DataTypeId::Enumeration)
    }
}

/// The built-in types have the first ids of OPC UA (Part 6, 5.1.2).
fn built_in(id: &NodeId) -> Option<VariantScalarTypeId> {
    match id.identifier {
        Identifier::Numeric(number @ 1..=25) if id.namespace == 0 => {
            VariantScalarTypeId::try_from(number).ok()
        }
        _ => None,
    }
}
