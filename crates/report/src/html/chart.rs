//! Charts as SVG, with the values beside them for the script that reads them off.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::scale::Scale;
use crate::unit::raw;

/// How wide a picture is drawn. Its texts keep their size, so a narrow screen gets a drawing of its own.
#[derive(Clone, Copy)]
struct Paper {
    class: &'static str,
    width: f64,
    left: f64,
}

const PAPERS: [Paper; 2] = [
    Paper {
        class: "wide",
        width: 860.0,
        left: 66.0,
    },
    Paper {
        class: "narrow",
        width: 380.0,
        left: 66.0,
    },
];

const RIGHT: f64 = 14.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 40.0;
/// A letter is about so wide.
const LETTER: f64 = 6.6;

/// What a picture that stands alone needs of the page's style.
const ALONE: &str = "svg{--paper:#fff;--ink:#15191e;--soft:#566070;--hair:#dde1e7;font:12px system-ui,'DejaVu Sans',sans-serif}\
.c0{--c:#0b5fb3}.c1{--c:#00746a}.c2{--c:#b0500a}.c3{--c:#7a3fb0}.c4{--c:#4c6a00}.c5{--c:#a8326f}.c6{--c:#b3261e}.c7{--c:#5b6675}\
@media(prefers-color-scheme:dark){svg{--paper:#15181c;--ink:#e7eaee;--soft:#9aa5b4;--hair:#2d333c}\
.c0{--c:#6db3ff}.c1{--c:#45cbb8}.c2{--c:#f2a65a}.c3{--c:#c39bf2}.c4{--c:#a6cc52}.c5{--c:#f28ab8}.c6{--c:#ff8a80}.c7{--c:#a3adba}}\
.sheet{fill:var(--paper)}text{fill:var(--soft)}.title{fill:var(--ink);font-size:15px;font-weight:650}\
.x{text-anchor:middle}.y,.of{text-anchor:end}.of.y{text-anchor:start}\
.grid path{stroke:var(--hair);fill:none}.grid .axis,.grid .t{stroke:var(--soft)}\
.line{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}.thin .line{stroke-width:1;opacity:.55}\
.end{text-anchor:end;fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3px}\
.dashed .line{stroke-dasharray:5 4}.errors{fill:none;stroke:var(--c);opacity:.5}\
.area{fill:var(--c);opacity:.16}.band{fill:var(--c);opacity:.15}.fill{fill:var(--c);opacity:.75}\
.curve circle{fill:var(--c)}.rings circle{fill:var(--paper);stroke:var(--c);stroke-width:1.8}.cursor{fill:none}[hidden]{display:none}";

/// A chart.
pub(crate) struct Chart {
    /// Unique on the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// One sentence for those who do not see it.
    pub(crate) told: String,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    /// What the axes are of.
    pub(crate) x_of: String,
    pub(crate) y_of: String,
    pub(crate) series: Vec<Series>,
    pub(crate) zones: Vec<Zone>,
    pub(crate) height: f64,
}

/// Points that belong together.
pub(crate) struct Series {
    pub(crate) name: String,
    /// What it is switched on and off with.
    pub(crate) layer: String,
    /// 0 to 7.
    pub(crate) colour: usize,
    pub(crate) drawn: Drawn,
    /// Gaps are values that are not numbers.
    pub(crate) points: Vec<(f64, f64)>,
    /// Low and high at the same places; empty without.
    pub(crate) band: Vec<(f64, f64)>,
    /// The band as a bar at each point: surfaces of several curves over each other hide them.
    pub(crate) barred: bool,
    /// The line in dashes, where a colour has two.
    pub(crate) dashed: bool,
    /// Switched off at first.
    pub(crate) hidden: bool,
    /// What stands at its end, where a layer has several lines.
    pub(crate) end: Option<&'static str>,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    Line,
    /// A line of second rank.
    Thin,
    /// The surface below.
    Area,
    /// Circles that are joined.
    Curve,
    /// Rings: what others published.
    Rings,
    /// A surface on top of another one: `band` is where it lies, the points are its own height.
    Stack,
}

/// A part of the x axis with a name.
pub(crate) struct Zone {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) name: String,
    /// Not part of the figures.
    pub(crate) left_out: bool,
}

