//! Conditions (Part 9, 5.5 to 5.8): a state that follows from the time, and what clients did to it.
//!
//! A condition's odd events make it active, its even ones inactive. Clients acknowledge and
//! confirm an activation, comment on it, and disable the condition; each of them is a [`ConditionAction`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::types::{LocalizedText, NodeId, StatusCode};

/// What a client does to a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionAction {
    /// Part 9, 5.7.3.
    Acknowledge,
    /// Part 9, 5.7.4.
    Confirm,
    /// Part 9, 5.5.6.
    Comment,
    /// Part 9, 5.5.5.
    Enable,
    /// Part 9, 5.5.4.
    Disable,
}

/// Why it cannot be done.
pub type Refused = StatusCode;

/// A comment, of whom and when.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comment {
    /// What was said.
    pub text: LocalizedText,
    /// By whom.
    pub user: String,
    /// When, in ticks; 0 if never.
    pub at: i64,
}

/// What a condition is at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionState {
    /// The event that made it so: odd ones made it active.
    pub n: u64,
    /// Whether it is watched at all.
    pub enabled: bool,
    /// Whether it is as it should not be.
    pub active: bool,
    /// Whether somebody has taken note.
    pub acked: bool,
    /// Whether somebody has dealt with it.
    pub confirmed: bool,
    /// Which of the limits it is beyond, or was last.
    pub level: Option<usize>,
    /// When it last became active or inactive, in ticks.
    pub changed: i64,
    /// What was said last.
    pub comment: Arc<Comment>,
}

impl ConditionState {
    /// Part 9, 5.5.2: whether it is of interest to those who ask for all that is.
    pub fn retain(&self) -> bool {
        self.enabled && (self.active || !self.acked || !self.confirmed)
    }
}

/// A condition.
#[derive(Debug)]
pub struct Condition {
    /// Its id, which is that of its object.
    pub id: NodeId,
    kept: Mutex<ClientActions>,
}

/// Moments that are remembered, so that one who looks back sees what was when.
const REMEMBERED: usize = 16;

/// What clients did.
#[derive(Debug, Default)]
struct ClientActions {
    /// Activations, and when they were acknowledged, in nanoseconds.
    acked: Vec<(u64, u64)>,
    confirmed: Vec<(u64, u64)>,
    /// When it was enabled or disabled.
    toggles: Vec<(u64, bool)>,
    comment: Arc<Comment>,
    /// The last entry of the journal about it, and the event that was the last one then.
    told: Option<(u64, u64)>,
}

fn remember<T>(list: &mut Vec<T>, what: T) {
    if list.len() >= REMEMBERED {
        list.remove(0);
    }
    list.push(what);
}

/// The activation that an event belongs to: none before the first.
fn activation(n: u64) -> u64 {
    match n {
        0 => 0,
        n if n % 2 == 1 => n,
        n => n - 1,
    }
}

impl ClientActions {
    fn enabled(&self, nanos: u64) -> bool {
        let before = self.toggles.iter().rev().find(|(at, _)| *at <= nanos);
        before.is_none_or(|(_, enabled)| *enabled)
    }

    fn done(list: &[(u64, u64)], activation: u64, nanos: u64) -> bool {
        activation == 0 || list.iter().any(|(n, at)| *n == activation && *at <= nanos)
    }

    fn state(&self, n: u64, nanos: u64) -> ConditionState {
        let activation = activation(n);
        ConditionState {
            n,
            enabled: self.enabled(nanos),
            active: n % 2 == 1,
            acked: Self::done(&self.acked, activation, nanos),
            confirmed: Self::done(&self.confirmed, activation, nanos),
            level: None,
            changed: 0,
            comment: Arc::clone(&self.comment),
        }
    }
}

