//! Which events are wanted: a small language over their fields.
//!
//! ```text
//! Severity >= 500 and OfType AlarmConditionType
//! (SourceName like 'Tank%' or SourceName in ('Door1', 'Door2')) and not AckedState/Id = true
//! Time between 2026-11-22T00:00:00Z and 2026-11-23T00:00:00Z
//! ConditionName is not null
//! ```

use std::fmt;
use std::str::FromStr;

use super::field::{EventType, Field};
use super::standard::{self, Holds};
use super::token::{Placed, Token, tokens};

/// A filter, as typed and as understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Where {
    text: String,
    expression: Expression,
}

/// What has to hold of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// Two values beside each other.
    Compare(Comparison, Operand, Operand),
    /// From the second to the third, both of them among it.
    Between(Operand, Operand, Operand),
    /// One of several.
    In(Operand, Vec<Operand>),
    /// The event does not have it.
    IsNull(Operand),
    /// Of this type or one below it.
    OfType(EventType),
    /// It does not hold.
    Not(Box<Expression>),
    /// Both hold.
    And(Box<Expression>, Box<Expression>),
    /// One of them holds.
    Or(Box<Expression>, Box<Expression>),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// With `%` and `_` (Part 4, 7.7.3).
    Like,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A field of the event.
    Field(Field),
    /// A value.
    Literal(Literal),
}

/// A value, before it is known of which type it has to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// A number, and as a whole one if it is that.
    Number(f64, Option<i64>),
    /// A text.
    Text(String),
    /// `true` or `false`.
    Flag(bool),
    /// In ticks of 100 ns since 1601.
    Time(i64),
    /// A type, or any node.
    Node(EventType),
}

/// Where a text stops being a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}, character {at}: {reason}")]
pub struct WhereError {
    text: String,
    /// Counted from one.
    at: usize,
    reason: String,
}

/// Deeper than this nobody thinks.
const DEEPEST: usize = 50;

impl Where {
    /// What has to hold.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Where {
    type Err = WhereError;

    fn from_str(text: &str) -> Result<Self, WhereError> {
        let wrong = |(at, reason): (usize, String)| WhereError {
            text: text.to_owned(),
            at: text.get(..at).map_or(0, |before| before.chars().count()) + 1,
            reason,
        };
        let tokens = tokens(text).map_err(wrong)?;
        let mut parser = Parser {
            tokens: &tokens,
            end: text.len(),
            at: 0,
            depth: 0,
        };
        let expression = parser.either().map_err(wrong)?;
        if parser.at < tokens.len() {
            return Err(wrong(parser.here("want and, or, or the end")));
        }
        Ok(Self {
            text: text.to_owned(),
            expression,
        })
    }
}

/// A place and what is wrong there.
type Wrong = (usize, String);

