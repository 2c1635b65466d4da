//! NodeIds and QualifiedNames out of their texts (Part 6, 5.1.12), and of the objects that they were before 1.05.04.

use super::read::{Reader, Result, wrong};
use super::read_value::{base64, guid, integer, text};
use super::scan::{Kind as Is, Value};
use crate::service::Kind;

impl<'a> Reader<'a> {
    /// Part 6, 5.1.12; of a NodeId without a namespace URI, as the table that it would be looked up in is not here.
    pub(super) fn node_id(&mut self, kind: Kind, value: Value<'a>) -> Result<()> {
        if value.kind() == Is::Object {
            return self.old_node_id(kind, value);
        }
        let written = text(kind, value)?;
        let mut rest = &*written;
        let (mut server, mut uri) = (None, None);
        let fail = || wrong(kind, value);
        if kind == Kind::ExpandedNodeId {
            if let Some(after) = rest.strip_prefix("svr=") {
                let (number, after) = after.split_once(';').ok_or_else(fail)?;
                server = Some(number.parse::<u32>().map_err(|_| fail())?);
                rest = after;
            }
            if let Some(after) = rest.strip_prefix("nsu=") {
                let (name, after) = after.split_once(';').ok_or_else(fail)?;
                uri = Some(
                    name.replace("%3B", ";")
                        .replace("%3b", ";")
                        .replace("%25", "%"),
                );
                rest = after;
            }
        }
        let space = match rest.strip_prefix("ns=") {
            None => 0,
            Some(after) => {
                let (number, after) = after.split_once(';').ok_or_else(fail)?;
                rest = after;
                number.parse::<u16>().map_err(|_| fail())?
            }
        };
        let mut flags = 0;
        flags |= if uri.is_some() { 0x80 } else { 0 };
        flags |= if server.is_some() { 0x40 } else { 0 };
        let (form, id) = rest.split_at_checked(2).ok_or_else(fail)?;
        match form {
            "i=" => self.numeric(flags, space, id.parse().map_err(|_| fail())?),
            "s=" => {
                self.long_id(flags | 3, space);
                self.string(id)?;
            }
            "g=" => {
                let bytes = guid(id).ok_or_else(fail)?;
                self.long_id(flags | 4, space);
                self.put(&bytes);
            }
            "b=" => {
                self.long_id(flags | 5, space);
                self.sized(|reader| base64(kind, value, id, &mut reader.out))?;
            }
            _ => return Err(fail()),
        }
        if let Some(uri) = uri {
            self.string(&uri)?;
        }
        if let Some(server) = server {
            self.put(&server.to_le_bytes());
        }
        Ok(())
    }

    /// The shortest of the three forms of a numeric id (Part 6, 5.2.2.9).
    pub(super) fn numeric(&mut self, flags: u8, space: u16, id: u32) {
        match (u8::try_from(space), u16::try_from(id)) {
            (Ok(0), Ok(id @ 0..=0xff)) => self.put(&[flags, id.to_le_bytes()[0]]),
            (Ok(space), Ok(id)) => {
                let [low, high] = id.to_le_bytes();
                self.put(&[flags | 1, space, low, high]);
            }
            _ => {
                self.long_id(flags | 2, space);
                self.put(&id.to_le_bytes());
            }
        }
    }

    fn long_id(&mut self, form: u8, space: u16) {
        self.put(&[form]);
        self.put(&space.to_le_bytes());
    }

    /// As it was before 1.05.04 (Part 6, H.2).
    fn old_node_id(&mut self, kind: Kind, value: Value<'a>) -> Result<()> {
        let space = match value.get("Namespace") {
            Some(it) => integer::<u16>(kind, it)?,
            None => 0,
        };
        let id = value.get("Id").ok_or_else(|| wrong(kind, value))?;
        match value.get("IdType").map(|it| integer::<u8>(kind, it)) {
            None | Some(Ok(0)) => self.numeric(0, space, integer(kind, id)?),
            Some(Ok(1)) => {
                let text = text(kind, id)?;
                self.long_id(3, space);
                self.string(&text)?;
            }
            Some(Ok(2)) => {
                let bytes = guid(&text(kind, id)?).ok_or_else(|| wrong(kind, id))?;
                self.long_id(4, space);
                self.put(&bytes);
            }
            Some(Ok(3)) => {
                let text = text(kind, id)?;
                self.long_id(5, space);
                self.sized(|reader| base64(kind, id, &text, &mut reader.out))?;
            }
            _ => return Err(wrong(kind, value)),
        }
        Ok(())
    }

    /// Part 6, 5.1.12, with the number of a namespace.
    pub(super) fn qualified_name(&mut self, value: Value<'a>) -> Result<()> {
        const KIND: Kind = Kind::QualifiedName;
        if value.kind() == Is::Object {
            let space = match value.get("Uri") {
                Some(it) => integer::<u16>(KIND, it)?,
                None => 0,
            };
            self.put(&space.to_le_bytes());
            return self.value(Kind::String, value.get("Name"));
        }
        let text = text(KIND, value)?;
        if text.starts_with("nsu=") {
            return Err(wrong(KIND, value));
        }
        let parts = text.split_once(':');
        let space = parts.and_then(|(space, name)| Some((space.parse::<u16>().ok()?, name)));
        let (space, name) = space.unwrap_or((0, &*text));
        self.put(&space.to_le_bytes());
        self.string(name)
    }

    /// The structure that a type id means, by its DataType or by its encoding in binary.
    pub(super) fn known(&mut self, id: Value<'a>) -> Result<Option<Kind>> {
        let begin = self.out.len();
        self.node_id(Kind::NodeId, id)?;
        let id = match *self.out.get(begin..).unwrap_or_default() {
            [0, id] => Some(u32::from(id)),
            [1, 0, low, high] => Some(u32::from(u16::from_le_bytes([low, high]))),
            _ => None,
        };
        self.out.truncate(begin);
        Ok(id.and_then(|id| Kind::from_data_type(id).or_else(|| Kind::from_encoding_id(id))))
    }
}
