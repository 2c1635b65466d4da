//! Test description documents, as the test platform of 2015 read them (González Vázquez): line by line,
//! `keyword: value`; `measure` runs what is set.
//!
//! A document becomes a [`Scenario`] with a point for each `measure`, so that it is carried out, stopped
//! and gone on with as any other.

use crate::nodes::NodeSpec;
use crate::scenario::{
    Axis, Complaint, Group, Order, Parameter, Point, Scalar, Scenario, ScenarioPhase, Setting,
    Shape, Vocabulary, nearest,
};

/// What opens a test, and what a document is known by.
pub const HEADER: &str = "### TEST";

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// What is measured, in order.
    pub measures: Vec<Measure>,
    /// The experiment of a study that it repeats, as its author says.
    pub study: Option<String>,
}

/// What one `measure` runs: the settings that are in force there.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// The title of the test.
    pub test: String,
    /// Its identifier.
    pub name: String,
    /// How many cycles.
    pub cycles: u32,
    /// Requests at the same time.
    pub concurrency: u32,
    /// Nodes in a request: the same one, so many times.
    pub count: u32,
    /// The node.
    pub resource: NodeSpec,
    /// The first (on) or last (off) of the endpoints by falling security.
    pub security: bool,
    /// Values are written instead of read.
    pub writes: bool,
    /// The line of the `measure`.
    pub line: usize,
}

const KEYWORDS: &[(&str, &str)] = &[
    ("test", "a title"),
    ("name", "an identifier"),
    (
        "study",
        "a published experiment such as gonzalez2015.grouped",
    ),
    ("cycles", "a whole number from 1 to 1000000"),
    ("concurrency", "a whole number from 1 to 10000"),
    ("count", "a whole number from 1 to 1000000"),
    ("resource", "a node such as ns=4;s=MAIN.PAGE"),
    ("security", "on or off"),
    ("request", "read or write"),
    ("measure", "nothing"),
];

/// Whether a text is a document and not a scenario: by its first line that is not blank.
pub fn is_description(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first == Some(HEADER)
}

/// What is set at a line.
struct Settings {
    test: String,
    name: String,
    cycles: u32,
    concurrency: u32,
    count: u32,
    resource: Option<NodeSpec>,
    security: bool,
    writes: bool,
}

impl Description {
    /// Reads a document; `file` is what complaints call it.
    pub fn parse(text: &str, file: &str) -> Result<Self, Complaint> {
        let mut set: Option<Settings> = None;
        let mut measures = Vec::new();
        let mut study = None;
        for (n, whole) in text.lines().enumerate() {
            let line = whole.trim();
            let complaint = |field: &str, what: String| Complaint {
                file: file.to_owned(),
                line: n + 1,
                column: 1 + whole.chars().take_while(|c| c.is_whitespace()).count(),
                field: field.to_owned(),
                what,
            };
            if line.is_empty() {
                continue;
            }
            if line == HEADER {
                set.get_or_insert_with(Settings::default);
                continue;
            }
            let Some(set) = &mut set else {
                let what =
                    format!("{line:?} stands before the first test (want {HEADER} above it)");
                return Err(complaint("", what));
            };
            let (keyword, value) = match line.split_once(':') {
                Some((keyword, value)) => (keyword.trim(), value.trim()),
                None => (line, ""),
            };
            let Some((_, want)) = KEYWORDS.iter().find(|(known, _)| *known == keyword) else {
                let known = || KEYWORDS.iter().map(|(known, _)| *known);
                let what = match nearest(keyword, known()) {
                    Some(near) => format!("there is no such keyword (did you mean {near}?)"),
                    None => {
                        let all: Vec<&str> = known().collect();
                        format!("there is no such keyword (want one of {})", all.join(", "))
                    }
                };
                return Err(complaint(keyword, what));
            };
            if keyword == "measure" {
                if !value.is_empty() {
                    return Err(complaint(keyword, format!("{value:?} (want {want})")));
                }
                let measure = set.measure(n + 1);
                let what = "has no resource to measure (want resource: and a node above it)";
                measures.push(measure.ok_or_else(|| complaint(keyword, what.to_owned()))?);
                continue;
            }
            if keyword == "study" && !value.is_empty() {
                study = Some(value.to_owned());
                continue;
            }
            set.take(keyword, value)
                .ok_or_else(|| complaint(keyword, format!("{value:?} (want {want})")))?;
        }
        if measures.is_empty() {
            return Err(Complaint {
                file: file.to_owned(),
                line: text.lines().count().max(1),
                column: 1,
                field: String::new(),
                what: "nothing is measured (want a line measure)".to_owned(),
            });
        }
        Ok(Self { measures, study })
    }

