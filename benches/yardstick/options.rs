//! What was asked for on the command line.

use std::path::PathBuf;
use std::time::Duration;

/// What was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How often every subject has its turn.
    pub rounds: usize,
    /// How long a turn takes.
    pub turn: Duration,
    /// Where the JSON goes; to standard output, as its last line, when not given.
    pub json: Option<PathBuf>,
    /// Only subjects whose name contains one of these.
    pub only: Vec<String>,
}

pub const USAGE: &str = "\
cargo bench -p benches --bench yardstick -- [OPTIONS]
  --rounds N        turns of each subject, 1 to 100 [default: 7]
  --seconds S       length of a turn, 0.05 to 10 [default: 0.5]
  --only WORDS      only subjects whose name contains one of these words, with commas between
  --json FILE       write the JSON there instead of to the last line of the output";

impl Options {
    /// Reads the command line; an error says what is wrong and what is allowed.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            rounds: 7,
            turn: Duration::from_millis(500),
            json: None,
            only: Vec::new(),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            // What Cargo adds.
            if word == "--bench" {
                continue;
            }
            if !["--rounds", "--seconds", "--only", "--json"].contains(&word.as_str()) {
                return Err(format!("unknown argument: {word}"));
            }
            let value = words.next().ok_or(format!("{word}: a value is missing"))?;
            match word.as_str() {
                "--rounds" => {
                    let rounds = value.parse().ok().filter(|n| (1..=100).contains(n));
                    options.rounds =
                        rounds.ok_or(format!("bad --rounds: {value} (want 1 to 100)"))?;
                }
                "--seconds" => {
                    let seconds = value.parse().ok().filter(|s| (0.05..=10.0).contains(s));
                    let seconds =
                        seconds.ok_or(format!("bad --seconds: {value} (want 0.05 to 10)"))?;
                    options.turn = Duration::from_secs_f64(seconds);
                }
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                _ => options.json = Some(value.into()),
            }
        }
        Ok(options)
    }

    /// Whether a subject was asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word.as_str()))
    }
}
