//! Links as typed: `2Mbit/s,delay=20ms,jitter=5ms,loss=1%,queue=64KiB`.

use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::time::Duration;

use plan::unit::{BitRate, Bytes, Percent, UnitError, duration};
use thiserror::Error;

use crate::preset::presets;
use crate::spec::{Direction, Jitter, Loss, Queue, Reorder, Shape, Spec};

/// Why a text is no link.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum SpecError {
    /// A value is none.
    #[error("{key}: {error}")]
    Value {
        /// Whose value.
        key: String,
        /// What is wrong with it.
        error: UnitError,
    },
    /// A part of it means nothing.
    #[error(
        "{0:?} says nothing of a link (want a preset: {names}; or rate, delay, jitter, loss, burst, bad-loss, \
         queue, reorder, duplicate, overhead with = and a value; up. or down. in front for one direction)",
        names = names()
    )]
    Unknown(String),
    /// A value is out of its range.
    #[error("{key}={text} (want {want})")]
    Range {
        /// Whose value.
        key: String,
        /// What was typed.
        text: String,
        /// What is allowed.
        want: &'static str,
    },
}

fn names() -> String {
    let names: Vec<_> = presets().iter().map(|preset| preset.name).collect();
    names.join(", ")
}

impl FromStr for Spec {
    type Err = SpecError;

    /// Parts between commas, each of them over those before it. The first may be a preset, and a rate may stand
    /// without its name. An empty text is a perfect link.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        for (n, part) in text.split(',').map(str::trim).enumerate() {
            if part.is_empty() && text.trim().is_empty() {
                continue;
            }
            let preset = presets().into_iter().find(|preset| preset.name == part);
            if let (0, Some(preset)) = (n, preset) {
                spec = preset.spec();
                continue;
            }
            let unknown = || SpecError::Unknown(part.to_owned());
            let (key, value) = match part.split_once('=') {
                Some(pair) => pair,
                // `up.` and `down.` go before a bare rate, too.
                None => match part.split_once('.').filter(|(way, _)| is_way(way)) {
                    Some(("up", value)) => ("up.rate", value),
                    Some((_, value)) => ("down.rate", value),
                    None if part.ends_with("bit/s") => ("rate", part),
                    None => return Err(unknown()),
                },
            };
            let (ways, key): (&mut [&mut Direction], _) = match key.split_once('.') {
                Some(("up", key)) => (&mut [&mut spec.up], key),
                Some(("down", key)) => (&mut [&mut spec.down], key),
                None => (&mut [&mut spec.up, &mut spec.down], key),
                Some(_) => return Err(unknown()),
            };
            for way in ways {
                set(way, key, value)?;
            }
        }
        for (name, way) in [("up", &spec.up), ("down", &spec.down)] {
            check(name, way)?;
        }
        Ok(spec)
    }
}

fn is_way(text: &str) -> bool {
    matches!(text, "up" | "down")
}

/// Gives a direction what was typed.
fn set(way: &mut Direction, key: &str, text: &str) -> Result<(), SpecError> {
    let wrong = |error| SpecError::Value {
        key: key.to_owned(),
        error,
    };
    let out_of_range = |want| SpecError::Range {
        key: key.to_owned(),
        text: text.to_owned(),
        want,
    };
    let share = || match text.parse::<Percent>() {
        Ok(share) if share.fraction() <= 1.0 => Ok(share),
        Ok(_) => Err(out_of_range("0% to 100%")),
        Err(error) => Err(wrong(error)),
    };
    match key {
        "rate" if text == "unlimited" => way.rate = None,
        "rate" => way.rate = Some(text.parse().map_err(wrong)?),
        "delay" => way.delay = time(text).map_err(wrong)?,
        "jitter" => {
            let (size, shape) = text.split_once(':').unwrap_or((text, "uniform"));
            let shape = match shape {
                "uniform" => Shape::Uniform,
                "exponential" => Shape::Exponential,
                "pareto" => Shape::Pareto,
                _ => return Err(out_of_range("5ms, 5ms:exponential or 5ms:pareto")),
            };
            let size = time(size).map_err(wrong)?;
            way.jitter = Jitter { size, shape };
        }
        "loss" => way.loss.share = share()?,
        "bad-loss" => way.loss.bad = share()?,
        "burst" => {
            let burst = text
                .parse()
                .ok()
                .filter(|burst| (1.0..=1e6).contains(burst));
            way.loss.burst = burst.ok_or_else(|| out_of_range("1 to 1000000 packets"))?;
        }
        "queue" => {
            way.queue = match (text, time(text)) {
                ("endless", _) => Queue::Endless,
                (_, Ok(time)) => Queue::Time(time),
                _ => Queue::Bytes(text.parse().map_err(wrong)?),
            }
        }
        "reorder" => {
            let (share, hold) = text.split_once(':').unwrap_or((text, "10ms"));
            let hold = time(hold).map_err(wrong)?;
            let share: Percent = share.parse().map_err(wrong)?;
            way.reorder = Reorder { share, hold };
        }
        "duplicate" => way.duplicate = share()?,
        "overhead" => way.overhead = text.parse().map_err(wrong)?,
        _ => return Err(SpecError::Unknown(format!("{key}={text}"))),
    }
    Ok(())
}

fn time(text: &str) -> Result<Duration, UnitError> {
    // A bare zero needs no unit.
    match text {
        "0" => Ok(Duration::ZERO),
        text => duration::parse(text),
    }
}

