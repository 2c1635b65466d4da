//! Patterns of the operator Like (Part 4, table 120).

/// Whether a text is like a pattern: `%` is any text, `_` any character, `[abc]`, `[a-f]` and
/// `[^abc]` one of or none of some, `\` takes what follows as it is. None if it is no pattern.
pub fn matches(text: &str, pattern: &str) -> Option<bool> {
    let parts = parse(pattern)?;
    let text: Vec<char> = text.chars().collect();
    Some(whole(&text, &parts))
}

enum Part {
    Any,
    One,
    Char(char),
    Set {
        ranges: Vec<(char, char)>,
        without: bool,
    },
}

impl Part {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Char(own) => *own == c,
            Self::Set { ranges, without } => {
                let among = ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
                among != *without
            }
        }
    }
}

fn parse(pattern: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        parts.push(match c {
            '%' => Part::Any,
            '_' => Part::One,
            '\\' => Part::Char(chars.next()?),
            '[' => {
                let without = chars.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                loop {
                    let from = match chars.next()? {
                        ']' if !ranges.is_empty() => break,
                        ']' => return None,
                        '\\' => chars.next()?,
                        c => c,
                    };
                    let to = match chars.next_if_eq(&'-') {
                        None => from,
                        Some(_) => chars.next().filter(|to| *to != ']' && *to >= from)?,
                    };
                    ranges.push((from, to));
                }
                Part::Set { ranges, without }
            }
            c => Part::Char(c),
        });
    }
    Some(parts)
}

/// Walks both at once; what `%` stands for grows from nothing when the rest does not fit, and only
/// that of the last `%` ever has to.
fn whole(text: &[char], parts: &[Part]) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(c) = text.get(at) {
        match parts.get(part) {
            Some(Part::Any) => {
                back = Some((part + 1, at));
                part += 1;
            }
            Some(own) if own.takes(*c) => {
                at += 1;
                part += 1;
            }
            _ => match &mut back {
                None => return false,
                Some((again, from)) => {
                    *from += 1;
                    (part, at) = (*again, *from);
                }
            },
        }
    }
    let rest = parts.get(part..).unwrap_or_default();
    rest.iter().all(|part| matches!(part, Part::Any))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The examples of Part 4, table 120, and some beside.
    #[test]
    fn a_text_is_like_its_pattern() {
        for (text, pattern, is) in [
            ("main", "main%", true),
            ("mainly", "main%", true),
            ("domain", "main%", false),
            ("the entry", "%en%", true),
            ("green", "%en%", true),
            ("bill", "%en%", false),
            ("abc1", "abc[13-68]", true),
            ("abc4", "abc[13-68]", true),
            ("abc2", "abc[13-68]", false),
            ("xyz1", "xyz[^13-68]", false),
            ("xyz2", "xyz[^13-68]", true),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("abc", "a_c", true),
            ("ac", "a_c", false),
            ("", "%", true),
            ("", "", true),
            ("x", "", false),
            ("aXbXc", "a%X_", true),
            ("äöü", "ä_ü", true),
        ] {
            assert_eq!(matches(text, pattern), Some(is), "{text} {pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for pattern in ["[", "[]", "[a", "a\\", "[z-a]", "[a-]"] {
            assert_eq!(matches("a", pattern), None, "{pattern}");
        }
    }

    /// Each `%` may grow, but only the last one has to be tried again.
    #[test]
    fn many_wildcards_do_not_take_long() {
        let text = "a".repeat(5_000);
        let pattern = format!("{}b", "%a".repeat(500));
        assert_eq!(matches(&text, &pattern), Some(false));
    }
}
