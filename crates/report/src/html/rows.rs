//! What stands below each other to a common scale: its heading, the lines of the scale, and what is drawn on them.

use maud::{Markup, html};

use super::scale::Scale;

/// Where the scale begins; names stand in front of it.
pub(super) const LEFT: f64 = 290.0;

/// The frame of rows that others draw.
pub(super) struct Rows<'a> {
    pub(super) title: &'a str,
    pub(super) note: Markup,
    /// For those who do not see it.
    pub(super) told: &'a str,
    pub(super) scale: Scale,
    /// How wide the scale is.
    pub(super) room: f64,
    pub(super) height: f64,
}

impl Rows<'_> {
    /// Where a value lies.
    pub(super) fn place(&self, value: f64) -> f64 {
        LEFT + self.scale.at(value) * self.room
    }

    /// With its rows, and with what stands below.
    pub(super) fn figure(&self, rows: &Markup, below: &Markup) -> Markup {
        let height = self.height;
        html! {
            figure.chart.bars {
                figcaption { h3 { (self.title) } p.note { (self.note) } }
                div.picture { svg viewBox={ "0 0 860 " (height) } role="img"
                    aria-label={ (self.title) ": " (self.told) " The table below has the figures." } {
                    g.grid {
                        @for tick in self.scale.ticks() {
                            @let x = self.place(tick);
                            path d=(format!("M{x:.1} 4V{:.1}", height - 24.0)) {}
                            text.x x=(format!("{x:.1}")) y=(height - 8.0) { (self.scale.kind.tick(tick)) }
                        }
                    }
                    (rows)
                } }
                (below)
            }
        }
    }
}