/// What does not fit together in a direction.
fn check(name: &str, way: &Direction) -> Result<(), SpecError> {
    let Loss { share, burst, bad } = way.loss;
    let range = |key: &str, text: String, want| {
        Err(SpecError::Range {
            key: format!("{name}.{key}"),
            text,
            want,
        })
    };
    if share.fraction() > bad.fraction() {
        return range("loss", share.to_string(), "at most bad-loss");
    }
    // The good state lasts for at least one packet.
    let state = share.fraction() / bad.fraction().max(f64::MIN_POSITIVE);
    if burst > 1.0 && state < 1.0 && state / (1.0 - state) > burst {
        return range("burst", burst.to_string(), "a longer burst, or less loss");
    }
    if way.reorder.share.fraction() > 1.0 {
        return range("reorder", way.reorder.share.to_string(), "0% to 100%");
    }
    Ok(())
}

impl fmt::Display for Spec {
    /// As it can be typed again, exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.up == self.down {
            return f.write_str(&typed(&self.up, ""));
        }
        let (up, down) = (typed(&self.up, "up."), typed(&self.down, "down."));
        let comma = if up.is_empty() || down.is_empty() {
            ""
        } else {
            ","
        };
        write!(f, "{up}{comma}{down}")
    }
}

fn typed(way: &Direction, before: &str) -> String {
    let mut out = String::new();
    let mut put = |key: &str, value: String| {
        let comma = if out.is_empty() { "" } else { "," };
        let _ = write!(out, "{comma}{before}{key}={value}");
    };
    let none = Direction::default();
    if let Some(rate) = way.rate {
        put("rate", BitRate::typed(rate));
    }
    if way.delay != none.delay {
        put("delay", duration::typed(way.delay));
    }
    if way.jitter != none.jitter {
        let shape = match way.jitter.shape {
            Shape::Uniform => "",
            Shape::Exponential => ":exponential",
            Shape::Pareto => ":pareto",
        };
        put("jitter", duration::typed(way.jitter.size) + shape);
    }
    if way.loss != none.loss {
        put("loss", way.loss.share.to_string());
    }
    if way.loss.burst != none.loss.burst {
        put("burst", way.loss.burst.to_string());
    }
    if way.loss.bad != none.loss.bad {
        put("bad-loss", way.loss.bad.to_string());
    }
    match way.queue {
        Queue::Endless => {}
        Queue::Bytes(bytes) => put("queue", Bytes::typed(bytes)),
        Queue::Time(time) => put("queue", duration::typed(time)),
    }
    if way.reorder != none.reorder {
        let hold = duration::typed(way.reorder.hold);
        put("reorder", format!("{}:{hold}", way.reorder.share));
    }
    if way.duplicate != none.duplicate {
        put("duplicate", way.duplicate.to_string());
    }
    if way.overhead != none.overhead {
        put("overhead", Bytes::typed(way.overhead));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        text.parse().unwrap()
    }

    #[test]
    fn a_link_is_typed_in_parts_and_each_direction_by_itself() {
        let both = spec("2Mbit/s,delay=20ms,jitter=5ms,loss=1%,queue=64KiB");
        assert_eq!(both.up, both.down);
        assert_eq!(both.up.rate, BitRate::new(2_000_000));
        assert_eq!(both.up.delay, Duration::from_millis(20));
        assert_eq!(both.up.queue, Queue::Bytes(Bytes(65_536)));
        let apart = spec("delay=20ms,up.1.5Mbit/s,down.rate=8Mbit/s,down.delay=0,up.queue=100ms");
        assert_eq!(apart.up.rate, BitRate::new(1_500_000));
        assert_eq!(apart.down.rate, BitRate::new(8_000_000));
        assert_eq!(apart.up.delay, Duration::from_millis(20));
        assert_eq!(apart.down.delay, Duration::ZERO);
        assert_eq!(apart.up.queue, Queue::Time(Duration::from_millis(100)));
        assert_eq!(spec(""), Spec::default());
    }

    #[test]
    fn what_is_printed_can_be_typed_again() {
        let typed = [
            "2Mbit/s,delay=20ms,jitter=5ms:pareto,loss=1%,burst=4,queue=64KiB",
            "up.rate=1Mbit/s,down.delay=3us,reorder=2%:7ms,duplicate=0.5%,overhead=80B",
            "bad-loss=50%,loss=3%,burst=8,queue=200ms",
            "",
        ];
        let names = presets().into_iter().map(|preset| preset.name);
        for text in typed.into_iter().chain(names) {
            let once = spec(text);
            assert_eq!(spec(&once.to_string()), once, "{text}");
        }
    }

    #[test]
    fn a_preset_comes_first_and_can_be_changed() {
        let changed = spec("3g,loss=2%");
        assert_eq!(changed.up.loss.share, Percent::from_fraction(0.02));
        assert_eq!(changed.up.delay, spec("3g").up.delay);
    }

    #[test]
    fn what_is_no_link_is_said_with_what_is_allowed() {
        for (text, says) in [
            ("5g", "want a preset: cavalieri-2mbps"),
            ("delay=20", "delay: \"20\" is no duration"),
            ("2Mbps", "says nothing of a link"),
            ("delay=1ms,3g", "says nothing of a link"),
            ("loss=101%", "0% to 100%"),
            ("jitter=5ms:normal", "5ms:exponential"),
            ("loss=60%,bad-loss=50%", "at most bad-loss"),
            ("loss=90%,burst=2", "a longer burst"),
            ("burst=0.5", "1 to 1000000"),
            ("side.delay=1ms", "says nothing"),
            ("reorder=200%", "0% to 100%"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