impl Series {
    pub(crate) fn new(name: &str, layer: &str, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            layer: layer.to_owned(),
            colour: colour % 8,
            drawn: Drawn::Line,
            points,
            band: Vec::new(),
            barred: false,
            dashed: false,
            hidden: false,
            end: None,
        }
    }

    pub(crate) fn ended(mut self, end: &'static str) -> Self {
        self.end = Some(end);
        self
    }

    /// The classes of its colour and its line.
    fn ink(&self) -> String {
        let dashed = if self.dashed { " dashed" } else { "" };
        format!("c{}{dashed}", self.colour)
    }

    pub(crate) fn dashed(mut self, dashed: bool) -> Self {
        self.dashed = dashed;
        self
    }

    pub(crate) fn drawn(mut self, drawn: Drawn) -> Self {
        self.drawn = drawn;
        self
    }

    pub(crate) fn hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }
}

impl Chart {
    /// The figure: title, layers to switch, picture, data.
    pub(crate) fn figure(&self, note: Option<&str>) -> Markup {
        let mut layers: Vec<&Series> = Vec::new();
        for series in &self.series {
            if !layers.iter().any(|it| it.layer == series.layer) {
                layers.push(series);
            }
        }
        html! {
            figure.chart id=(self.id) {
                figcaption {
                    h3 { (self.title) }
                    @if let Some(note) = note { p.note { (note) } }
                }
                @if layers.len() > 1 || !layers.is_empty() && layers[0].layer != self.title {
                    div.layers role="group" aria-label={ "Layers of " (self.title) } {
                        @for it in &layers {
                            button type="button" class=(it.ink()) data-layer=(it.layer)
                                aria-pressed=(if it.hidden { "false" } else { "true" }) {
                                span.key aria-hidden="true" {} (it.layer)
                            }
                        }
                    }
                }
                div.picture {
                    @for paper in PAPERS { (Drawing { chart: self, paper }.svg()) }
                    output aria-live="polite" {}
                }
                script.values type="application/json" { (PreEscaped(self.json())) }
                details.data { summary { "Data" } div.table {} }
            }
        }
    }

    /// The picture alone, as a file: title and legend above it, colours for light and dark. Without links, scripts and fonts.
    pub(crate) fn alone(&self) -> String {
        let paper = PAPERS[0];
        let mut names: Vec<&Series> = Vec::new();
        for series in self.series.iter().filter(|it| !it.hidden) {
            if !names.iter().any(|it| it.layer == series.layer) {
                names.push(series);
            }
        }
        // A line for the title, and as many as the legend takes.
        let mut legend: Vec<(f64, f64, &Series)> = Vec::new();
        let (mut x, mut y) = (paper.left, 46.0);
        for it in names {
            // Capitals are wider than most letters.
            let wide = 36.0 + 1.08 * LETTER * it.layer.chars().count() as f64;
            if x + wide > paper.width - RIGHT && x > paper.left {
                (x, y) = (paper.left, y + 18.0);
            }
            legend.push((x, y, it));
            x += wide;
        }
        let above = y + 10.0;
        let height = above + self.height;
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {} {}", paper.width, f(height)))
                width=(paper.width) height=(f(height)) role="img" aria-label=(self.title) {
                style { (PreEscaped(ALONE)) }
                rect.sheet width="100%" height="100%" {}
                text.title x=(paper.left) y="20" { (self.title) }
                @for (x, y, it) in &legend {
                    g class=(it.ink()) {
                        path.line d=(format!("M{} {}h14", f(*x), f(y - 4.0))) {}
                        text x=(f(x + 19.0)) y=(f(*y)) { (it.layer) }
                    }
                }
                g transform=(format!("translate(0 {})", f(above))) {
                    (Drawing { chart: self, paper }.svg())
                }
            }
        };
        // Inside a picture the drawing is no picture of its own size.
        let text = picture.into_string();
        let size = format!(
            "<svg width=\"{}\" height=\"{}\" class=\"wide\"",
            paper.width, self.height
        );
        text.replacen("<svg class=\"wide\"", &size, 1)
    }

    /// What the script reads off: axes, and the values of each series. A series with the same places as
    /// the one before says so.
    fn json(&self) -> String {
        let axis = |scale: &Scale, of: &str| {
            format!(
                "{{\"k\":\"{}\",\"s\":\"{:?}\",\"a\":{},\"b\":{},\"of\":{}}}",
                scale.kind.name(),
                scale.spread,
                raw(scale.low),
                raw(scale.high),
                quoted(of)
            )
        };
        let mut text = format!(
            "{{\"x\":{},\"y\":{},\"s\":[",
            axis(&self.x, &self.x_of),
            axis(&self.y, &self.y_of)
        );
        let mut before: Vec<f64> = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            let xs: Vec<f64> = series.points.iter().map(|point| point.0).collect();
            let ys = series.points.iter().map(|point| raw(point.1));
            let places = match xs == before && i > 0 {
                true => "0".to_owned(),
                false => list(xs.iter().map(|x| raw_place(*x))),
            };
            before = xs;
            let comma = if i > 0 { "," } else { "" };
            let _ = write!(
                text,
                "{comma}{{\"n\":{},\"l\":{},\"x\":{places},\"y\":{}",
                quoted(&series.name),
                quoted(&series.layer),
                list(ys)
            );
            if !series.band.is_empty() && series.drawn != Drawn::Stack {
                let low = list(series.band.iter().map(|it| raw(it.0)));
                let high = list(series.band.iter().map(|it| raw(it.1)));
                let _ = write!(text, ",\"lo\":{low},\"hi\":{high}");
            }
            text.push('}');
        }
        text.push_str("]}");
        text
    }
}

