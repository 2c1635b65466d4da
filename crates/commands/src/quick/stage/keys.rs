//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Inner, Reach};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Pause,
    More,
    Less,
    EndPhase,
    EndRun,
    Interrupt,
    Next,
    Help,
    Leave,
}

impl Key {
    /// What was pressed, if it means anything.
    pub fn of(event: KeyEvent) -> Option<Self> {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        Some(match event.code {
            KeyCode::Char('c') if control => Self::Interrupt,
            _ if control => return None,
            KeyCode::Char('p' | ' ') => Self::Pause,
            KeyCode::Char('+' | '=') => Self::More,
            KeyCode::Char('-' | '_') => Self::Less,
            KeyCode::Char('n') => Self::EndPhase,
            KeyCode::Char('q') => Self::EndRun,
            KeyCode::Tab => Self::Next,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => Self::Help,
            KeyCode::Esc => Self::Leave,
            _ => return None,
        })
    }
}

/// More of the plan than so many percent are not offered by hand.
const MOST: u32 = 1000;

impl Reach {
    /// One step, in percent of the plan: a tenth, or one request in flight where that is more.
    fn step(self) -> u32 {
        match self.in_flight {
            Some(all) => u32::try_from(100u64.div_ceil(all.max(1))).unwrap_or(100),
            None => 0,
        }
        .max(10)
    }

    /// One step more or less; none if that is as far as it goes.
    fn beside(self, percent: u32, more: bool) -> Option<u32> {
        let step = self.step();
        let next = match more {
            true => percent.saturating_add(step).min(MOST.max(step * 10)),
            // One request in flight is the least.
            false => percent.saturating_sub(step).max(step),
        };
        (next != percent).then_some(next)
    }

    fn told(self, percent: u32) -> String {
        match self.in_flight {
            Some(all) => {
                let now = (all * u64::from(percent) + 50) / 100;
                let planned = match percent {
                    100 => "as planned".to_owned(),
                    _ => format!("{all} planned"),
                };
                format!("{} in flight, {planned}", now.max(1))
            }
            None => format!("{percent} % of the planned rate"),
        }
    }
}

impl Inner {
    /// Pauses, or goes on; says what it did.
    pub fn pause(&self) -> &'static str {
        self.control.pause();
        match self.control.level().paused {
            true => "paused: nothing is sent until p is pressed again",
            false => "it goes on",
        }
    }

    /// Offers a step more or less; says what is offered now.
    pub fn offer(&self, more: bool) -> String {
        let percent = self.control.level().percent;
        match self.reach.beside(percent, more) {
            Some(percent) => {
                self.control.offer(percent);
                self.reach.told(percent)
            }
            None => format!("{}: that is as far as it goes", self.reach.told(percent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn closed(in_flight: u64) -> Reach {
        Reach {
            in_flight: Some(in_flight),
        }
    }

    #[test]
    fn a_step_is_a_tenth_of_a_rate_and_one_request_at_least() {
        let open = Reach { in_flight: None };
        assert_eq!(open.beside(100, true), Some(110));
        assert_eq!(open.beside(100, false), Some(90));
        assert_eq!(open.beside(10, false), None);
        assert_eq!(closed(100).beside(100, true), Some(110));
        assert_eq!(closed(1).beside(100, true), Some(200));
        assert_eq!(closed(1).beside(100, false), None);
        assert_eq!(closed(4).beside(100, false), Some(75));
    }

    #[test]
    fn a_closed_loop_is_told_in_requests_in_flight() {
        assert_eq!(closed(4).told(75), "3 in flight, 4 planned");
        assert_eq!(closed(4).told(100), "4 in flight, as planned");
    }

    #[test]
    fn control_and_a_letter_is_not_the_letter() {
        let with = |modifiers| KeyEvent::new(KeyCode::Char('p'), modifiers);
        assert_eq!(Key::of(with(KeyModifiers::NONE)), Some(Key::Pause));
        assert_eq!(Key::of(with(KeyModifiers::CONTROL)), None);
        let c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(Key::of(c), Some(Key::Interrupt));
    }
}
