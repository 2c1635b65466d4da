//! A chart in a few hundred bytes of SVG.

use std::fmt::Write;

pub const WIDTH: f64 = 720.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;

/// Colours that can be told apart by most eyes (Okabe and Ito).
pub const BLUE: &str = "#0072b2";
pub const ORANGE: &str = "#d55e00";
pub const GREY: &str = "#777777";

/// An axis: a scale, its marks, and what it is.
pub struct Axis {
    pub from: f64,
    pub to: f64,
    pub log: bool,
    pub marks: Vec<(f64, String)>,
    pub title: &'static str,
}

impl Axis {
    fn share(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.log10() } else { value };
        (scale(value) - scale(self.from)) / (scale(self.to) - scale(self.from))
    }
}

/// A chart that is being drawn.
pub struct Chart {
    out: String,
    height: f64,
    x: Axis,
    y: Axis,
    legend: f64,
}

impl Chart {
    pub fn new(title: &str, height: f64, x: Axis, y: Axis) -> Self {
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <title>{title}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        let mut chart = Self {
            out,
            height,
            x,
            y,
            legend: LEFT,
        };
        chart.axes();
        chart
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let (width, height) = (WIDTH - LEFT - RIGHT, self.height - TOP - BOTTOM);
        (
            LEFT + width * self.x.share(x),
            self.height - BOTTOM - height * self.y.share(y),
        )
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, colour: &str, text: &str) {
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
        );
    }

    fn axes(&mut self) {
        let (bottom, right) = (self.height - BOTTOM, WIDTH - RIGHT);
        let marks: Vec<_> = self.x.marks.clone();
        for (value, name) in marks {
            let (x, _) = self.at(value, self.y.from);
            let _ = writeln!(
                self.out,
                "<path d=\"M{x:.1} {TOP}V{bottom:.1}\" stroke=\"#e4e4e4\"/>"
            );
            self.text(x, bottom + 17.0, "middle", "#333333", &name);
        }
        let marks: Vec<_> = self.y.marks.clone();
        for (value, name) in marks {
            let (_, y) = self.at(self.x.from, value);
            let _ = writeln!(
                self.out,
                "<path d=\"M{LEFT} {y:.1}H{right:.1}\" stroke=\"#e4e4e4\"/>"
            );
            self.text(LEFT - 6.0, y + 4.5, "end", "#333333", &name);
        }
        let (x, y) = (self.x.title, self.y.title);
        self.text(right, self.height - 8.0, "end", "#333333", x);
        self.text(LEFT - 6.0, TOP - 12.0, "end", "#333333", y);
    }

    /// A line through points, with its name in the legend.
    pub fn line(&mut self, name: &str, colour: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        for (x, y) in points {
            let (x, y) = self.at(x, y);
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{x:.1} {y:.1}");
        }
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-linejoin=\"round\"/>"
        );
        let x = self.legend;
        let _ = writeln!(
            self.out,
            "<path d=\"M{x:.1} {y:.1}h22\" stroke=\"{colour}\" stroke-width=\"3\"/>",
            y = TOP - 16.0
        );
        self.text(x + 28.0, TOP - 11.5, "start", "#333333", name);
        self.legend += 52.0 + 7.5 * name.chars().count() as f64;
    }

    /// Short strokes on a level.
    pub fn strokes(&mut self, colour: &str, level: f64, xs: impl Iterator<Item = f64>) {
        let mut path = String::new();
        for x in xs {
            let (x, y) = self.at(x, level);
            let _ = write!(path, "M{x:.1} {:.1}v18", y - 9.0);
        }
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-opacity=\"0.7\"/>"
        );
    }

    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}