/// A chart on paper.
struct Drawing<'a> {
    chart: &'a Chart,
    paper: Paper,
}

impl Drawing<'_> {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let Paper { width, left, .. } = self.paper;
        let height = self.chart.height;
        (
            left + self.chart.x.at(x) * (width - left - RIGHT),
            height - BOTTOM - self.chart.y.at(y) * (height - TOP - BOTTOM),
        )
    }

    /// Where the x axis has marks, each with its number where there is room for it.
    fn numbers(&self) -> Vec<(f64, Option<String>)> {
        let mut end = f64::NEG_INFINITY;
        let mut numbers = Vec::new();
        for tick in self.chart.x.ticks() {
            let (x, _) = self.place((tick, self.chart.y.low));
            let text = self.chart.x.kind.tick(tick);
            let half = LETTER * text.chars().count() as f64 / 2.0;
            let fits = x - half > end + LETTER;
            if fits {
                end = x + half;
            }
            numbers.push((x, fits.then_some(text)));
        }
        numbers
    }

    fn svg(&self) -> Markup {
        let Paper {
            class: paper,
            width,
            left,
        } = self.paper;
        let (bottom, right) = (self.chart.height - BOTTOM, width - RIGHT);
        let title = format!("{}-{paper}-t", self.chart.id);
        let told = format!("{}-{paper}-d", self.chart.id);
        let edges = format!("{left},{right},{TOP},{bottom}");
        let ends = self.ends();
        html! {
            svg.(paper) viewBox={ "0 0 " (width) " " (self.chart.height) } data-box=(edges) role="img" tabindex="0"
                aria-labelledby={ (title) " " (told) } {
                title id=(title) { (self.chart.title) }
                desc id=(told) { (self.chart.told) }
                @for zone in &self.chart.zones {
                    @let (from, _) = self.place((zone.from, self.chart.y.low));
                    @let (to, _) = self.place((zone.to, self.chart.y.low));
                    rect.zone.out[zone.left_out] x=(f(from)) y=(TOP) width=(f((to - from).max(0.0)))
                        height=(f(bottom - TOP)) {
                            title { (zone.name) }
                        }
                    // A name that is wider than its zone would run into the next one's.
                    @if !zone.name.is_empty() && to - from > LETTER * zone.name.len() as f64 + 8.0 {
                        text.zone x=(f(from + 4.0)) y=(TOP - 7.0) { (zone.name) }
                    }
                }
                g.grid {
                    @for tick in self.chart.y.ticks() {
                        @let (_, y) = self.place((self.chart.x.low, tick));
                        path d=(format!("M{left} {}H{right}", f(y))) {}
                        text.y x=(left - 8.0) y=(f(y + 4.0)) { (self.chart.y.kind.tick(tick)) }
                    }
                    @for (x, number) in self.numbers() {
                        path.t d=(format!("M{} {bottom}v5", f(x))) {}
                        @if let Some(number) = number { text.x x=(f(x)) y=(bottom + 19.0) { (number) } }
                    }
                    path.axis d=(format!("M{left} {bottom}H{right}")) {}
                }
                text.of x=(right) y=(self.chart.height - 4.0) { (self.chart.x_of) }
                text.of.y x="0" y="11" { (self.chart.y_of) }
                @for (series, end) in self.chart.series.iter().zip(&ends) {
                    g class=(format!("series {} {}", series.ink(), class(series.drawn)))
                        data-layer=(series.layer) hidden=[series.hidden.then_some("hidden")] {
                        @match series.drawn {
                            Drawn::Stack => path.fill d=(self.stack(series)) {},
                            _ if series.barred => path.errors d=(self.bars(series)) {},
                            _ if !series.band.is_empty() => path.band d=(self.band(series)) {},
                            _ => {}
                        }
                        @if series.drawn == Drawn::Area { path.area d=(self.area(series)) {} }
                        @if !matches!(series.drawn, Drawn::Rings | Drawn::Stack) { path.line d=(self.line(series)) {} }
                        @if let Some((text, x, y)) = end {
                            text.end x=(f(*x)) y=(f(*y)) { (text) }
                        }
                        @if matches!(series.drawn, Drawn::Rings | Drawn::Curve) {
                            @for point in series.points.iter().filter(|it| self.has_place(it)) {
                                @let (x, y) = self.place(*point);
                                circle cx=(f(x)) cy=(f(y)) r=(if series.drawn == Drawn::Rings { 4.5 } else { 3.0 }) {}
                            }
                        }
                    }
                }
                path.cursor d="" {}
            }
        }
    }

    /// What stands at the ends of lines, and where; of a layer's lines that end in the same place, at the first.
    fn ends(&self) -> Vec<Option<(&'static str, f64, f64)>> {
        let mut taken: Vec<(&str, f64, f64)> = Vec::new();
        let of = |series: &Series| {
            let last = series.points.iter().rev().find(|it| self.has_place(it));
            let (x, y) = self.place(*last?);
            let y = y - 5.0;
            Some((series.end?, x, y))
        };
        let mut ends = Vec::new();
        for series in &self.chart.series {
            let free = |it: &(&'static str, f64, f64)| {
                let (_, x, y) = *it;
                let near = |at: f64, other: f64, room: f64| (at - other).abs() < room;
                !taken.iter().any(|(layer, tx, ty)| {
                    *layer == series.layer && near(x, *tx, 40.0) && near(y, *ty, 11.0)
                })
            };
            let end = of(series).filter(free);
            taken.extend(end.map(|(_, x, y)| (series.layer.as_str(), x, y)));
            ends.push(end);
        }
        ends
    }

    /// A zero has none on a logarithmic axis.
    fn has_place(&self, point: &(f64, f64)) -> bool {
        point.1.is_finite() && (self.chart.y.spread != super::scale::Spread::Log || point.1 > 0.0)
    }

    fn line(&self, series: &Series) -> String {
        let mut path = String::new();
        for part in series.points.split(|point| !self.has_place(point)) {
            let mut pen = 'M';
            for &point in part {
                let (x, y) = self.place(point);
                let _ = write!(path, "{pen}{} {}", f(x), f(y));
                pen = 'L';
            }
            if part.len() == 1 {
                // A dot: its ends are round.
                path.push_str("h0");
            }
        }
        path
    }

    fn area(&self, series: &Series) -> String {
        let line = self.line(series);
        let ends = (series.points.first(), series.points.last());
        let (Some(first), Some(last)) = ends else {
            return line;
        };
        let bottom = self.chart.height - BOTTOM;
        let (from, to) = (self.place(*first).0, self.place(*last).0);
        format!("{line}L{} {bottom}L{} {bottom}Z", f(to), f(from))
    }

    /// What lies between both sides of the band, in pieces where there are gaps.
    fn stack(&self, series: &Series) -> String {
        let all: Vec<(f64, (f64, f64))> = series
            .points
            .iter()
            .zip(&series.band)
            .map(|(point, band)| (point.0, *band))
            .collect();
        let mut path = String::new();
        for part in all.split(|(_, (low, high))| !low.is_finite() || !high.is_finite()) {
            let upper = part.iter().map(|(x, (_, high))| (*x, *high));
            let lower = part.iter().rev().map(|(x, (low, _))| (*x, *low));
            for (i, point) in upper.chain(lower).enumerate() {
                let (x, y) = self.place(point);
                let _ = write!(path, "{}{} {}", if i == 0 { 'M' } else { 'L' }, f(x), f(y));
            }
            if !part.is_empty() {
                path.push('Z');
            }
        }
        path
    }

    /// A line from one side of the band to the other at each point.
    fn bars(&self, series: &Series) -> String {
        let mut path = String::new();
        for (point, (low, high)) in series.points.iter().zip(&series.band) {
            if point.1.is_finite() && low.is_finite() && high.is_finite() {
                let (x, from) = self.place((point.0, *low));
                let (_, to) = self.place((point.0, *high));
                let _ = write!(path, "M{} {}V{}", f(x), f(from), f(to));
            }
        }
        path
    }

    fn band(&self, series: &Series) -> String {
        let known: Vec<(f64, (f64, f64))> = series
            .points
            .iter()
            .zip(&series.band)
            .filter(|(point, band)| point.1.is_finite() && band.0.is_finite() && band.1.is_finite())
            .map(|(point, band)| (point.0, *band))
            .collect();
        let upper = known.iter().map(|(x, (_, high))| (*x, *high));
        let lower = known.iter().rev().map(|(x, (low, _))| (*x, *low));
        let mut path = String::new();
        for (i, point) in upper.chain(lower).enumerate() {
            let (x, y) = self.place(point);
            let _ = write!(path, "{}{} {}", if i == 0 { 'M' } else { 'L' }, f(x), f(y));
        }
        path.push('Z');
        path
    }
}

