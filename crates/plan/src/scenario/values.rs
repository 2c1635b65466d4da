//! Entries of a scenario's tables, as what they are to be.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use super::complaint::{Wrong, unknown};
use super::tree::{Entry, Item, Node, Scalar};
use super::vocabulary::{Key, Refusal, Setting, Shape};
use crate::threshold::{Threshold, ThresholdError};

/// The entries of a table.
pub fn table<'a>(item: &'a Item, field: &str) -> Result<&'a [Entry], Wrong> {
    match &item.node {
        Node::Table(entries) => Ok(entries),
        _ => Err(Wrong::new(
            &item.at,
            field,
            "is no table (want keys with values)",
        )),
    }
}

/// One value, read as what it is to be.
pub fn one<T: FromStr<Err: Display>>(item: &Item, field: &str, want: &str) -> Result<T, Wrong> {
    let Node::Scalar(scalar) = &item.node else {
        return Err(Wrong::new(&item.at, field, format!("{item} (want {want})")));
    };
    let text = scalar.to_string();
    text.parse()
        .map_err(|_| Wrong::new(&item.at, field, format!("{text:?} (want {want})")))
}

/// One of some words.
pub fn word<T: Copy>(item: &Item, field: &str, words: &[(&str, T)]) -> Result<T, Wrong> {
    let text = item.to_string();
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Wrong::new(
            &item.at,
            field,
            format!("{text:?} (want {})", words.join(" or ")),
        )
    })
}

/// One text or several.
pub fn texts(item: &Item, field: &str) -> Result<Vec<(String, Range<usize>)>, Wrong> {
    let items = match &item.node {
        Node::List(items) => items.as_slice(),
        Node::Scalar(_) => std::slice::from_ref(item),
        Node::Table(_) => {
            return Err(Wrong::new(
                &item.at,
                field,
                "is a table (want a value or a list)",
            ));
        }
    };
    let text = |item: &Item| match &item.node {
        Node::Scalar(scalar) => Ok((scalar.to_string(), item.at.clone())),
        _ => Err(Wrong::new(
            &item.at,
            field,
            "is no single value (want a list of values)",
        )),
    };
    items.iter().map(text).collect()
}

/// Conditions.
pub fn thresholds(item: &Item, field: &str) -> Result<Vec<Threshold>, Wrong> {
    let parse = |(text, at): (String, Range<usize>)| {
        text.parse()
            .map_err(|error: ThresholdError| Wrong::new(&at, field, error.to_string()))
    };
    texts(item, field)?.into_iter().map(parse).collect()
}

/// An entry as the setting of a key.
pub fn setting(entry: &Entry, field: &str, keys: &[Key], own: &[Key]) -> Result<Setting, Wrong> {
    let field = format!("{field}.{}", entry.key);
    let Some(key) = keys.iter().find(|key| key.is(&entry.key)) else {
        let known = keys.iter().chain(own).map(|key| key.name.as_str());
        return Err(Wrong::new(
            &entry.key_at,
            field,
            unknown(&entry.key, "key", known),
        ));
    };
    let wrong = |what: String| Wrong::new(&entry.item.at, field.clone(), what);
    let values = match (&entry.item.node, key.shape) {
        (Node::Scalar(scalar @ Scalar::Bool(_)), Shape::Flag) => vec![scalar.clone()],
        (_, Shape::Flag) => return Err(wrong(format!("{} (want true or false)", entry.item))),
        (Node::Scalar(scalar), _) => vec![scalar.clone()],
        (Node::List(items), Shape::Many) => {
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                match &item.node {
                    Node::Scalar(scalar) => values.push(scalar.clone()),
                    _ => {
                        return Err(Wrong::new(
                            &item.at,
                            field,
                            "a list within a list (want single values)",
                        ));
                    }
                }
            }
            values
        }
        (Node::List(_), Shape::One) => {
            let told = "a list (want one value, or { sweep = [...] } to measure with each of them)";
            return Err(wrong(told.to_owned()));
        }
        (Node::Table(_), _) => {
            return Err(wrong(
                "a table (want a value, or { sweep = [...] })".to_owned(),
            ));
        }
    };
    Ok(Setting {
        option: key.option.clone(),
        shape: key.shape,
        values,
        at: entry.item.at.clone(),
        field,
    })
}

/// A refusal, at the place of the setting that it is about.
pub fn refused(refusal: Refusal, settings: &[Setting], item: &Item, field: &str) -> Wrong {
    let about = refusal.option.as_ref();
    let setting = settings
        .iter()
        .find(|setting| about.is_some_and(|option| *option == setting.option));
    match (setting, about) {
        (Some(setting), _) => Wrong::new(&setting.at, setting.field.clone(), refusal.what),
        (None, Some(option)) => {
            let field = format!("{field}.{}", option.replace('-', "_"));
            Wrong::new(&item.at, field, refusal.what)
        }
        (None, None) => Wrong::new(&item.at, field, refusal.what),
    }
}
