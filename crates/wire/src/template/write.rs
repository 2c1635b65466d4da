//! Write requests: the same each time but for the values.

use super::request::{Template, TemplateError};
use super::walk::{self, BuiltInType, RawVariant};
use crate::types::{BinaryEncodable, Context, Variant, WriteRequest};

/// Where a value of a Write request lies in its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueSlot {
    /// The type of the value, or of an array's elements.
    pub kind: BuiltInType,
    /// The number of elements when it is an array.
    pub array_len: Option<usize>,
    /// Where the Variant begins, with its encoding byte.
    variant_at: usize,
    variant_len: usize,
    /// Where the payload begins: after the encoding byte and an array's length.
    payload_at: usize,
    payload_len: usize,
}

impl ValueSlot {
    fn of(value: &RawVariant<'_>, variant_at: usize) -> Self {
        Self {
            kind: value.kind(),
            array_len: value.array_len(),
            variant_at,
            variant_len: value.encoded().len(),
            payload_at: variant_at + value.payload_at(),
            payload_len: value.payload().len(),
        }
    }

    /// Bytes that [`WriteTemplate::set_value`] replaces: one value of fixed size, or an array's
    /// elements if each has a fixed size. None when the value can only be replaced in full.
    pub fn payload_len(&self) -> Option<usize> {
        self.kind.size().map(|_| self.payload_len)
    }
}

/// A Write request encoded once, with values that can be set in place.
#[derive(Debug, Clone)]
pub struct WriteTemplate {
    template: Template,
    /// One for each of nodesToWrite; none where the DataValue has no value.
    slots: Vec<Option<ValueSlot>>,
}

impl WriteTemplate {
    /// Encodes a Write request and finds its values.
    pub fn new(request: &WriteRequest, context: &Context<'_>) -> Result<Self, TemplateError> {
        let template = Template::new(request, context)?;
        let mut slots = Vec::new();
        for node in walk::WriteRequest::parse(template.body())?.nodes {
            let node = node?;
            slots.push(
                node.value
                    .value
                    .map(|value| ValueSlot::of(&value, node.value_at)),
            );
        }
        let this = Self { template, slots };
        this.verify(request, context)?;
        Ok(this)
    }

    /// The bytes of each slot must be what its value encodes to alone.
    fn verify(&self, request: &WriteRequest, context: &Context<'_>) -> Result<(), TemplateError> {
        let nodes = request.nodes_to_write.as_deref().unwrap_or_default();
        let mut alone = Vec::new();
        let same = nodes.len() == self.slots.len()
            && nodes
                .iter()
                .zip(&self.slots)
                .try_fold(true, |same, (node, slot)| {
                    alone.clear();
                    let there = match (&node.value.value, slot) {
                        (Some(value), Some(slot)) => {
                            value.encode(&mut alone, context)?;
                            self.bytes(slot.variant_at, slot.variant_len) == Some(&alone)
                        }
                        (None, None) => true,
                        _ => false,
                    };
                    Ok::<_, TemplateError>(same && there)
                })?;
        if same {
            Ok(())
        } else {
            Err(TemplateError::ReadsDifferently("the values to write"))
        }
    }

    fn bytes(&self, at: usize, len: usize) -> Option<&[u8]> {
        self.template.body().get(at..at + len)
    }

    /// The request as it stands, to be sent.
    #[inline]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Where the values lie, in the order of nodesToWrite.
    pub fn values(&self) -> &[Option<ValueSlot>] {
        &self.slots
    }

    /// Puts another payload of the same type and length in the template: little-endian bytes of a
    /// number, all elements of an array of numbers.
    #[inline]
    pub fn set_value(&mut self, index: usize, payload: &[u8]) -> Result<(), TemplateError> {
        let slot = self.slots.get(index);
        match set(self.template.body_mut(), slot, payload) {
            Some(()) => Ok(()),
            None => Err(other_value(index, payload)),
        }
    }

    /// The same in a copy that [`Template::write`] made at the start of `out`, so that many
    /// senders can share one template.
    #[inline]
    pub fn patch_value(
        &self,
        out: &mut [u8],
        index: usize,
        payload: &[u8],
    ) -> Result<(), TemplateError> {
        match set(out, self.slots.get(index), payload) {
            Some(()) => Ok(()),
            None => Err(other_value(index, payload)),
        }
    }

    /// Puts any other value in the template: what lies behind it moves.
    pub fn replace_value(
        &mut self,
        index: usize,
        value: &Variant,
        context: &Context<'_>,
    ) -> Result<(), TemplateError> {
        let missing = || TemplateError::OtherValue {
            index,
            wanted: String::from("value that was there before"),
        };
        let old = self
            .slots
            .get(index)
            .copied()
            .flatten()
            .ok_or_else(missing)?;
        let mut encoded = Vec::with_capacity(value.byte_len(context));
        value.encode(&mut encoded, context)?;
        let raw = RawVariant::parse(&encoded)?;
        let new = ValueSlot::of(&raw, old.variant_at);
        let end = old.variant_at + old.variant_len;
        self.template
            .body_mut()
            .splice(old.variant_at..end, encoded.iter().copied());
        for slot in self.slots.iter_mut().flatten() {
            if slot.variant_at == old.variant_at {
                *slot = new;
            } else if slot.variant_at > old.variant_at {
                slot.variant_at = slot.variant_at + new.variant_len - old.variant_len;
                slot.payload_at = slot.payload_at + new.variant_len - old.variant_len;
            }
        }
        Ok(())
    }
}

#[inline]
fn set(body: &mut [u8], slot: Option<&Option<ValueSlot>>, payload: &[u8]) -> Option<()> {
    let slot = slot?.as_ref()?;
    if slot.payload_len() != Some(payload.len()) {
        return None;
    }
    body.get_mut(slot.payload_at..)?
        .get_mut(..payload.len())?
        .copy_from_slice(payload);
    Some(())
}

#[cold]
fn other_value(index: usize, payload: &[u8]) -> TemplateError {
    TemplateError::OtherValue {
        index,
        wanted: format!("value of {} bytes that can be set in place", payload.len()),
    }
}
