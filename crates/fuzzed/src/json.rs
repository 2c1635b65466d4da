//! Texts of PubSub's JSON mapping: visited, built and written again.

use pubsub::json::write_value::Style;
use pubsub::json::{JsonField, JsonView, MessageType};
use wire::service::Limits;
use wire::types::VariantScalarTypeId as Type;

use crate::script::Script;

/// The first byte decides what a reader takes; the rest is a text.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let flags = script.byte();
    let text = script.rest();
    let Ok(view) = JsonView::parse(text, flags & 1 != 0) else {
        return;
    };
    let limits = Limits::for_message_size(text.len());
    if view.message_type == MessageType::MetaData {
        if let Ok(told) = view.metadata(&limits) {
            let again = told.encode();
            let again = JsonView::parse(again.as_bytes(), false).unwrap();
            let again = again.metadata(&Limits::default()).unwrap();
            assert_eq!(again.metadata, told.metadata);
        }
        return;
    }
    view.status();
    for set in view.sets().flatten() {
        for field in set.fields() {
            let at = field.value.at();
            let lies = text.get(at..at + field.value.as_written().len());
            assert_eq!(lies, Some(field.value.as_written().as_bytes()));
            let mut limits = limits;
            let kind = Type::try_from(u32::from(flags >> 1 & 31)).unwrap_or(Type::String);
            if let Ok(value) = field.read_as(kind, &mut limits) {
                drop(value);
            }
        }
    }
    let Ok(message) = view.to_message(&limits) else {
        return;
    };
    assert_eq!(view.sets().count(), message.messages.len());
    // What is bare is so in any style; other fields say their types in these.
    for style in [Style::Compact, Style::Reversible] {
        let mut out = String::new();
        if message.encode(style, &mut out).is_err() {
            continue;
        }
        // Without any header it depends on names alone what an object is.
        let headers = message.header && message.messages.iter().all(|it| it.header);
        if !headers {
            continue;
        }
        let again = JsonView::parse(out.as_bytes(), flags & 1 != 0).unwrap();
        let again = again.to_message(&Limits::default()).unwrap();
        assert_eq!(again.messages.len(), message.messages.len());
        for (was, is) in message.messages.iter().zip(&again.messages) {
            assert_eq!(was.writer_id, is.writer_id);
            assert_eq!(was.sequence, is.sequence);
            let fields = |it: &Option<Vec<(String, JsonField)>>| it.as_ref().map(Vec::len);
            assert_eq!(fields(&was.payload), fields(&is.payload));
        }
    }
}
