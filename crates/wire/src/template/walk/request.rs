//! Requests as a server meets them: Read (Part 4, 5.11.2.2), Write (5.11.4.2), Publish (5.14.5.2).

use super::cursor::{Cursor, WalkError};
use super::data_value::RawDataValue;
use super::head::RequestHead;
use super::node_id::RawNodeId;
use super::type_id;
use super::value::data_value;

/// An operation of a request.
trait Item<'a>: Sized {
    /// The fewest bytes one takes.
    const LEAST: usize;

    fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError>;
}

#[derive(Debug, Clone)]
struct Items<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Items<'a> {
    fn new(mut cursor: Cursor<'a>, least: usize) -> Result<Self, WalkError> {
        let left = cursor.count(least)?;
        if left == 0 {
            cursor.finish()?;
        }
        Ok(Self { cursor, left })
    }

    #[inline]
    fn next<T: Item<'a>>(&mut self) -> Option<Result<T, WalkError>> {
        self.left = self.left.checked_sub(1)?;
        let item = T::read(&mut self.cursor);
        if self.left == 0
            && item.is_ok()
            && let Err(e) = self.cursor.finish()
        {
            return Some(Err(e));
        }
        if item.is_err() {
            self.left = 0;
        }
        Some(item)
    }
}

macro_rules! items {
    ($(#[$doc:meta])* $items:ident of $item:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $items<'a>(Items<'a>);

        impl<'a> $items<'a> {
            /// Operations that are left.
            pub fn left(&self) -> usize {
                self.0.left
            }

            /// Where they are: to go on with `$items::again`.
            pub fn rest(&self) -> &'a [u8] {
                self.0.cursor.rest()
            }

            /// So many operations that were left of others, by their [`rest`](Self::rest).
            pub fn again(rest: &'a [u8], left: usize) -> Self {
                Self(Items {
                    cursor: Cursor::new(rest),
                    left,
                })
            }
        }

        impl<'a> Iterator for $items<'a> {
            type Item = Result<$item<'a>, WalkError>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.0.next()
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (0, Some(self.0.left))
            }
        }
    };
}

items! {
    /// The nodes of a Read request, one after another. Ends after the first error; an iteration
    /// without one has seen the body to its last byte.
    ReadNodes of ReadNode
}

items! {
    /// The nodes of a Write request, one after another. Ends after the first error; an iteration
    /// without one has seen the body to its last byte.
    WriteNodes of WriteNode
}

/// A Read request where it lies.
#[derive(Debug, Clone)]
pub struct ReadRequest<'a> {
    /// Type and RequestHeader.
    pub head: RequestHead<'a>,
    /// Milliseconds a cached value may be old.
    pub max_age: f64,
    /// The TimestampsToReturn enumeration as it is on the wire.
    pub timestamps_to_return: i32,
    /// What to read.
    pub nodes: ReadNodes<'a>,
}

/// One ReadValueId.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadNode<'a> {
    /// The node.
    pub node_id: RawNodeId<'a>,
    /// The attribute.
    pub attribute_id: u32,
    /// The text of the NumericRange; empty and null are the same.
    pub index_range: &'a [u8],
    /// Namespace and name of the encoding asked for; an empty name is the default.
    pub data_encoding: (u16, &'a [u8]),
}

impl<'a> ReadRequest<'a> {
    /// Reads up to the list of nodes.
    pub fn parse(body: &'a [u8]) -> Result<Self, WalkError> {
        Self::behind(RequestHead::parse(body)?, body)
    }

    /// The same for a body whose head was read before.
    #[inline]
    pub fn behind(head: RequestHead<'a>, body: &'a [u8]) -> Result<Self, WalkError> {
        let mut c = head.fields(body, type_id::READ_REQUEST)?;
        Ok(Self {
            head,
            max_age: c.f64()?,
            timestamps_to_return: c.i32()?,
            nodes: ReadNodes(Items::new(c, ReadNode::LEAST)?),
        })
    }
}

/// Four of them are the length of a string that is null.
const NONE: u8 = 0xff;