/// Series on top of each other, the first one lowest. All have the same places.
pub(crate) fn stacked(series: Vec<Series>) -> Vec<Series> {
    let mut below: Vec<f64> = Vec::new();
    let mut all = Vec::new();
    for mut it in series {
        below.resize(it.points.len(), 0.0);
        let band = it.points.iter().zip(&below);
        it.band = band.map(|(point, low)| (*low, low + point.1)).collect();
        below = it.band.iter().map(|band| band.1).collect();
        it.drawn = Drawn::Stack;
        all.push(it);
    }
    all
}

/// Percentiles close to one need all their nines.
fn raw_place(value: f64) -> String {
    match (0.99..1.0).contains(&value) {
        true => format!("{value:.9}").trim_end_matches('0').to_owned(),
        false => raw(value),
    }
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

/// A text in JSON that can stand inside a script element.
fn quoted(text: &str) -> String {
    let text = serde_json::Value::from(text).to_string();
    text.replace('<', "\\u003c")
}

/// A coordinate to a tenth.
fn f(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

const fn class(drawn: Drawn) -> &'static str {
    match drawn {
        Drawn::Line => "",
        Drawn::Thin => "thin",
        Drawn::Area => "surface",
        Drawn::Curve => "curve",
        Drawn::Rings => "rings",
        Drawn::Stack => "stack",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::scale::Spread;
    use crate::unit::Kind;

    /// All that can be drawn, with names that mean something else in XML.
    fn chart() -> Chart {
        let points = || vec![(1.0, 1e6), (2.0, 0.0), (3.0, f64::NAN), (4.0, 4e6)];
        let drawn = [
            Drawn::Line,
            Drawn::Thin,
            Drawn::Area,
            Drawn::Curve,
            Drawn::Rings,
            Drawn::Stack,
        ];
        let series = drawn.into_iter().enumerate().map(|(n, drawn)| {
            let mut series =
                Series::new("p<99> & \"more\"", &format!("{drawn:?} < & ü"), n, points());
            series.band = vec![(5e5, 2e6); 4];
            series.barred = drawn == Drawn::Curve;
            series
                .drawn(drawn)
                .hidden(n == 1)
                .dashed(n == 0)
                .ended("p99 < &")
        });
        Chart {
            id: "times".into(),
            title: "Times of \"a\" < b & c".into(),
            told: "one > two".into(),
            x: Scale::exactly(Kind::Count, 0.0, 5.0),
            y: Scale::around(Spread::Log, Kind::Nanos, [1e6, 4e6].into_iter()),
            x_of: "a & b".into(),
            y_of: "<time>".into(),
            series: series.collect(),
            zones: vec![Zone {
                from: 1.0,
                to: 2.0,
                name: "before & after".into(),
                left_out: true,
            }],
            height: 340.0,
        }
    }

    /// Reads all of it as XML: tags that fit, attributes with values and none twice.
    fn read(text: &str) -> Result<usize, String> {
        use quick_xml::events::Event;
        let mut reader = quick_xml::Reader::from_str(text);
        let mut elements = 0;
        loop {
            match reader.read_event().map_err(|it| it.to_string())? {
                Event::Start(tag) | Event::Empty(tag) => {
                    elements += 1;
                    for attribute in tag.attributes() {
                        attribute.map_err(|it| format!("{it} in {tag:?}"))?;
                    }
                }
                Event::Eof => return Ok(elements),
                _ => {}
            }
        }
    }

    #[test]
    fn a_picture_that_stands_alone_is_xml_whatever_names_say() {
        let alone = chart().alone();
        assert!(read(&alone).unwrap() > 40, "{alone}");
        assert!(read(&alone.replacen("</g>", "", 1)).is_err());
    }

    #[test]
    fn a_zero_has_no_ring_on_a_logarithmic_axis() {
        let mut chart = chart();
        chart.series.retain(|it| it.drawn == Drawn::Rings);
        assert_eq!(chart.alone().matches("<circle").count(), 2);
    }
}