struct Parser<'a> {
    tokens: &'a [Placed],
    end: usize,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn here(&self, why: impl Into<String>) -> Wrong {
        let from = self.tokens.get(self.at).map_or(self.end, |it| it.from);
        (from, why.into())
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|it| &it.token)
    }

    /// Whether the next is this word, whatever its case; then it is passed.
    fn word(&mut self, wanted: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(wanted));
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(sign)) if *sign == wanted);
        self.at += usize::from(found);
        found
    }

    fn either(&mut self) -> Result<Expression, Wrong> {
        let mut left = self.both()?;
        while self.word("or") {
            left = Expression::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, Wrong> {
        let mut left = self.one()?;
        while self.word("and") {
            left = Expression::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Expression, Wrong> {
        if self.depth == DEEPEST {
            return Err(self.here(format!("deeper than {DEEPEST} brackets and nots")));
        }
        self.depth += 1;
        let one = self.alone();
        self.depth -= 1;
        one
    }

    fn alone(&mut self) -> Result<Expression, Wrong> {
        if self.word("not") {
            return Ok(Expression::Not(Box::new(self.one()?)));
        }
        if self.sign("(") {
            let inside = self.either()?;
            return match self.sign(")") {
                true => Ok(inside),
                false => Err(self.here("want and, or, or )")),
            };
        }
        if self.word("oftype") {
            let from = self.here("want a type: OfType AlarmConditionType, OfType [ns=2;i=5]");
            return match self.operand()? {
                Operand::Literal(Literal::Node(kind)) => Ok(Expression::OfType(kind)),
                _ => Err(from),
            };
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expression, Wrong> {
        let left = self.operand()?;
        if self.word("is") {
            let not = self.word("not");
            if !self.word("null") {
                return Err(self.here("want null"));
            }
            let null = Expression::IsNull(left);
            return Ok(match not {
                true => Expression::Not(Box::new(null)),
                false => null,
            });
        }
        let not = self.word("not");
        if self.word("between") {
            let from = self.against(&left)?;
            if !self.word("and") {
                return Err(self.here("want and, and where it ends"));
            }
            let to = self.against(&left)?;
            return Ok(maybe(not, Expression::Between(left, from, to)));
        }
        if self.word("in") {
            if !self.sign("(") {
                return Err(self.here("want ( and values"));
            }
            let mut all = vec![self.against(&left)?];
            while self.sign(",") {
                all.push(self.against(&left)?);
            }
            return match self.sign(")") {
                true => Ok(maybe(not, Expression::In(left, all))),
                false => Err(self.here("want , or )")),
            };
        }
        if self.word("like") {
            let right = self.against(&left)?;
            let like = Expression::Compare(Comparison::Like, left, right);
            return Ok(maybe(not, like));
        }
        if not {
            return Err(self.here("want between, in or like behind not"));
        }
        let want = "want a comparison: =, !=, <, <=, >, >=, like, between, in, is null";
        let Some(Token::Sign(sign)) = self.peek() else {
            return Err(self.here(want));
        };
        let (how, not) = match *sign {
            "=" | "==" => (Comparison::Equal, false),
            "!=" | "<>" => (Comparison::Equal, true),
            "<" => (Comparison::Less, false),
            "<=" => (Comparison::AtMost, false),
            ">" => (Comparison::Greater, false),
            ">=" => (Comparison::AtLeast, false),
            _ => return Err(self.here(want)),
        };
        self.at += 1;
        let right = self.against(&left)?;
        Ok(maybe(not, Expression::Compare(how, left, right)))
    }

    /// What a field is compared with: a value that it can have.
    fn against(&mut self, left: &Operand) -> Result<Operand, Wrong> {
        let from = self.here("");
        let right = self.operand()?;
        let (field, literal) = match (left, &right) {
            (Operand::Field(field), Operand::Literal(literal))
            | (Operand::Literal(literal), Operand::Field(field)) => (field, literal),
            _ => return Ok(right),
        };
        let Some(holds) = field.holds() else {
            return Ok(right);
        };
        let (fits, want) = match (holds, literal) {
            (Holds::Flag, Literal::Flag(_)) => (true, ""),
            (Holds::Flag, _) => (false, "true or false"),
            (Holds::Small | Holds::Real | Holds::Status, Literal::Number(..)) => (true, ""),
            (Holds::Small | Holds::Real | Holds::Status, _) => (false, "a number"),
            (Holds::Text, Literal::Text(_)) => (true, ""),
            (Holds::Text, _) => (false, "a text in quotes"),
            (Holds::Time, Literal::Time(_)) => (true, ""),
            (Holds::Time, _) => (false, "a time such as 2026-11-22T10:00:00Z"),
            (Holds::Node, Literal::Node(_)) => (true, ""),
            (Holds::Node, _) => (false, "a type such as AlarmConditionType, or [ns=2;s=Node]"),
            (Holds::Bytes, _) => (false, "another field: bytes cannot be typed"),
        };
        match fits {
            true => Ok(right),
            false => Err((from.0, format!("{field} is compared with {want}"))),
        }
    }

    fn operand(&mut self) -> Result<Operand, Wrong> {
        let want = "want a field or a value";
        let Some(placed) = self.tokens.get(self.at) else {
            return Err(self.here(want));
        };
        let operand = match &placed.token {
            Token::Number(number, whole) => Operand::Literal(Literal::Number(*number, *whole)),
            Token::Text(text) => Operand::Literal(Literal::Text(text.clone())),
            Token::Time(ticks) => Operand::Literal(Literal::Time(*ticks)),
            Token::Node(node) => {
                let behind = self.tokens.get(self.at + 1);
                match behind.filter(|it| it.from == placed.to).map(|it| &it.token) {
                    Some(Token::Word(word)) => {
                        let name: Field = word.parse().map_err(|why| (placed.from, why))?;
                        self.at += 1;
                        Operand::Field(Field {
                            of: Some(EventType::Node(node.clone())),
                            ..name
                        })
                    }
                    _ => Operand::Literal(Literal::Node(EventType::Node(node.clone()))),
                }
            }
            Token::Word(word) => named(word).map_err(|why| (placed.from, why))?,
            Token::Sign(_) => return Err(self.here(want)),
        };
        self.at += 1;
        Ok(operand)
    }
}

fn maybe(not: bool, it: Expression) -> Expression {
    match not {
        true => Expression::Not(Box::new(it)),
        false => it,
    }
}

/// Words with a meaning; fields of these names have an `&` before them.
const RESERVED: [&str; 9] = [
    "and", "or", "not", "between", "in", "is", "null", "like", "oftype",
];

/// A flag, a type, or a field.
fn named(word: &str) -> Result<Operand, String> {
    if RESERVED.iter().any(|it| word.eq_ignore_ascii_case(it)) {
        return Err("want a field or a value".to_owned());
    }
    match word {
        "true" => return Ok(Operand::Literal(Literal::Flag(true))),
        "false" => return Ok(Operand::Literal(Literal::Flag(false))),
        _ => {}
    }
    let field = Field::from_str(word)?;
    if field.holds().is_none() && field.of.is_none() && !word.contains([':', '/', '&']) {
        if let Some(kind) = standard::kind(word) {
            let kind = EventType::Standard(kind);
            return Ok(Operand::Literal(Literal::Node(kind)));
        }
        if word.ends_with("Type") {
            return Err(format!(
                "OPC UA has no type called {word} (want one of its own, or a node: [ns=2;i=5])"
            ));
        }
    }
    Ok(Operand::Field(field))
}
