//! A TOML text as a tree that knows where each thing stands, with parameters and sweeps still in it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::complaint::{Wrong, unknown};

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub node: Node,
    pub at: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Scalar(Scalar),
    List(Vec<Item>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub key_at: Range<usize>,
    pub item: Item,
}

/// A single value, as the text that an option would get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar {
    /// In quotes.
    Text(String),
    /// Without.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Number(text) => f.write_str(text),
            Self::Bool(is) => is.fmt(f),
        }
    }
}

/// For people: `100`, `[1, 2]`.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::Scalar(scalar) => scalar.fmt(f),
            Node::List(items) => {
                f.write_str("[")?;
                for (n, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if n == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Node::Table(_) => f.write_str("{…}"),
        }
    }
}

/// The whole text.
pub fn parse(text: &str) -> Result<Item, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        // One line: the rest of a syntax error's message stands in the next ones.
        Wrong::new(&at, "", error.message().replace('\n', ", "))
    })?;
    Ok(Item {
        at: table.span(),
        node: Node::Table(entries(table.get_ref())),
    })
}

/// A value as it is given for a parameter on a command line: TOML if it is that, else a text.
pub fn given(text: &str, at: &Range<usize>) -> Item {
    let mut item = match DeValue::parse(text) {
        Ok(value) => item(&value),
        Err(_) => Item {
            node: Node::Scalar(Scalar::Text(text.to_owned())),
            at: at.clone(),
        },
    };
    item.place(at);
    item
}

fn entries(table: &DeTable<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_at: key.span(),
            item: item(value),
        })
        .collect();
    // The order of the text, not of the alphabet.
    entries.sort_by_key(|entry| entry.key_at.start);
    entries
}

fn item(value: &Spanned<DeValue<'_>>) -> Item {
    let node = match value.get_ref() {
        DeValue::String(text) => Node::Scalar(Scalar::Text(text.to_string())),
        DeValue::Integer(number) => Node::Scalar(Scalar::Number(whole(number))),
        DeValue::Float(number) => Node::Scalar(Scalar::Number(number.as_str().to_owned())),
        DeValue::Boolean(is) => Node::Scalar(Scalar::Bool(*is)),
        DeValue::Datetime(time) => Node::Scalar(Scalar::Text(time.to_string())),
        DeValue::Array(items) => Node::List(items.iter().map(item).collect()),
        DeValue::Table(table) => Node::Table(entries(table)),
    };
    Item {
        node,
        at: value.span(),
    }
}

/// `0x10` and `0b11` are numbers, but not for an option.
fn whole(number: &toml::de::DeInteger<'_>) -> String {
    match i128::from_str_radix(number.as_str(), number.radix()) {
        Ok(value) => value.to_string(),
        Err(_) => number.as_str().to_owned(),
    }
}

impl Item {
    /// Everything in it stands here.
    fn place(&mut self, at: &Range<usize>) {
        self.at = at.clone();
        match &mut self.node {
            Node::Scalar(_) => {}
            Node::List(items) => items.iter_mut().for_each(|item| item.place(at)),
            Node::Table(entries) => entries.iter_mut().for_each(|entry| {
                entry.key_at = at.clone();
                entry.item.place(at);
            }),
        }
    }

    /// The values that are swept over, if it is `{ sweep = [...] }`.
    pub fn sweep(&self, field: &str) -> Result<Option<&[Item]>, Wrong> {
        let Node::Table(entries) = &self.node else {
            return Ok(None);
        };
        // At the top it says how several go together.
        if field.is_empty() {
            return Ok(None);
        }
        let Some(sweep) = entries.iter().find(|entry| entry.key == "sweep") else {
            return Ok(None);
        };
        if let Some(other) = entries.iter().find(|entry| entry.key != "sweep") {
            let what = "does not go with sweep (want { sweep = [1, 2, 3] } alone)";
            return Err(Wrong::new(
                &other.key_at,
                format!("{field}.{}", other.key),
                what,
            ));
        }
        match &sweep.item.node {
            Node::List(values) if !values.is_empty() => Ok(Some(values)),
            _ => Err(Wrong::new(
                &sweep.item.at,
                format!("{field}.sweep"),
                "no values to sweep over (want a list of one or more: { sweep = [1, 2, 3] })",
            )),
        }
    }
}

