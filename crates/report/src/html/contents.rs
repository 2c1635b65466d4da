//! The parts of a page, each with a heading, and the list of them to go to.

use maud::{Markup, html};

/// The parts of a page in their order.
#[derive(Default)]
pub(super) struct Contents {
    parts: Vec<Part>,
    /// Parts that are added now belong to a chapter.
    inside: bool,
}

struct Part {
    id: String,
    title: String,
    body: Markup,
    /// Whether it belongs to the chapter above.
    inside: bool,
}

impl Contents {
    /// Begins a chapter: what is added from now on belongs to it.
    pub(super) fn chapter(&mut self, id: impl Into<String>, title: &str, body: Markup) {
        self.inside = false;
        self.push(id.into(), title, body);
        self.inside = true;
    }

    /// Ends a chapter.
    pub(super) fn leave(&mut self) {
        self.inside = false;
    }

    /// Adds a part. One without anything in it is left out.
    pub(super) fn add(&mut self, id: impl Into<String>, title: &str, body: Markup) {
        if !body.0.is_empty() {
            self.push(id.into(), title, body);
        }
    }

    fn push(&mut self, id: String, title: &str, body: Markup) {
        self.parts.push(Part {
            id,
            title: title.to_owned(),
            body,
            inside: self.inside,
        });
    }

    /// Where to go.
    pub(super) fn list(&self) -> Markup {
        // A page that fits on a screen needs none.
        if self.parts.len() < 3 {
            return html! {};
        }
        html! {
            nav.contents aria-label="Contents" {
                ul {
                    @for part in &self.parts {
                        li.inside[part.inside] { a href={ "#" (part.id) } { (part.title) } }
                    }
                }
            }
        }
    }

    /// The parts themselves.
    pub(super) fn parts(&self) -> Markup {
        html! {
            @for part in &self.parts {
                section.inside[part.inside] id=(part.id) aria-label=(part.title) {
                    @if part.inside { h3.part { (part.title) } } @else { h2 { (part.title) } }
                    (part.body)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_listed_once_and_an_empty_one_not_at_all() {
        let mut contents = Contents::default();
        contents.chapter("a", "Reads", html! {});
        contents.add("a-times", "Times", html! { p { "1 ms" } });
        contents.add("a-none", "Thresholds", html! {});
        contents.leave();
        contents.add("b", "Over time", html! { p { "2 s" } });
        let page = html! { (contents.list()) (contents.parts()) }.into_string();
        for (id, times) in [("a", 1), ("a-times", 1), ("a-none", 0), ("b", 1)] {
            assert_eq!(
                page.matches(&format!("href=\"#{id}\"")).count(),
                times,
                "{id}"
            );
            assert_eq!(
                page.matches(&format!(" id=\"{id}\"")).count(),
                times,
                "{id}"
            );
        }
        assert!(page.contains("<h2>Reads</h2>") && page.contains("<h3 class=\"part\">Times</h3>"));
        assert!(page.contains("<h2>Over time</h2>"));
    }
}
