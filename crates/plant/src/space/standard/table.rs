//! The nodes of the standard as a table of bytes, which `tools/address-space` writes.
//!
//! It is a zlib stream of little-endian numbers: how many nodes there are, then each node: its id, its class
//! (Part 3, 8.29), its browse name, its display name (none when it is the same), its description, what its class adds
//! (see [`Table::body`]), and its references: how many, then for each whether it is forward, its type and its other
//! end. All ids are numbers of the standard namespace. Texts, arrays and encoded Variants have their length in
//! bytes before them; [`u32::MAX`] says that there is none.

#![allow(
    clippy::expect_used,
    reason = "the table is a part of the program, and a test reads all of it"
)]

use std::io::Read as _;

use wire::types::{LocalizedText, NodeClass, NodeId, QualifiedName};

use super::super::node::{Body, FullNames, Names, Node, Shape, Variable, VariableType, access};
use super::super::value::Source;

static BYTES: &[u8] = include_bytes!("table.bin");

/// What stands where a length would be when there is nothing.
const NONE: u32 = u32::MAX;

/// A node with its references.
pub struct Entry {
    pub node: Node,
    pub references: Vec<Reference>,
}

/// A reference as its node has it.
pub struct Reference {
    pub forward: bool,
    pub kind: NodeId,
    pub other: NodeId,
}

/// All nodes of the table. `since` is when their values came to be.
pub fn entries(since: i64) -> impl Iterator<Item = Entry> {
    let mut table = Table::unpacked();
    let nodes = table.u32();
    (0..nodes).map(move |_| table.entry(since))
}

/// What was not read yet.
struct Table {
    bytes: Vec<u8>,
    at: usize,
}

impl Table {
    fn unpacked() -> Self {
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(BYTES)
            .read_to_end(&mut bytes)
            .expect("the table was written whole");
        Self { bytes, at: 0 }
    }

    fn take(&mut self, length: usize) -> &[u8] {
        let from = self.at;
        self.at += length;
        &self.bytes[from..self.at]
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N));
        array
    }

    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    fn bool(&mut self) -> bool {
        self.u8() != 0
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn id(&mut self) -> NodeId {
        NodeId::new(0, self.u32())
    }

    fn blob(&mut self) -> Option<&[u8]> {
        match self.u32() {
            NONE => None,
            length => Some(self.take(length as usize)),
        }
    }

    fn text(&mut self) -> Option<&str> {
        let blob = self.blob()?;
        Some(std::str::from_utf8(blob).expect("texts are UTF-8"))
    }

    fn localized(&mut self) -> Option<LocalizedText> {
        self.text().map(LocalizedText::from)
    }

    fn value(&mut self) -> Option<Box<[u8]>> {
        self.blob().map(Box::from)
    }

    fn entry(&mut self, since: i64) -> Entry {
        let id = self.id();
        let class = NodeClass::try_from(i32::from(self.u8())).expect("a class of Part 3");
        let name = self.text().unwrap_or_default().to_owned();
        let names = FullNames {
            display_name: self
                .localized()
                .unwrap_or_else(|| LocalizedText::from(name.as_str())),
            description: self.localized(),
            browse_name: QualifiedName::new(0, name),
        };
        let body = self.body(class, since);
        let references = (0..self.u32()).map(|_| Reference {
            forward: self.bool(),
            kind: self.id(),
            other: self.id(),
        });
        let references = references.collect();
        Entry {
            node: Node {
                id,
                names: Names::Full(Box::new(names)),
                body,
            },
            references,
        }
    }

    fn body(&mut self, class: NodeClass, since: i64) -> Body {
        match class {
            NodeClass::Object => Body::Object {
                event_notifier: self.u8(),
            },
            NodeClass::Variable => {
                let shape = Shape {
                    data_type: self.id(),
                    value_rank: self.rank(),
                    array_dimensions: self.dimensions(),
                    // What the server says of itself is not for others to write.
                    access_level: access::READ,
                    minimum_sampling_interval: f64::from_le_bytes(self.array()),
                    range: None,
                    zone: 0,
                };
                let encoded = self.value().expect("a variable has a value");
                Body::Variable(Box::new(Variable::new(
                    Source::Constant { encoded, since },
                    shape,
                )))
            }
            NodeClass::Method => Body::Method {
                executable: false,
                method: None,
                zone: 0,
            },
            NodeClass::ObjectType => Body::ObjectType {
                is_abstract: self.bool(),
            },
            NodeClass::VariableType => Body::VariableType(Box::new(VariableType {
                data_type: self.id(),
                value_rank: self.rank(),
                array_dimensions: self.dimensions(),
                is_abstract: self.bool(),
                value: self.value(),
            })),
            NodeClass::ReferenceType => Body::ReferenceType {
                is_abstract: self.bool(),
                symmetric: self.bool(),
                inverse_name: self.localized().map(Box::new),
            },
            NodeClass::DataType => Body::DataType {
                is_abstract: self.bool(),
                definition: self.value(),
            },
            NodeClass::View | NodeClass::Unspecified => {
                unreachable!("the standard has no such node")
            }
        }
    }

    fn rank(&mut self) -> i32 {
        i32::from_le_bytes(self.array())
    }

    fn dimensions(&mut self) -> Option<Vec<u32>> {
        let blob = self.blob()?;
        let all = blob.chunks_exact(4).map(|it| {
            let it = it.try_into().expect("four bytes each");
            u32::from_le_bytes(it)
        });
        Some(all.collect())
    }
}
