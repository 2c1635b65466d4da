//! Methods of conditions (Part 9, 5.5 and 5.7).

use std::mem::take;

use wire::types::{LocalizedText, NodeId, StatusCode, Variant};

use super::ServiceContext;
use super::call::{Outcome, mismatch, none};
use crate::space::event::ConditionAction;
use crate::space::event::condition::Comment;

impl ServiceContext<'_> {
    /// Enable, Disable, AddComment, Acknowledge or Confirm.
    pub(super) fn act(
        &mut self,
        action: ConditionAction,
        object: &NodeId,
        arguments: &mut [Variant],
    ) -> Outcome {
        let failed = |status| (status, Vec::new());
        // The methods belong to the types, which are for everybody; what they change is not.
        if !self.session.rights.call {
            return Err(failed(StatusCode::BadUserAccessDenied));
        }
        let (event, text) = match action {
            ConditionAction::Enable | ConditionAction::Disable => {
                none(arguments)?;
                (None, LocalizedText::null())
            }
            _ => {
                let (event, text) = event_and_comment(arguments)?;
                (Some(event), text)
            }
        };
        let comment = Comment {
            text,
            user: self.session.owner.user.clone(),
            at: self.now.utc,
        };
        let events = self.shared.space.events();
        let done = events.act(object, action, event.as_deref(), comment, self.now);
        done.map(|()| Vec::new()).map_err(failed)
    }

    /// ConditionRefresh and ConditionRefresh2 (Part 9, 5.5.7 and 5.5.8).
    pub(super) fn refresh(&mut self, of_item: bool, arguments: &[Variant]) -> Outcome {
        let (subscription, item) = match (of_item, arguments) {
            (false, [Variant::UInt32(subscription)]) => (*subscription, None),
            (true, [Variant::UInt32(subscription), Variant::UInt32(item)]) => {
                (*subscription, Some(*item))
            }
            (of_item, given) => {
                let wanted = 1 + usize::from(of_item);
                return Err(count(given, wanted).unwrap_or_else(|| {
                    let fits = given.iter().map(|argument| match argument {
                        Variant::UInt32(_) => StatusCode::Good,
                        _ => StatusCode::BadTypeMismatch,
                    });
                    (StatusCode::BadInvalidArgument, fits.collect())
                }));
            }
        };
        let (shared, now) = (self.shared, self.now);
        // Part 9, 5.5.7: that of another session is there, but not for this one.
        let there = shared.register.home_of(subscription).is_some();
        let refreshed = match self.subscription(subscription) {
            Ok(found) => found.refresh(item, &shared.space, now),
            Err(_) if there => Err(StatusCode::BadUserAccessDenied),
            Err(status) => Err(status),
        };
        match refreshed {
            Ok(()) => Ok(Vec::new()),
            Err(status) => Err((status, Vec::new())),
        }
    }
}

fn count(given: &[Variant], wanted: usize) -> Option<(StatusCode, Vec<StatusCode>)> {
    match given.len() {
        n if n < wanted => Some((StatusCode::BadArgumentsMissing, Vec::new())),
        n if n > wanted => Some((StatusCode::BadTooManyArguments, Vec::new())),
        _ => None,
    }
}

fn event_and_comment(
    arguments: &mut [Variant],
) -> Result<(Vec<u8>, LocalizedText), (StatusCode, Vec<StatusCode>)> {
    if let Some(wrong) = count(arguments, 2) {
        return Err(wrong);
    }
    match arguments {
        [Variant::ByteString(event), Variant::LocalizedText(text)] => {
            Ok((event.value.take().unwrap_or_default(), take(text)))
        }
        [Variant::ByteString(_), _] => Err((
            StatusCode::BadInvalidArgument,
            vec![StatusCode::Good, StatusCode::BadTypeMismatch],
        )),
        _ => Err(mismatch()),
    }
}
