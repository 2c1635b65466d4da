//! When a phase ends: when it was planned to, and later by as long as a person had it paused.

use super::control::Level;

/// The end of a phase, in nanoseconds since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    at: u64,
    /// Since when it is paused.
    paused: Option<u64>,
}

impl End {
    /// As planned.
    pub const fn planned(at: u64) -> Self {
        Self { at, paused: None }
    }

    /// When that is, as far as is known now: a phase that is paused does not end by itself.
    pub const fn at(self) -> u64 {
        match self.paused {
            None => self.at,
            Some(_) => u64::MAX,
        }
    }

    /// A person changed what is offered, at this time.
    pub const fn change(&mut self, t: u64, level: Level) {
        match (self.paused, level.paused) {
            // What is over is not paused any more.
            (None, true) if t < self.at => self.paused = Some(t),
            (Some(since), false) => {
                self.at = self.at.saturating_add(t.saturating_sub(since));
                self.paused = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn level(paused: bool) -> Level {
        Level {
            paused,
            percent: 100,
        }
    }

    #[test]
    fn pauses_move_the_end_and_nothing_else_does() {
        let mut end = End::planned(1000);
        end.change(100, level(false));
        assert_eq!(end.at(), 1000);
        end.change(200, level(true));
        end.change(300, level(true));
        assert_eq!(end.at(), u64::MAX);
        end.change(700, level(false));
        assert_eq!(end.at(), 1500);
        end.change(1400, level(true));
        end.change(1410, level(false));
        assert_eq!(end.at(), 1510);
        // Too late.
        end.change(1510, level(true));
        assert_eq!(end.at(), 1510);
    }
}
