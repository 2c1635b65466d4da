//! What stands below each other to a common scale: its heading, the lines of the scale, and what is drawn on them.

use maud::{Markup, html};

use super::scale::Scale;
use crate::page::cut_inside;

/// How wide rows are drawn, and where. Texts keep their size, so a narrow screen gets a drawing of its own, in which a
/// name stands above its row.
struct Paper {
    class: &'static str,
    width: f64,
    /// Where the scale begins.
    left: f64,
    /// Letters that a name has room for.
    letters: usize,
    /// Letters that fit beside each other from where the scale begins.
    across: usize,
    /// How much of a row is there for a name above it.
    above: f64,
}

const PAPERS: [Paper; 2] = [
    Paper {
        class: "wide",
        width: 860.0,
        left: 290.0,
        letters: 36,
        across: 70,
        above: 0.0,
    },
    Paper {
        class: "narrow",
        width: 380.0,
        left: 10.0,
        letters: 48,
        across: 46,
        above: 17.0,
    },
];

/// A row without its name.
const STEP: f64 = 23.0;
/// What the name of a group takes above its first row.
const GROUP: f64 = 22.0;
/// A tick's text, and a gap.
const TICK: f64 = 48.0;

/// Rows that others draw.
pub(super) struct Rows<'a> {
    pub(super) title: &'a str,
    pub(super) note: Markup,
    /// For those who do not see it.
    pub(super) told: &'a str,
    pub(super) scale: Scale,
    /// Room for the figure behind what is drawn.
    pub(super) behind: f64,
    pub(super) rows: Vec<Row<'a>>,
}

/// One of them.
pub(super) struct Row<'a> {
    /// What stands above the first row of a group.
    pub(super) group: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) drawn: Box<dyn Fn(&Place<'_>) -> Markup + 'a>,
}

/// Where a row is drawn.
pub(super) struct Place<'a> {
    scale: &'a Scale,
    pub(super) left: f64,
    room: f64,
    /// Letters that fit into the row.
    pub(super) letters: usize,
    /// The middle of the row.
    pub(super) y: f64,
}

impl Place<'_> {
    /// Where a value lies.
    pub(super) fn of(&self, value: f64) -> f64 {
        self.left + self.scale.at(value) * self.room
    }
}

impl Rows<'_> {
    /// With what stands below.
    pub(super) fn figure(&self, below: &Markup) -> Markup {
        html! {
            figure.chart.bars {
                figcaption { h3 { (self.title) } p.note { (self.note) } }
                div.picture { @for paper in &PAPERS { (self.drawn(paper)) } }
                (below)
            }
        }
    }

    fn drawn(&self, paper: &Paper) -> Markup {
        let room = paper.width - paper.left - self.behind;
        let groups = self.rows.iter().filter(|it| it.group.is_some()).count() as f64;
        let height = 30.0 + groups * GROUP + self.rows.len() as f64 * (STEP + paper.above);
        let mut top = 4.0;
        let rows = self.rows.iter().map(|row| {
            top += row.group.map_or(0.0, |_| GROUP);
            let y = top + paper.above + STEP / 2.0;
            top += paper.above + STEP;
            (row, y)
        });
        let at = |y| Place {
            scale: &self.scale,
            left: paper.left,
            room,
            letters: paper.across,
            y,
        };
        // Texts of ticks stay on the paper.
        let text_at = |tick| {
            let far = paper.width - TICK / 2.0;
            at(0.0).of(tick).clamp(TICK / 2.0, far)
        };
        html! {
            svg class=(paper.class) viewBox={ "0 0 " (paper.width) " " (height) } role="img"
                aria-label={ (self.title) ": " (self.told) " The table below has the figures." } {
                g.grid {
                    @for tick in apart(self.scale.ticks(), text_at) {
                        path d=(format!("M{:.1} 4V{:.1}", at(0.0).of(tick), height - 24.0)) {}
                        text.x x=(format!("{:.1}", text_at(tick))) y=(height - 8.0) { (self.scale.kind.tick(tick)) }
                    }
                }
                @for (row, y) in rows {
                    @let above = y - STEP / 2.0 - paper.above;
                    @if let Some(group) = row.group {
                        text.group x="10" y=(format!("{:.1}", above - 4.0)) { (cut_inside(group, paper.across)) }
                    }
                    @match paper.above > 0.0 {
                        true => text.above x="10" y=(format!("{:.1}", above + 15.0)) { (cut_inside(row.name, paper.letters)) },
                        false => text.label x=(paper.left - 10.0) y=(format!("{:.1}", y + 4.0)) { (cut_inside(row.name, paper.letters)) },
                    }
                    ((row.drawn)(&at(y)))
                }
            }
        }
    }
}

/// Ticks whose texts do not run into each other.
fn apart(mut ticks: Vec<f64>, text_at: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut last = f64::NEG_INFINITY;
    ticks.retain(|tick| {
        let x = text_at(*tick);
        let kept = x - last >= TICK;
        if kept {
            last = x;
        }
        kept
    });
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::scale::Spread;
    use crate::unit::Kind;

    #[test]
    fn each_paper_has_each_row_and_ticks_that_can_be_read() {
        let scale = || Scale::around(Spread::Log, Kind::Nanos, [1e4, 1.5e5].into_iter());
        let drawn = |name| Row {
            group: None,
            name,
            drawn: Box::new(|place| html! { circle cx=(place.of(1e5)) cy=(place.y) {} }),
        };
        let rows = Rows {
            title: "Times",
            note: html! {},
            told: "a row each.",
            scale: scale(),
            behind: 20.0,
            rows: vec![drawn("plc"), drawn("pc")],
        };
        let page = rows.figure(&html! {}).into_string();
        assert_eq!(page.matches("<svg").count(), PAPERS.len(), "{page}");
        assert_eq!(page.matches("<circle").count(), 2 * PAPERS.len());
        for room in [550.0, 350.0, 100.0] {
            // At the edge of the paper a text stands further in than its line.
            let text_at = |tick| (10.0 + scale().at(tick) * room).max(24.0);
            let ticks = apart(scale().ticks(), text_at);
            assert!(!ticks.is_empty());
            for pair in ticks.windows(2) {
                let far = text_at(pair[1]) - text_at(pair[0]);
                assert!(far >= TICK, "{room}: {ticks:?}");
            }
        }
    }
}
