//! What a DataSet is (DataSetMetaDataType, Part 14, 6.2.3.2.3).

use wire::template::walk::BuiltInType;

use super::walk::{
    array, put_count, put_node_id, put_null, put_string, skip_array, skip_localized_text,
    skip_node_id, skip_octets, skip_properties, skip_qualified_name, string,
};
use crate::cursor::Cursor;
use crate::encode::EncodeError;
use crate::error::DecodeError;
use crate::raw::RawType;

/// Describes a DataSet. Structures and enumerations that it may describe as well are passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetaData {
    /// Its name.
    pub name: String,
    /// Its fields, in their order.
    pub fields: Vec<FieldMetaData>,
    /// Its class: a Guid as it is on the wire.
    pub class_id: [u8; 16],
    /// Version: what fields there are.
    pub major_version: u32,
    /// Version: smaller changes.
    pub minor_version: u32,
}

/// Describes a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldMetaData {
    /// Its name.
    pub name: String,
    /// The number of its built-in type.
    pub built_in_type: u8,
    /// Scalar (-1), an array, or of how many dimensions.
    pub value_rank: i32,
    /// The dimensions; 0 where one is not fixed.
    pub dimensions: Vec<u32>,
    /// The greatest length of a String; 0 says nothing.
    pub max_string_length: u32,
    /// Whether it stands before the payload as well.
    pub promoted: bool,
    /// Names it for good: a Guid as it is on the wire.
    pub id: [u8; 16],
}

const GUID: &str = "Guid";

impl MetaData {
    /// Reads one that stands alone, as the value of a node.
    ///
    /// # Errors
    /// It is no DataSetMetaDataType.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::read(&mut Cursor::new(bytes))
    }

    pub(crate) fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        skip_array(c, 4, "namespaces", |c| skip_octets(c, "namespace"))?;
        skip_array(c, 14, "structures", skip_structure)?;
        skip_array(c, 13, "enumerations", skip_enumeration)?;
        skip_array(c, 11, "simple types", skip_simple_type)?;
        let name = string(c, "name of a DataSet")?;
        skip_localized_text(c)?;
        Ok(Self {
            name,
            fields: array(c, 42, "fields", FieldMetaData::read)?,
            class_id: c.array(GUID)?,
            major_version: c.u32("MajorVersion")?,
            minor_version: c.u32("MinorVersion")?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        for _ in 0..4 {
            put_null(out);
        }
        put_string(&self.name, out)?;
        out.push(0);
        put_count(self.fields.len(), "fields", out)?;
        for field in &self.fields {
            field.write(out)?;
        }
        out.extend(self.class_id);
        out.extend(self.major_version.to_le_bytes());
        out.extend(self.minor_version.to_le_bytes());
        Ok(())
    }

    /// What RawData of it looks like; none if a field is of a type that RawData cannot have.
    pub fn raw_types(&self) -> Option<Vec<RawType>> {
        self.fields.iter().map(FieldMetaData::raw_type).collect()
    }
}

impl FieldMetaData {
    /// A scalar.
    pub fn scalar(name: String, kind: BuiltInType) -> Self {
        Self {
            name,
            built_in_type: kind as u8,
            value_rank: -1,
            ..Self::default()
        }
    }

    fn raw_type(&self) -> Option<RawType> {
        let kind = BuiltInType::of_id(self.built_in_type)?;
        let dimensions = match (self.value_rank, self.dimensions.is_empty()) {
            (-1, _) => Vec::new(),
            (1.., false) => self.dimensions.clone(),
            // Nobody says how long it is.
            (rank @ 1.., true) => vec![0; usize::try_from(rank).ok().filter(|it| *it <= 16)?],
            // One or more dimensions, or perhaps none.
            _ => return None,
        };
        let of = RawType {
            kind,
            max_string_length: self.max_string_length,
            dimensions,
        };
        of.is_allowed().then_some(of)
    }

    fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let name = string(c, "name of a field")?;
        skip_localized_text(c)?;
        let flags = c.u16("FieldFlags")?;
        let built_in_type = c.u8("BuiltInType")?;
        skip_node_id(c)?;
        let field = Self {
            name,
            built_in_type,
            value_rank: c.array("ValueRank").map(i32::from_le_bytes)?,
            dimensions: dimensions(c)?,
            max_string_length: c.u32("MaxStringLength")?,
            promoted: flags & 1 != 0,
            id: c.array(GUID)?,
        };
        skip_properties(c)?;
        Ok(field)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_string(&self.name, out)?;
        out.push(0);
        out.extend(u16::from(self.promoted).to_le_bytes());
        out.push(self.built_in_type);
        // The data type of a built-in type has its number.
        put_node_id(self.built_in_type.into(), out);
        out.extend(self.value_rank.to_le_bytes());
        match self.dimensions.as_slice() {
            [] => put_null(out),
            all => {
                put_count(all.len(), "dimensions", out)?;
                out.extend(all.iter().flat_map(|it| it.to_le_bytes()));
            }
        }
        out.extend(self.max_string_length.to_le_bytes());
        out.extend(self.id);
        put_null(out);
        Ok(())
    }
}

fn dimensions(c: &mut Cursor<'_>) -> Result<Vec<u32>, DecodeError> {
    array(c, 4, "ArrayDimensions", |c| c.u32("ArrayDimensions"))
}

/// StructureDescription.
fn skip_structure(c: &mut Cursor<'_>) -> Result<(), DecodeError> {
    skip_node_id(c)?;
    skip_qualified_name(c)?;
    skip_node_id(c)?;
    skip_node_id(c)?;
    c.u32("StructureType")?;
    skip_array(c, 20, "fields of a Structure", |c| {
        skip_octets(c, "name of a field")?;
        skip_localized_text(c)?;
        skip_node_id(c)?;
        c.u32("ValueRank")?;
        skip_array(c, 4, "ArrayDimensions", |c| {
            c.u32("ArrayDimensions").map(drop)
        })?;
        c.u32("MaxStringLength")?;
        c.u8("IsOptional").map(drop)
    })
}

/// EnumDescription.
fn skip_enumeration(c: &mut Cursor<'_>) -> Result<(), DecodeError> {
    skip_node_id(c)?;
    skip_qualified_name(c)?;
    skip_array(c, 14, "fields of an Enumeration", |c| {
        c.i64("Value")?;
        skip_localized_text(c)?;
        skip_localized_text(c)?;
        skip_octets(c, "name of a field")
    })?;
    c.u8("BuiltInType").map(drop)
}

/// SimpleTypeDescription.
fn skip_simple_type(c: &mut Cursor<'_>) -> Result<(), DecodeError> {
    skip_node_id(c)?;
    skip_qualified_name(c)?;
    skip_node_id(c)?;
    c.u8("BuiltInType").map(drop)
}