/// What a text refers to: parameters, and which value of each sweep is meant.
pub struct Choice<'a> {
    /// By name.
    pub parameters: &'a BTreeMap<String, Item>,
    /// By where the sweep stands: which of its values.
    pub chosen: &'a BTreeMap<usize, usize>,
}

impl Choice<'_> {
    /// The same without parameters and sweeps.
    pub fn resolve(&self, item: &Item, field: &str) -> Result<Item, Wrong> {
        if let Some(values) = item.sweep(field)? {
            let chosen = self.chosen.get(&item.at.start).copied().unwrap_or_default();
            let value = values.get(chosen).unwrap_or(item);
            let mut value = self.resolve(value, field)?;
            // A complaint is about this value; it stands in the list.
            value.at = values.get(chosen).unwrap_or(item).at.clone();
            return Ok(value);
        }
        let node = match &item.node {
            Node::Scalar(Scalar::Text(text)) if text.contains('$') => {
                return self.text(text, &item.at, field);
            }
            Node::Scalar(scalar) => Node::Scalar(scalar.clone()),
            Node::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (n, item) in items.iter().enumerate() {
                    let whole = matches!(&item.node, Node::Scalar(Scalar::Text(text)) if name(text).is_some());
                    let item = self.resolve(item, &format!("{field}[{n}]"))?;
                    match item.node {
                        // A list that is a parameter becomes a part of the list.
                        Node::List(items) if whole => list.extend(items),
                        _ => list.push(item),
                    }
                }
                Node::List(list)
            }
            Node::Table(entries) => {
                let resolve = |entry: &Entry| {
                    let field = match field {
                        "" => entry.key.clone(),
                        field => format!("{field}.{}", entry.key),
                    };
                    Ok(Entry {
                        key: entry.key.clone(),
                        key_at: entry.key_at.clone(),
                        item: self.resolve(&entry.item, &field)?,
                    })
                };
                Node::Table(entries.iter().map(resolve).collect::<Result<_, Wrong>>()?)
            }
        };
        Ok(Item {
            node,
            at: item.at.clone(),
        })
    }

    /// `$name` is the parameter, whatever it is; `${name}` in a text is a piece of the text.
    fn text(&self, text: &str, at: &Range<usize>, field: &str) -> Result<Item, Wrong> {
        if let Some(name) = name(text) {
            let mut item = self.resolve(self.parameter(name, at, field)?, field)?;
            item.place(at);
            return Ok(item);
        }
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or_else(|| {
                Wrong::new(
                    at,
                    field,
                    format!("{text:?} has ${{ without }} (want ${{name}})"),
                )
            })?;
            whole.push_str(before);
            let item = self.resolve(self.parameter(name, at, field)?, field)?;
            let Node::Scalar(scalar) = item.node else {
                let what = format!("{text:?}: {name} is not a single value, which a text needs");
                return Err(Wrong::new(at, field, what));
            };
            whole.push_str(&scalar.to_string());
            rest = after;
        }
        whole.push_str(rest);
        Ok(Item {
            node: Node::Scalar(Scalar::Text(whole)),
            at: at.clone(),
        })
    }

    fn parameter(&self, name: &str, at: &Range<usize>, field: &str) -> Result<&Item, Wrong> {
        self.parameters.get(name).ok_or_else(|| {
            let known = self.parameters.keys().map(String::as_str);
            let what = match self.parameters.is_empty() {
                true => "there are no [parameters]".to_owned(),
                false => unknown(name, "parameter", known),
            };
            Wrong::new(at, field, format!("${name}: {what}"))
        })
    }
}

/// The parameter that a text stands for as a whole.
fn name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let word = |c: char| c.is_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(word)).then_some(name)
}
