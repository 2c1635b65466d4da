//! A document as a tree whose elements know their lines.

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// Elements in elements: more is no node set.
const DEEPEST: usize = 100;

/// An element; prefixes are left out of names.
#[derive(Debug, Clone, Default)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Attributes in their order.
    pub attributes: Vec<(String, String)>,
    /// Elements in it.
    pub children: Vec<Element>,
    /// Text in it, without the blanks around it.
    pub text: String,
    /// Where it begins, from 1 on.
    pub line: usize,
}

impl Element {
    /// An attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The first element of this name in it.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first element of this name in it; empty without one.
    pub fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |child| child.text.as_str())
    }
}

/// Reads a document. An error is a line and what is wrong there.
pub fn read(text: &str) -> Result<Element, (usize, String)> {
    let mut reader = Reader::from_str(text);
    let mut lines = Lines {
        text,
        passed: 0,
        line: 1,
    };
    let mut open: Vec<Element> = Vec::new();
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let line = lines.at(at);
        let event = reader.read_event();
        let wrong = |what: String| (line, what);
        match event.map_err(|error| wrong(error.to_string()))? {
            Event::Start(start) => {
                if open.len() == DEEPEST {
                    return Err(wrong(format!("more than {DEEPEST} elements in each other")));
                }
                open.push(element(&start, line).map_err(wrong)?);
            }
            Event::Empty(start) => {
                let element = element(&start, line).map_err(wrong)?;
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => return Ok(element),
                }
            }
            Event::End(_) => {
                let Some(mut element) = open.pop() else {
                    return Err(wrong("an end without a beginning".to_owned()));
                };
                element.text = element.text.trim().to_owned();
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => return Ok(element),
                }
            }
            Event::Text(text) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text.xml10_content());
                }
            }
            Event::CData(text) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(name) => {
                let c = name
                    .resolve_char_ref()
                    .map_err(|error| wrong(error.to_string()))?;
                let own = resolve_predefined_entity(&name);
                let Some(element) = open.last_mut() else {
                    continue;
                };
                match (c, own) {
                    (Some(c), _) => element.text.push(c),
                    (None, Some(text)) => element.text.push_str(text),
                    (None, None) => {
                        return Err(wrong(format!(
                            "the entity &{}; is not known (want &amp; &lt; &gt; &quot; &apos;, or a number)",
                            &*name
                        )));
                    }
                }
            }
            Event::Eof => {
                let what = match open.last() {
                    Some(element) => format!(
                        "the file ends in {}, which begins in line {}",
                        element.name, element.line
                    ),
                    None => {
                        "there is no element in it (want a NodeSet2 file, XML with a UANodeSet)"
                            .to_owned()
                    }
                };
                return Err(wrong(what));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

fn element(start: &BytesStart<'_>, line: usize) -> Result<Element, String> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Explicit1_0);
        let value = value.map_err(|error| error.to_string())?;
        attributes.push((
            attribute.key.local_name().as_ref().to_owned(),
            value.into_owned(),
        ));
    }
    Ok(Element {
        name: start.local_name().as_ref().to_owned(),
        attributes,
        line,
        ..Element::default()
    })
}

/// Lines by places that only go on.
struct Lines<'a> {
    text: &'a str,
    passed: usize,
    line: usize,
}

impl Lines<'_> {
    fn at(&mut self, place: usize) -> usize {
        let between = self.text.as_bytes().get(self.passed..place);
        let between = between.unwrap_or_default();
        self.line += between.iter().filter(|&&byte| byte == b'\n').count();
        self.passed = place.max(self.passed);
        self.line
    }
}