impl Condition {
    /// One that nobody has touched.
    pub fn new(id: NodeId) -> Self {
        Self {
            id,
            kept: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ClientActions> {
        // Each change is one push or one assignment; one that panicked has left none half done.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it was when event `n` was the last one, at that time in nanoseconds.
    pub fn state(&self, n: u64, nanos: u64) -> ConditionState {
        self.lock().state(n, nanos)
    }

    /// The entry of the journal that told of it last, if no event came after it.
    pub fn told(&self, n: u64) -> Option<u64> {
        let told = self.lock().told;
        told.filter(|(_, of)| *of == n)
            .map(|(sequence, _)| sequence)
    }

    /// Does it; `n` is its last event now. `about` tells the event that the client names: a
    /// number of its own events or an entry of the journal. `enter` makes an entry of the journal
    /// and gives its number.
    pub fn act(
        &self,
        action: ConditionAction,
        about: Option<ConditionCall>,
        comment: Comment,
        n: u64,
        nanos: u64,
        enter: impl FnOnce(ConditionState) -> u64,
    ) -> Result<(), Refused> {
        let mut kept = self.lock();
        let state = kept.state(n, nanos);
        let activation = activation(n);
        match action {
            ConditionAction::Enable if state.enabled => {
                return Err(StatusCode::BadConditionAlreadyEnabled);
            }
            ConditionAction::Disable if !state.enabled => {
                return Err(StatusCode::BadConditionAlreadyDisabled);
            }
            ConditionAction::Enable | ConditionAction::Disable => {}
            _ if !state.enabled => return Err(StatusCode::BadConditionDisabled),
            _ => {
                let known = match about {
                    Some(ConditionCall::Own(own)) => own > 0 && (own == n || own == activation),
                    Some(ConditionCall::Journal(sequence)) => {
                        kept.told.is_some_and(|(last, _)| last == sequence)
                    }
                    None => false,
                };
                if !known {
                    return Err(StatusCode::BadEventIdUnknown);
                }
            }
        }
        match action {
            ConditionAction::Acknowledge if state.acked => {
                return Err(StatusCode::BadConditionBranchAlreadyAcked);
            }
            ConditionAction::Confirm if state.confirmed => {
                return Err(StatusCode::BadConditionBranchAlreadyConfirmed);
            }
            // Part 9, 5.7.2, figure 15: what was not acknowledged is not to be confirmed yet.
            ConditionAction::Confirm if !state.acked => return Err(StatusCode::BadInvalidState),
            ConditionAction::Acknowledge => remember(&mut kept.acked, (activation, nanos)),
            ConditionAction::Confirm => remember(&mut kept.confirmed, (activation, nanos)),
            ConditionAction::Enable => remember(&mut kept.toggles, (nanos, true)),
            ConditionAction::Disable => remember(&mut kept.toggles, (nanos, false)),
            ConditionAction::Comment => {}
        }
        // Part 9, 5.7.3: a comment that is null leaves the one that is there.
        let silent = comment.text.text.is_null() && comment.text.locale.is_null();
        if !matches!(action, ConditionAction::Enable | ConditionAction::Disable) && !silent {
            kept.comment = Arc::new(comment);
        }
        let sequence = enter(kept.state(n, nanos));
        kept.told = Some((sequence, n));
        Ok(())
    }
}

/// The event that a client names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionCall {
    /// One of the condition's own.
    Own(u64),
    /// An entry of the journal.
    Journal(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(
        of: &Condition,
        action: ConditionAction,
        about: Option<ConditionCall>,
        n: u64,
        at: u64,
    ) -> Result<(), Refused> {
        of.act(action, about, Comment::default(), n, at, |_| 77)
    }

    #[test]
    fn an_activation_is_acknowledged_once_and_the_next_one_anew() {
        let alarm = Condition::new(NodeId::null());
        let state = alarm.state(0, 0);
        assert!(state.acked && state.confirmed && !state.active && !state.retain());
        assert!(!alarm.state(1, 10).acked && alarm.state(1, 10).retain());

        let unknown = Err(StatusCode::BadEventIdUnknown);
        assert_eq!(
            act(&alarm, ConditionAction::Acknowledge, None, 1, 20),
            unknown
        );
        let one = Some(ConditionCall::Own(1));
        assert_eq!(
            act(&alarm, ConditionAction::Confirm, one, 1, 20),
            Err(StatusCode::BadInvalidState)
        );
        assert_eq!(
            act(&alarm, ConditionAction::Acknowledge, one, 1, 20),
            Ok(())
        );
        let again = Err(StatusCode::BadConditionBranchAlreadyAcked);
        assert_eq!(act(&alarm, ConditionAction::Acknowledge, one, 2, 21), again);
        // One who looks back sees what was then.
        assert!(!alarm.state(1, 19).acked && alarm.state(1, 20).acked);
        // It is inactive and acknowledged, but not dealt with.
        assert!(alarm.state(2, 30).retain());
        let journal = Some(ConditionCall::Journal(77));
        assert_eq!(
            act(&alarm, ConditionAction::Confirm, journal, 2, 30),
            Ok(())
        );
        assert!(!alarm.state(2, 31).retain());
        assert!(!alarm.state(3, 40).acked);
        assert_eq!(
            act(&alarm, ConditionAction::Acknowledge, one, 3, 41),
            unknown
        );
    }

    #[test]
    fn a_disabled_condition_is_of_no_interest() {
        let alarm = Condition::new(NodeId::null());
        let enabled = Err(StatusCode::BadConditionAlreadyEnabled);
        assert_eq!(act(&alarm, ConditionAction::Enable, None, 1, 5), enabled);
        assert_eq!(act(&alarm, ConditionAction::Disable, None, 1, 10), Ok(()));
        assert!(alarm.state(1, 9).enabled && !alarm.state(1, 10).retain());
        let disabled = Err(StatusCode::BadConditionDisabled);
        let one = Some(ConditionCall::Own(1));
        assert_eq!(
            act(&alarm, ConditionAction::Acknowledge, one, 1, 11),
            disabled
        );
        assert_eq!(act(&alarm, ConditionAction::Enable, None, 1, 20), Ok(()));
        assert!(!alarm.state(1, 15).enabled && alarm.state(1, 21).enabled);
    }
}