    /// As a scenario with these servers.
    pub fn scenario(
        &self,
        file: &str,
        targets: &[String],
        vocabulary: &dyn Vocabulary,
    ) -> Result<Scenario, Complaint> {
        let about_line = |line: usize, field: &str, what: String| Complaint {
            file: file.to_owned(),
            line,
            column: 1,
            field: field.to_owned(),
            what,
        };
        let servers = vocabulary
            .targets(targets)
            .map_err(|what| about_line(1, "--target", what))?;
        let mut points = Vec::new();
        for measure in &self.measures {
            let service = if measure.writes { "write" } else { "read" };
            let settings = measure.settings(servers);
            let phase = vocabulary
                .phase(service, &settings, servers)
                .map_err(|refusal| about_line(measure.line, "measure", refusal.what))?;
            let step = ScenarioPhase {
                name: measure.name.clone(),
                service: service.to_owned(),
                settings,
                phase: crate::Phase {
                    name: Some(measure.name.clone()),
                    ..phase
                },
                slo: Vec::new(),
                stop_when: Vec::new(),
            };
            points.push(Point {
                values: measure.values(),
                places: Vec::new(),
                targets: targets.to_vec(),
                start: None,
                groups: vec![Group { steps: vec![step] }],
            });
        }
        // Only what differs tells points apart.
        let of = |n: usize| {
            points
                .iter()
                .filter_map(move |point: &Point| point.values.get(n))
        };
        let differs = |n: &usize| of(*n).any(|value| Some(value) != of(*n).next());
        let kept: Vec<usize> = (0..AXES.len()).filter(differs).collect();
        let axes: Vec<Axis> = kept
            .iter()
            .filter_map(|&n| {
                Some(Axis {
                    name: (*AXES.get(n)?).to_owned(),
                    values: of(n).cloned().collect(),
                })
            })
            .collect();
        for (n, point) in points.iter_mut().enumerate() {
            let value = |&k: &usize| point.values.get(k).cloned();
            point.values = kept.iter().filter_map(value).collect();
            point.places = vec![n; kept.len()];
        }
        let name = self.measures.first().map_or("", |it| it.name.as_str());
        Ok(Scenario {
            name: name.to_owned(),
            about: self.measures.first().map(|it| it.test.clone()),
            study: self.study.clone(),
            parameters: Vec::<Parameter>::new(),
            axes,
            points,
            repeat: 1,
            order: Order::Given,
            seed: 1,
            pause: std::time::Duration::ZERO,
        })
    }
}

/// What tells the points of a document apart.
const AXES: [&str; 7] = [
    "name",
    "resource",
    "count",
    "concurrency",
    "cycles",
    "security",
    "request",
];

impl Default for Settings {
    fn default() -> Self {
        Self {
            test: String::new(),
            name: "test".to_owned(),
            cycles: 1,
            concurrency: 1,
            count: 1,
            resource: None,
            security: false,
            writes: false,
        }
    }
}

