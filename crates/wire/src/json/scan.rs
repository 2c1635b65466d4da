//! JSON where it lies (RFC 8259): values are visited, not built.
//!
//! [`Value::parse`] looks at all of a text once: what it lets pass is well-formed, to a depth that is bounded, so that
//! going through it later finds no errors and cannot exhaust the stack. Whoever goes through all of it takes
//! [`Value::parse_marked`], which notes where arrays and objects end: they are stepped over then, and not read again at
//! each level around them.

use std::borrow::Cow;

/// So deep may arrays and objects lie in each other.
const DEPTH: usize = 64;

/// The same where ends are noted. A Variant in a Variant takes two levels, and Part 6, 5.1 asks for 100 of them.
const DEPTH_MARKED: usize = 256;

/// A byte of what a string says is written with so many at most: `\u0041` says one.
const LONGEST_ESCAPE: usize = 6;

/// A text that is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no JSON: {wanted} was expected, at byte {offset}")]
pub struct NotJson {
    /// Where it showed.
    pub offset: usize,
    /// What should stand there.
    pub wanted: &'static str,
}

/// Where an array or object ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The byte after it.
    end: u32,
    /// The number of the first array or object behind it.
    next: u32,
}

/// Bytes of a mark: there is one of each array and object.
pub const MARK: usize = size_of::<Mark>();

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`, `false`
    Boolean(bool),
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A well-formed value in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    kind: Kind,
    /// From its first byte to its last.
    text: &'a str,
    /// Where it begins.
    at: usize,
    marks: Marks<'a>,
}

/// The marks of a text, if it has any, and the number of the next array or object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks<'a> {
    all: &'a [Mark],
    next: usize,
}

/// A string in a text, still as it is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// What it says. Half a surrogate pair becomes U+FFFD.
    pub fn read(self) -> Cow<'a, str> {
        match self.0.contains('\\') {
            false => Cow::Borrowed(self.0),
            true => Cow::Owned(unescape(self.0)),
        }
    }

    /// Whether it says this. Allocates only for strings with escapes, and never for those that are too long: each name of an
    /// object is compared with all that its structure has.
    pub fn is(self, what: &str) -> bool {
        let may_be = self.0.len() <= what.len().saturating_mul(LONGEST_ESCAPE);
        self.0 == what || (may_be && self.0.contains('\\') && self.read() == what)
    }
}

impl<'a> Value<'a> {
    /// Reads a text that is one value.
    ///
    /// # Errors
    /// It is no JSON, or nested too deeply.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, NotJson> {
        let whole = Scanner::whole(bytes, None, DEPTH)?;
        Ok(Self::of(whole, &[]))
    }

    /// Reads a text that is one value, and notes in `marks` where its arrays and objects end.
    ///
    /// # Errors
    /// It is no JSON, or nested too deeply.
    pub fn parse_marked(bytes: &'a [u8], marks: &'a mut Vec<Mark>) -> Result<Self, NotJson> {
        marks.clear();
        let whole = Scanner::whole(bytes, Some(&mut *marks), DEPTH_MARKED)?;
        Ok(Self::of(whole, marks))
    }

    fn of((kind, text, at): (Kind, &'a str, usize), all: &'a [Mark]) -> Self {
        let marks = Marks { all, next: 0 };
        Self {
            kind,
            text,
            at,
            marks,
        }
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Where in the text it begins.
    pub fn at(self) -> usize {
        self.at
    }

    /// As it is written.
    pub fn as_written(self) -> &'a str {
        self.text
    }

    /// That of a string.
    pub fn text(self) -> Option<Text<'a>> {
        let inside = self.text.get(1..self.text.len().saturating_sub(1));
        (self.kind == Kind::String).then(|| Text(inside.unwrap_or_default()))
    }

    /// What a string says, or a number as it is written.
    pub fn plain(self) -> Option<Text<'a>> {
        match self.kind {
            Kind::Number => Some(Text(self.text)),
            _ => self.text(),
        }
    }

    /// A number, as Rust reads it.
    pub fn number<T: std::str::FromStr>(self) -> Option<T> {
        (self.kind == Kind::Number).then(|| self.text.parse().ok())?
    }

    /// The values of an array; none of anything else.
    pub fn items(self) -> Items<'a> {
        Items(self.inside(Kind::Array))
    }

    /// Names and values of an object; none of anything else.
    pub fn members(self) -> Members<'a> {
        Members(self.inside(Kind::Object))
    }

    /// The value of this name; of several the first.
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        let mut members = self.members();
        members.find(|(key, _)| key.is(name)).map(|(_, it)| it)
    }

    fn inside(self, kind: Kind) -> Walk<'a> {
        let inside = match self.kind == kind {
            true => self.text.get(1..self.text.len().saturating_sub(1)),
            false => None,
        };
        let Marks { all, next } = self.marks;
        Walk {
            rest: inside.unwrap_or_default(),
            at: self.at + 1,
            marks: Marks {
                all,
                next: next + 1,
            },
        }
    }
}

/// The values of an array.
#[derive(Debug, Clone)]
pub struct Items<'a>(Walk<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.0.value()
    }
}

/// Names and values of an object.
#[derive(Debug, Clone)]
pub struct Members<'a>(Walk<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, Value<'a>);

    fn next(&mut self) -> Option<(Text<'a>, Value<'a>)> {
        let name = self.0.value()?.text()?;
        Some((name, self.0.value()?))
    }
}

/// Goes from value to value inside of an array or object that is known to be well-formed.
#[derive(Debug, Clone, Copy)]
struct Walk<'a> {
    rest: &'a str,
    at: usize,
    marks: Marks<'a>,
}

impl<'a> Walk<'a> {
    /// The length of the array or object that begins here.
    fn nested_len(&mut self, bytes: &[u8], at: usize) -> usize {
        let Some(mark) = self.marks.all.get(self.marks.next) else {
            return nested_end(bytes);
        };
        self.marks.next = mark.next as usize;
        (mark.end as usize).saturating_sub(at)
    }

    fn value(&mut self) -> Option<Value<'a>> {
        let between = |byte: &u8| !matches!(byte, b',' | b':' | b' ' | b'\t' | b'\n' | b'\r');
        let skip = self.rest.bytes().position(|byte| between(&byte))?;
        let text = self.rest.get(skip..)?;
        let bytes = text.as_bytes();
        let at = self.at + skip;
        let marks = self.marks;
        let (kind, len) = match bytes.first()? {
            b'"' => (Kind::String, string_end(bytes)),
            b'[' => (Kind::Array, self.nested_len(bytes, at)),
            b'{' => (Kind::Object, self.nested_len(bytes, at)),
            first => {
                let len = bytes.iter().position(|byte| !between(byte));
                let kind = match first {
                    b'n' => Kind::Null,
                    b't' => Kind::Boolean(true),
                    b'f' => Kind::Boolean(false),
                    _ => Kind::Number,
                };
                (kind, len.unwrap_or(bytes.len()))
            }
        };
        let (text, rest) = text.split_at_checked(len)?;
        self.rest = rest;
        self.at = at + len;
        Some(Value {
            kind,
            text,
            at,
            marks,
        })
    }
}

/// The byte after a string that begins here.
fn string_end(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The byte after an array or object that begins here.
fn nested_end(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += string_end(bytes.get(at..).unwrap_or_default());
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Looks whether a text is well-formed.
#[derive(Debug)]
struct Scanner<'a, 'm> {
    text: &'a str,
    at: usize,
    marks: Option<&'m mut Vec<Mark>>,
}

impl<'a, 'm> Scanner<'a, 'm> {
    /// The one value that a text is, and where it begins.
    fn whole(
        bytes: &'a [u8],
        marks: Option<&'m mut Vec<Mark>>,
        depth: usize,
    ) -> Result<(Kind, &'a str, usize), NotJson> {
        let text = std::str::from_utf8(bytes).map_err(|error| NotJson {
            offset: error.valid_up_to(),
            wanted: "a text in UTF-8",
        })?;
        let mut scanner = Scanner { text, at: 0, marks };
        scanner.space();
        let at = scanner.at;
        let kind = scanner.value(depth)?;
        let end = scanner.at;
        scanner.space();
        match scanner.peek() {
            None => Ok((kind, text.get(at..end).unwrap_or_default(), at)),
            Some(_) => Err(scanner.fail("the end of the text")),
        }
    }

    /// Goes through an array or object, and notes where it ends.
    fn nested(
        &mut self,
        depth: usize,
        inside: fn(&mut Self, usize) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        let number = self.marks.as_mut().map(|marks| {
            marks.push(Mark { end: 0, next: 0 });
            marks.len() - 1
        });
        inside(self, depth)?;
        let end = u32::try_from(self.at).map_err(|_| self.fail("less than 4 GiB"))?;
        if let (Some(marks), Some(number)) = (self.marks.as_mut(), number) {
            let next = u32::try_from(marks.len()).unwrap_or(u32::MAX);
            if let Some(mark) = marks.get_mut(number) {
                *mark = Mark { end, next };
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    #[cold]
    fn fail(&self, wanted: &'static str) -> NotJson {
        NotJson {
            offset: self.at,
            wanted,
        }
    }

    fn value(&mut self, depth: usize) -> Result<Kind, NotJson> {
        let Some(deeper) = depth.checked_sub(1) else {
            return Err(self.fail("an end: arrays and objects are nested too deeply"));
        };
        match self.peek() {
            Some(b'"') => self.string().map(|()| Kind::String),
            Some(b'{') => self.nested(deeper, Self::object).map(|()| Kind::Object),
            Some(b'[') => self.nested(deeper, Self::array).map(|()| Kind::Array),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| Kind::Number),
            _ => {
                for (word, kind) in [
                    ("null", Kind::Null),
                    ("true", Kind::Boolean(true)),
                    ("false", Kind::Boolean(false)),
                ] {
                    let rest = self.text.get(self.at..).unwrap_or_default();
                    if rest.starts_with(word) {
                        self.at += word.len();
                        return Ok(kind);
                    }
                }
                Err(self.fail("a value"))
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), NotJson> {
        self.at += 1;
        self.space();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.space();
            self.value(depth)?;
            self.space();
            match self.take(b',') {
                true => {}
                false if self.take(b']') => return Ok(()),
                false => return Err(self.fail("a comma or the end of the array")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), NotJson> {
        self.at += 1;
        self.space();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.fail("a name in quotes"));
            }
            self.string()?;
            self.space();
            if !self.take(b':') {
                return Err(self.fail("a colon"));
            }
            self.space();
            self.value(depth)?;
            self.space();
            match self.take(b',') {
                true => {}
                false if self.take(b'}') => return Ok(()),
                false => return Err(self.fail("a comma or the end of the object")),
            }
        }
    }

    fn string(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1
                        }
                        Some(b'u') => {
                            let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
                            if !digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(self.fail("four hexadecimal digits"));
                            }
                            self.at += 5;
                        }
                        _ => return Err(self.fail("an escape of JSON")),
                    }
                }
                Some(0x20..) => self.at += 1,
                Some(_) => return Err(self.fail("no control character in a string")),
                None => return Err(self.fail("the end of the string")),
            }
        }
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fail("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        // What follows is looked at by whoever asked: "01" ends after its zero.
        Ok(())
    }
}

/// The characters that a string with escapes stands for.
fn unescape(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut following = escape.chars();
        match following.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let (character, after) = unicode(escape);
                out.push(character);
                rest = after;
                continue;
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = following.as_str();
    }
    out.push_str(rest);
    out
}

/// The character of `uXXXX`, or of two of them with a backslash between, and what follows.
fn unicode(escape: &str) -> (char, &str) {
    let unit = |text: &str| u32::from_str_radix(text.get(1..5)?, 16).ok();
    let rest = escape.get(5..).unwrap_or_default();
    let Some(high) = unit(escape) else {
        return (char::REPLACEMENT_CHARACTER, rest);
    };
    if let Some(it) = char::from_u32(high) {
        return (it, rest);
    }
    let low = rest.strip_prefix("\\u").and_then(|_| unit(rest.get(1..)?));
    let pair = low.filter(|low| high < 0xdc00 && (0xdc00..0xe000).contains(low));
    let both =
        pair.and_then(|low| char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
    match both {
        Some(it) => (it, rest.get(6..).unwrap_or_default()),
        None => (char::REPLACEMENT_CHARACTER, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_visited_where_it_lies() {
        let text = br#" {"a": [1, -2.5e3, "x\"]", null ], "b":{"c":true}, "a":0} "#;
        let value = Value::parse(text).unwrap();
        let items: Vec<_> = value.get("a").unwrap().items().collect();
        let written: Vec<_> = items.iter().map(|it| it.as_written()).collect();
        assert_eq!(written, ["1", "-2.5e3", r#""x\"]""#, "null"]);
        for it in items {
            assert!(
                text.get(it.at()..)
                    .unwrap()
                    .starts_with(it.as_written().as_bytes())
            );
        }
        let c = value.get("b").unwrap().get("c").unwrap();
        assert_eq!(c.kind(), Kind::Boolean(true));
        assert_eq!(value.members().count(), 3);
        assert_eq!(value.get("a").unwrap().kind(), Kind::Array);
    }

    #[test]
    fn a_text_with_marks_is_visited_as_one_without() {
        fn same(a: Value<'_>, b: Value<'_>) {
            assert_eq!(
                (a.kind(), a.at(), a.as_written()),
                (b.kind(), b.at(), b.as_written())
            );
            let (all, marked): (Vec<_>, Vec<_>) = (a.items().collect(), b.items().collect());
            assert_eq!(all.len(), marked.len());
            all.into_iter().zip(marked).for_each(|(a, b)| same(a, b));
            let (all, marked): (Vec<_>, Vec<_>) = (a.members().collect(), b.members().collect());
            assert_eq!(all.len(), marked.len());
            for ((name, a), (marked, b)) in all.into_iter().zip(marked) {
                assert_eq!(name, marked);
                same(a, b);
            }
        }
        let text = br#" {"a":[ [1,[2,{}]], {"b":[]}, "]" ],"c":{"d":{"e":[3]},"f":4} , "g":[[]]}"#;
        let mut marks = Vec::new();
        let marked = Value::parse_marked(text, &mut marks).unwrap();
        same(Value::parse(text).unwrap(), marked);
        assert_eq!(marked.get("g").unwrap().items().count(), 1);
        // And what marks are for: depth that would otherwise be read again at each level.
        let deep = ["[".repeat(256), "]".repeat(256)].concat();
        assert!(Value::parse_marked(deep.as_bytes(), &mut Vec::new()).is_ok());
        let deeper = ["[".repeat(257), "]".repeat(257)].concat();
        assert!(Value::parse_marked(deeper.as_bytes(), &mut Vec::new()).is_err());
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_goes_wrong() {
        for (text, at) in [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 2),
            ("\"a\nb\"", 2),
            ("\"open", 5),
            ("nul", 0),
            ("1 1", 2),
        ] {
            let error = Value::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.offset, at, "{text}: {error}");
        }
        assert!(Value::parse(b"\"\xff\"").is_err());
        let deep = ["[".repeat(65), "]".repeat(65)].concat();
        assert!(Value::parse(deep.as_bytes()).is_err());
        let less = ["[".repeat(64), "]".repeat(64)].concat();
        assert!(Value::parse(less.as_bytes()).is_ok());
    }

    #[test]
    fn escapes_stand_for_their_characters() {
        for (written, says) in [
            (r#""a\nb\/\\""#, "a\nb/\\"),
            (r#""\u00e9\uD83D\uDE00""#, "é😀"),
            (r#""\ud800x""#, "\u{fffd}x"),
            (r#""\udc00\ud800""#, "\u{fffd}\u{fffd}"),
        ] {
            let value = Value::parse(written.as_bytes()).unwrap();
            assert_eq!(value.text().unwrap().read(), says);
            assert!(value.text().unwrap().is(says));
        }
    }
}
