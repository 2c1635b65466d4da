//! The words of a filter.

use crate::nodes::NodeSpec;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// A field, a type, or a word with a meaning.
    Word(String),
    /// `[ns=2;i=5]`.
    Node(NodeSpec),
    /// `'text'` or `"text"`.
    Text(String),
    /// `5`, `-0.5`, `1e3`.
    Number(f64, Option<i64>),
    /// `2026-11-22T10:00:00Z`, in ticks of 100 ns since 1601.
    Time(i64),
    /// `=`, `>=` and so on, `(`, `)`, `,`.
    Sign(&'static str),
}

/// A word and where it stands.
#[derive(Debug, Clone)]
pub struct Placed {
    /// What it is.
    pub token: Token,
    /// Bytes before it.
    pub from: usize,
    /// Bytes up to its end.
    pub to: usize,
}

/// The longer before their beginnings.
const SIGNS: [&str; 11] = ["==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","];

/// Cuts a text into words. An error is a place and what is wrong there.
pub fn tokens(text: &str) -> Result<Vec<Placed>, (usize, String)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(c) = rest.chars().next() else { break };
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = token(rest, c).map_err(|why| (at, why))?;
        tokens.push(Placed {
            token,
            from: at,
            to: at + length,
        });
        at += length;
    }
    Ok(tokens)
}

fn token(rest: &str, c: char) -> Result<(Token, usize), String> {
    if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    match c {
        '\'' | '"' => quoted(rest, c),
        '[' => {
            let end = rest.find(']').ok_or("the ] is missing")?;
            let inside = rest.get(1..end).unwrap_or_default();
            let node = inside
                .parse()
                .map_err(|error: crate::NodeError| error.to_string())?;
            Ok((Token::Node(node), end + 1))
        }
        c if c.is_ascii_digit() || c == '-' || c == '+' => number(rest),
        c if is_of_word(c) => Ok(word(rest)),
        c => Err(format!(
            "{c:?} means nothing (want a field, a value, and, or, not, a comparison)"
        )),
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ':' | '&')
}

fn word(rest: &str) -> (Token, usize) {
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let inside = escaped || is_of_word(c);
        escaped = !escaped && c == '&';
        !inside
    });
    let end = end.unwrap_or(rest.len());
    let word = rest.get(..end).unwrap_or_default();
    (Token::Word(word.to_owned()), end)
}

/// A quote within is written twice.
fn quoted(rest: &str, quote: char) -> Result<(Token, usize), String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            text.push(c);
            continue;
        }
        match chars.peek() {
            Some((_, next)) if *next == quote => {
                text.push(quote);
                chars.next();
            }
            _ => return Ok((Token::Text(text), at + 1)),
        }
    }
    Err(format!("the text has no end (want {quote})"))
}

/// Numbers, times, and fields such as `2:Own`.
fn number(rest: &str) -> Result<(Token, usize), String> {
    let of_time = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | ':' | '.');
    let end = rest.find(|c| !of_time(c)).unwrap_or(rest.len());
    let text = rest.get(..end).unwrap_or_default();
    if let Some((index, _)) = text.split_once(':')
        && index.bytes().all(|c| c.is_ascii_digit())
    {
        return Ok(word(rest));
    }
    if let Ok(time) = wire::types::DateTime::parse_from_rfc3339(text) {
        return Ok((Token::Time(time.ticks()), end));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((Token::Number(number, text.parse().ok()), end)),
        _ => Err(format!(
            "{text:?} is no number and no time (want 500, 0.5, 2026-11-22T10:00:00Z)"
        )),
    }
}