impl Settings {
    fn take(&mut self, keyword: &str, value: &str) -> Option<()> {
        let number = |most: u32| value.parse().ok().filter(|n| (1..=most).contains(n));
        let said = || Some(value.to_owned()).filter(|text| !text.is_empty());
        match keyword {
            "test" => self.test = said()?,
            "name" => self.name = said()?,
            "cycles" => self.cycles = number(1_000_000)?,
            "concurrency" => self.concurrency = number(10_000)?,
            "count" => self.count = number(1_000_000)?,
            "resource" => self.resource = Some(value.parse().ok()?),
            "security" => {
                self.security = match value {
                    "on" => true,
                    "off" => false,
                    _ => return None,
                }
            }
            "request" => {
                self.writes = match value {
                    "write" => true,
                    "read" => false,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn measure(&self, line: usize) -> Option<Measure> {
        Some(Measure {
            test: self.test.clone(),
            name: self.name.clone(),
            cycles: self.cycles,
            concurrency: self.concurrency,
            count: self.count,
            resource: self.resource.clone()?,
            security: self.security,
            writes: self.writes,
            line,
        })
    }
}

impl Measure {
    fn values(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.resource.to_string(),
            self.count.to_string(),
            self.concurrency.to_string(),
            self.cycles.to_string(),
            if self.security { "on" } else { "off" }.to_owned(),
            if self.writes { "write" } else { "read" }.to_owned(),
        ]
    }

    /// The options that mean the same.
    fn settings(&self, servers: usize) -> Vec<Setting> {
        let setting = |option: &str, shape: Shape, value: Scalar| Setting {
            option: option.to_owned(),
            shape,
            values: vec![value],
            at: 0..0,
            field: option.to_owned(),
        };
        let one = |option: &str, value: String| setting(option, Shape::One, Scalar::Text(value));
        let requests = u64::from(self.cycles) * u64::from(self.concurrency) * servers as u64;
        // Endpoints sorted by falling security: on is the first of them, off the last.
        let security = if self.security { "best" } else { "least" };
        let mut settings = vec![
            setting("node", Shape::Many, Scalar::Text(self.resource.to_string())),
            one("batch", self.count.to_string()),
            one("sessions", self.concurrency.to_string()),
            setting("together", Shape::Flag, Scalar::Bool(true)),
            one("requests", requests.to_string()),
            one("warmup", "0s".to_owned()),
            one("security", security.to_owned()),
        ];
        if self.writes {
            settings.push(setting(
                "allow",
                Shape::Many,
                Scalar::Text("write".to_owned()),
            ));
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As printed, with the blank lines of the print.
    const SAMPLE: &str = "### TEST\ntest: Concurrent requests\nname: concurrent_requests\ncycles: 100\n\n\
                          concurrency: 1\nresource: ns=4;s=MAIN.valueDesc\nmeasure\n\ncycles: 25\ncount: 1\n\
                          concurrency: 40\nmeasure\n\ncount: 40\nmeasure\n";

    #[test]
    fn settings_hold_until_they_are_changed() {
        let measures = Description::parse(SAMPLE, "x.txt").unwrap().measures;
        let told: Vec<(u32, u32, u32)> = measures
            .iter()
            .map(|it| (it.cycles, it.concurrency, it.count))
            .collect();
        assert_eq!(told, [(100, 1, 1), (25, 40, 1), (25, 40, 40)]);
        assert!(
            measures
                .iter()
                .all(|it| it.name == "concurrent_requests" && !it.security)
        );
        assert_eq!(measures[0].resource.to_string(), "ns=4;s=MAIN.valueDesc");
    }

    #[test]
    fn a_document_is_known_by_its_first_line() {
        assert!(is_description(SAMPLE));
        assert!(is_description("\n\n  ### TEST  \n"));
        assert!(!is_description("# a comment\n### TEST\n"));
        assert!(!is_description("name = \"x\""));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |text: &str| Description::parse(text, "x.txt").unwrap_err().to_string();
        let head = "### TEST\nresource: i=1\n";
        for (text, told) in [
            (
                "cycles: 3",
                "\"cycles: 3\" stands before the first test (want ### TEST above it), x.txt line 1 column 1",
            ),
            (
                "### TEST\nmeasure",
                "bad measure: has no resource to measure (want resource: and a node above it), x.txt line 2 column 1",
            ),
            (
                "### TEST\nresource: i=1",
                "nothing is measured (want a line measure), x.txt line 2 column 1",
            ),
            (
                "### TEST\ncylces: 3",
                "bad cylces: there is no such keyword (did you mean cycles?), x.txt line 2 column 1",
            ),
            (
                "### TEST\nnodes: 3",
                "bad nodes: there is no such keyword (want one of test, name, ",
            ),
            (
                "$cycles: 0",
                "bad cycles: \"0\" (want a whole number from 1 to 1000000), x.txt line 3 column 1",
            ),
            (
                "$  count: -1",
                "bad count: \"-1\" (want a whole number from 1 to 1000000), x.txt line 3 column 3",
            ),
            (
                "$concurrency: many",
                "bad concurrency: \"many\" (want a whole number from 1 to 10000)",
            ),
            (
                "$resource: MAIN.PAGE",
                "bad resource: \"MAIN.PAGE\" (want a node such as ns=4;s=MAIN.PAGE)",
            ),
            (
                "$security: maybe",
                "bad security: \"maybe\" (want on or off)",
            ),
            (
                "$request: browse",
                "bad request: \"browse\" (want read or write)",
            ),
            ("$name:", "bad name: \"\" (want an identifier)"),
            ("$measure: now", "bad measure: \"now\" (want nothing)"),
        ] {
            let text = text.replace('$', head);
            let complaint = wrong(&text);
            assert!(complaint.contains(told), "{text}\n{complaint}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_a_document_or_a_complaint(text: String, lines: Vec<String>) {
            let _ = Description::parse(&text, "x");
            let _ = Description::parse(&format!("{HEADER}\n{}", lines.join("\n")), "x");
        }
    }
}