impl<'a> Item<'a> for ReadNode<'a> {
    const LEAST: usize = 2 + 4 + 4 + 2 + 4;

    #[inline]
    fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError> {
        // A number in one of the two usual encodings, no range, no encoding: comparisons with
        // constants find it out.
        let number = match *c.rest() {
            [1, namespace, low, high, ref tail @ ..] => {
                let id = u16::from_le_bytes([low, high]);
                Some((u16::from(namespace), u32::from(id), tail))
            }
            [2, n0, n1, i0, i1, i2, i3, ref tail @ ..] => {
                let id = u32::from_le_bytes([i0, i1, i2, i3]);
                Some((u16::from_le_bytes([n0, n1]), id, tail))
            }
            _ => None,
        };
        if let Some((namespace, id, tail)) = number
            && let Some((usual, rest)) = tail.split_first_chunk::<14>()
            && let [
                a0,
                a1,
                a2,
                a3,
                NONE,
                NONE,
                NONE,
                NONE,
                q0,
                q1,
                NONE,
                NONE,
                NONE,
                NONE,
            ] = *usual
        {
            c.skip_to(rest);
            return Ok(Self {
                node_id: RawNodeId::Numeric { namespace, id },
                attribute_id: u32::from_le_bytes([a0, a1, a2, a3]),
                index_range: &[],
                data_encoding: (u16::from_le_bytes([q0, q1]), &[]),
            });
        }
        Ok(Self {
            node_id: RawNodeId::read(c)?,
            attribute_id: c.u32()?,
            index_range: c.octets()?.unwrap_or_default(),
            data_encoding: (c.u16()?, c.octets()?.unwrap_or_default()),
        })
    }
}

/// A Write request where it lies.
#[derive(Debug, Clone)]
pub struct WriteRequest<'a> {
    /// Type and RequestHeader.
    pub head: RequestHead<'a>,
    /// What to write.
    pub nodes: WriteNodes<'a>,
}

/// One WriteValue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteNode<'a> {
    /// The node.
    pub node_id: RawNodeId<'a>,
    /// The attribute.
    pub attribute_id: u32,
    /// The text of the NumericRange; empty and null are the same.
    pub index_range: &'a [u8],
    /// What to write.
    pub value: RawDataValue<'a>,
}

impl<'a> WriteRequest<'a> {
    /// Reads up to the list of nodes.
    pub fn parse(body: &'a [u8]) -> Result<Self, WalkError> {
        let head = RequestHead::parse(body)?;
        let c = head.fields(body, type_id::WRITE_REQUEST)?;
        Ok(Self {
            head,
            nodes: WriteNodes(Items::new(c, WriteNode::LEAST)?),
        })
    }
}

impl<'a> Item<'a> for WriteNode<'a> {
    const LEAST: usize = 2 + 4 + 4 + 1;

    #[inline]
    fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError> {
        Ok(Self {
            node_id: RawNodeId::read(c)?,
            attribute_id: c.u32()?,
            index_range: c.octets()?.unwrap_or_default(),
            value: data_value(c, 0)?,
        })
    }
}

/// A Publish request where it lies.
#[derive(Debug, Clone)]
pub struct PublishRequest<'a> {
    /// Type and RequestHeader.
    pub head: RequestHead<'a>,
    /// What the client acknowledges.
    pub acknowledgements: Acknowledgements<'a>,
}

/// Subscription id and sequence number, one pair after another.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledgements<'a> {
    raw: &'a [[u8; 8]],
}

impl<'a> PublishRequest<'a> {
    /// Reads a Publish request to its last byte.
    pub fn parse(body: &'a [u8]) -> Result<Self, WalkError> {
        let head = RequestHead::parse(body)?;
        let mut c = head.fields(body, type_id::PUBLISH_REQUEST)?;
        let n = c.count(8)?;
        let (raw, _) = c.take(n * 8)?.as_chunks();
        c.finish()?;
        Ok(Self {
            head,
            acknowledgements: Acknowledgements { raw },
        })
    }
}

impl Iterator for Acknowledgements<'_> {
    type Item = (u32, u32);

    #[inline]
    fn next(&mut self) -> Option<(u32, u32)> {
        let (&[a, b, c, d, e, f, g, h], rest) = self.raw.split_first()?;
        self.raw = rest;
        Some((
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        ))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.raw.len(), Some(self.raw.len()))
    }
}

impl ExactSizeIterator for Acknowledgements<'_> {}
