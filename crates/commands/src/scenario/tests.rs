//! Scenarios, read with the words of the commands.

use std::path::Path;
use std::time::{Duration, SystemTime};

use plan::scenario::{Given, Order, Scenario, Turn};
use plan::unit::duration;
use proptest::prelude::*;
use record::sweep::{MeasurementState, Source, Sweep};

use super::vocabulary::Commands;

fn read(text: &str) -> Result<Scenario, String> {
    given(text, &[])
}

fn given(text: &str, parameters: &[(&str, &str)]) -> Result<Scenario, String> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let given = Given {
        parameters: parameters.iter().map(own).collect(),
        targets: Vec::new(),
        repeat: None,
        fleet: Vec::new(),
        orphan: None,
    };
    Scenario::parse(
        text,
        "x.toml",
        &given,
        &Commands::beside(Path::new("x.toml")),
    )
    .map_err(|complaint| complaint.to_string())
}

/// As INTERFACE has it.
const SAMPLE: &str = r#"name = "batch size"
target = "opc.tcp://127.0.0.1:4840"
repeat = 5
order = "random"
[start]
plant = "bench"                                 # or peer = "open62541", restart = "each point"
[[phase]]
service = "read"
nodes = ["nsu=urn:bench;i=1000..1099"]
sessions = 1
rate = "100/s"
batch = { sweep = [100, 500, 1000, 1500, 2000, 2500, 3000] }
duration = "90s"
warmup = "5s"
expect = ["p99<50ms", "errors=0"]
"#;

#[test]
fn a_scenario_becomes_a_phase_for_each_point_of_its_sweep() {
    let scenario = read(SAMPLE).unwrap();
    assert_eq!(scenario.name, "batch size");
    assert_eq!(scenario.axes[0].name, "batch");
    let batches: Vec<u32> = scenario
        .points
        .iter()
        .map(|point| point.groups[0].steps[0].phase.work.batch())
        .collect();
    assert_eq!(batches, [100, 500, 1000, 1500, 2000, 2500, 3000]);
    // The server is started where it is looked for.
    let start = scenario.points[6].start.as_ref().unwrap();
    assert_eq!(start.settings[0].words(), ["--port=4840"]);
    assert_eq!((scenario.repeat, scenario.order), (5, Order::Random));
    assert_eq!(scenario.turns().len(), 35);
    let phase = &scenario.points[3].groups[0].steps[0].phase;
    assert_eq!(phase.expect.len(), 2);
    assert_eq!(phase.measured_until(), Some(Duration::from_secs(95)));
}

#[test]
fn a_phase_means_what_the_same_words_mean_on_a_command_line() {
    let typed = super::super::quick::definition("read")
        .unwrap()
        .get_matches_from([
            "read",
            "opc.tcp://h:1",
            "--node",
            "i=2258",
            "--in-flight",
            "8",
            "--coalesce",
            "4",
            "--spin",
            "--duration",
            "3s",
            "--expect",
            "p99<5ms,errors=0",
            "--seed",
            "9",
        ]);
    let typed = super::super::quick::asked("read", &typed)
        .unwrap()
        .phase(1)
        .unwrap();
    let written = read(
        "target = 'opc.tcp://h:1'\n[[phase]]\nservice = 'read'\nnodes = 'i=2258'\nin_flight = 8\n\
         coalesce = 4\nspin = true\nduration = '3s'\nexpect = ['p99<5ms', 'errors=0']\nseed = 9",
    );
    let mut written = written.unwrap().points[0].groups[0].steps[0].phase.clone();
    written.name = None;
    assert_eq!(written, typed);
}

const HEAD: &str = "target = \"opc.tcp://h:4840\"\n[[phase]]\nservice = \"read\"\n";

#[test]
fn sweeps_are_crossed_or_zipped_and_the_last_goes_fastest() {
    let text = format!("{HEAD}sessions = {{ sweep = [1, 2] }}\nbatch = {{ sweep = [1, 10] }}\n");
    let values = |scenario: &Scenario| -> Vec<String> {
        scenario
            .points
            .iter()
            .map(|point| point.values.join("/"))
            .collect()
    };
    assert_eq!(
        values(&read(&text).unwrap()),
        ["1/1", "1/10", "2/1", "2/10"]
    );
    let zipped = read(&format!("sweep = \"zipped\"\n{text}")).unwrap();
    assert_eq!(values(&zipped), ["1/1", "2/10"]);
    assert!(zipped.is_beyond(1, 0) && !zipped.is_beyond(0, 1));
    let crossed = read(&text).unwrap();
    assert!(crossed.is_beyond(1, 0) && !crossed.is_beyond(2, 0) && !crossed.is_beyond(3, 0));
}

#[test]
fn a_parameter_is_what_it_is_declared_to_be_until_somebody_says_otherwise() {
    let text = format!(
        "[parameters]\nrate = \"100/s\"\nlast = {{ default = 1009, about = \"the last node\" }}\n{HEAD}\
         rate = \"$rate\"\nnodes = [\"ns=1;i=1000..${{last}}\"]\n"
    );
    let text = text
        .replace("target", "")
        .replace("= \"opc.tcp://h:4840\"\n", "");
    let text = format!("target = \"opc.tcp://h:4840\"\n{text}");
    let phase = |parameters: &[(&str, &str)]| {
        let scenario = given(&text, parameters).unwrap();
        scenario.points[0].groups[0].steps[0].phase.clone()
    };
    let plan::Work::Read(read) = phase(&[("last", "1001")]).work else {
        panic!("a read");
    };
    assert_eq!(read.nodes.specs()[0].to_string(), "ns=1;i=1000..1001");
    assert_eq!(phase(&[]).arrival.to_string(), "constant 100/s");
    assert_eq!(
        phase(&[("rate", "7/s")]).arrival.to_string(),
        "constant 7/s"
    );
    let swept = given(&text, &[("rate", "{ sweep = ['1/s', '2/s'] }")]).unwrap();
    assert_eq!(swept.points.len(), 2);
    assert_eq!(swept.axes[0].name, "rate");
}

#[test]
fn what_a_group_has_is_divided_among_its_phases_by_weight() {
    let text = "target = 'opc.tcp://h:1'\n[group.mix]\nsessions = 8\nrate_total = '800/s'\n\
                [[phase]]\nservice = 'read'\ngroup = 'mix'\nweight = 3\n\
                [[phase]]\nservice = 'browse'\ngroup = 'mix'\nweight = 1\n\
                [[phase]]\nservice = 'read'\n";
    let scenario = read(text).unwrap();
    let groups = &scenario.points[0].groups;
    assert_eq!(groups.len(), 2);
    let sessions: Vec<u32> = groups[0]
        .steps
        .iter()
        .map(|step| step.phase.sessions)
        .collect();
    assert_eq!(sessions, [6, 2]);
    let rates: Vec<f64> = groups[0]
        .steps
        .iter()
        .map(|step| step.phase.pace().unwrap().mean_rate() * f64::from(step.phase.sessions))
        .collect();
    assert_eq!(rates, [600.0, 200.0]);
    let names: Vec<&str> = groups
        .iter()
        .flat_map(|it| &it.steps)
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["read", "browse", "read 2"]);
}

#[test]
fn measurements_have_the_order_that_was_asked_for() {
    let text = format!("repeat = 2\norder = \"mirrored\"\n{HEAD}batch = {{ sweep = [1, 10] }}\n");
    let turn = |point, repetition| Turn { point, repetition };
    assert_eq!(
        read(&text).unwrap().turns(),
        [turn(0, 1), turn(1, 1), turn(1, 2), turn(0, 2)]
    );
}

/// What is wrong, and the complaint: line, field, what is allowed.
const WRONG: &[(&str, &str)] = &[
    (
        "",
        "bad target: there is none (want target = \"opc.tcp://host:4840\" or a table [start])",
    ),
    ("target = ", "line 1"),
    (
        "target = \"opc.tcp://h\"",
        "bad phase: there is none (want [[phase]] with a service, once or more)",
    ),
    (
        "target = \"http://h\"\n[[phase]]\nservice = \"read\"",
        "bad target: ",
    ),
    (
        "tagret = \"opc.tcp://h\"",
        "bad tagret: there is no key of this name (did you mean target?), x.toml line 1 column 1",
    ),
    (
        "phase = 3\ntarget = \"opc.tcp://h\"",
        "bad phase: is no list of phases",
    ),
    (
        "$batch = 0",
        "bad phase[0].batch: 0 (want 1 to 10000000), x.toml line 4 column 9",
    ),
    (
        "$sessions = \"many\"",
        "bad phase[0].sessions: \"many\" (want a whole number)",
    ),
    ("$sessions = -1", "bad phase[0].sessions: "),
    (
        "$sessions = 1.5",
        "bad phase[0].sessions: \"1.5\" (want a whole number)",
    ),
    (
        "$sessions = [1, 2]",
        "bad phase[0].sessions: a list (want one value, or { sweep = [...] } to measure with each of them)",
    ),
    (
        "$sessions = { swep = [1] }",
        "bad phase[0].sessions: a table (want a value, or { sweep = [...] })",
    ),
    (
        "$sessions = { sweep = [] }",
        "bad phase[0].sessions.sweep: no values to sweep over",
    ),
    (
        "$sessions = { sweep = [1, 0] }",
        "bad phase[0].sessions: 0 (want 1 to 1000000), x.toml line 4 column 26",
    ),
    (
        "$sessions = { sweep = [1], step = 2 }",
        "bad phase[0].sessions.step: does not go with sweep",
    ),
    (
        "$rate = \"100\"",
        "bad phase[0].rate: \"100\" is no rate (want ",
    ),
    ("$rate = \"1/s\"\nin_flight = 2", "does not go with "),
    (
        "$duration = 5",
        "bad phase[0].duration: \"5\" is no duration (want a number and a unit: 250us, 100ms, 90s, 5m)",
    ),
    (
        "$duration = \"0s\"",
        "bad phase[0].duration: 0s (want above zero), x.toml line 4 column 12",
    ),
    (
        "$arrival = \"poisson\"",
        "bad phase[0].arrival: arrival poisson needs a rate",
    ),
    (
        "$spin = \"yes\"",
        "bad phase[0].spin: yes (want true or false)",
    ),
    ("$expect = [\"p99<5\"]", "bad phase[0].expect: "),
    ("$nodes = [\"ns=x;i=1\"]", "bad phase[0].nodes: "),
    (
        "$nodes = [[\"i=1\"]]",
        "bad phase[0].nodes: a list within a list (want single values)",
    ),
    (
        "$nods = [\"i=1\"]",
        "bad phase[0].nods: there is no key of this name (did you mean nodes?), x.toml line 4 column 1",
    ),
    (
        "$node = \"i=1\"\nnodes = \"i=2\"",
        "bad phase[0].nodes: is there twice, under two names",
    ),
    (
        "$nodes = [\"$which\"]",
        "bad phase[0].nodes[0]: $which: there are no [parameters]",
    ),
    (
        "$attribute = \"Vlaue\"",
        "bad phase[0].attribute: \"Vlaue\" is no attribute",
    ),
    ("$security = \"None:Sign\"", "bad phase[0].security: "),
    ("$weight = 2", "bad phase[0].weight: divides nothing"),
    (
        "$weight = 0",
        "bad phase[0].weight: 0 (want a whole number from 1 to 1000000)",
    ),
    (
        "$coalesce = 3",
        "bad phase[0].coalesce: 3 (want 1 to the requests in flight)",
    ),
    (
        "$slo = [\"fast\"]",
        "bad phase[0].slo: \"fast\" is no condition",
    ),
    (
        "target = \"opc.tcp://h\"\n[[phase]]\nservice = \"raed\"",
        "bad phase[0].service: \"raed\": there is no service of this name (did you mean read?), x.toml line 3 column 11",
    ),
    (
        "target = \"opc.tcp://h\"\n[[phase]]\nbatch = 1",
        "bad phase[0]: names no service (want service = one of read, write, ",
    ),
    (
        "target = \"opc.tcp://h\"\n[[phase]]\nservice = \"write\"\nnodes = \"i=1\"",
        "writing changes values on the server and has to be allowed",
    ),
    (
        "target = \"opc.tcp://h\"\n[[phase]]\nservice = \"write\"",
        "bad phase[0].nodes: is missing",
    ),
    (
        "repeat = 0\n%",
        "bad repeat: 0 (want a whole number from 1 to 10000), x.toml line 1 column 10",
    ),
    (
        "order = \"backwards\"\n%",
        "bad order: \"backwards\" (want given or random or mirrored)",
    ),
    ("pause = \"2\"\n%", "bad pause: \"2\" is no duration"),
    (
        "repeat = { sweep = [1, 2] }\n%",
        "bad repeat: holds for the whole scenario (want one value)",
    ),
    (
        "stop_when = [\"p99>1s\"]\norder = \"random\"\n%",
        "bad order: \"random\" does not go with stop_when",
    ),
    (
        "[start]\nplant = \"bench\"\npeer = \"asyncua\"",
        "bad start: wants one of plant = \"bench\" and peer = \"open62541\"",
    ),
    (
        "[start]\nplant = \"bnech\"",
        "bad start.plant: \"bnech\": there is no plant of this name (did you mean bench?)",
    ),
    (
        "[start]\nplant = \"nowhere.toml\"",
        "cannot read nowhere.toml",
    ),
    (
        "[start]\npeer = \"siemens\"",
        "bad start.peer: \"siemens\": there is no peer of this name (want one of ",
    ),
    (
        "[start]\nplant = \"bench\"\nrestart = \"often\"",
        "bad start.restart: \"often\" (want each point or each repetition or never)",
    ),
    (
        "[start]\nplant = \"bench\"\nupdate = \"1us\"",
        "bad start.update: \"1us\" is too short (want 1ms or more)",
    ),
    (
        "[start]\nplant = \"bench\"\nudpate = \"1ms\"",
        "bad start.udpate: there is no key of this name (did you mean update?)",
    ),
    (
        "target = [\"opc.tcp://h:1\", \"opc.tcp://h:2\"]\n[start]\nplant = \"bench\"\n[[phase]]\nservice = \"read\"",
        "bad target: several, of which [start] can start one (want one URL, or none: a free port)",
    ),
    (
        "%[defaults]\nbacth = 1",
        "bad defaults.bacth: there is no key of this name (did you mean batch?)",
    ),
    ("%[group.a]\nsessions = 1", "bad group.a: no phase is in it"),
    (
        "%[parameters]\na = { default = 1, abuot = \"x\" }",
        "bad parameters.a.abuot: there is no key of this name (did you mean about?)",
    ),
    (
        "%[parameters]\na = \"$b\"",
        "bad parameters.a: refers to a parameter (want a value)",
    ),
];

#[test]
fn what_is_wrong_is_told_with_line_field_and_what_is_allowed() {
    assert!(WRONG.len() >= 30);
    for (text, expected) in WRONG {
        let text = match text.strip_prefix('$') {
            Some(rest) => format!("{HEAD}{rest}"),
            None => match text.strip_prefix('%') {
                Some(rest) => format!("{HEAD}{rest}"),
                None => text.replace('%', HEAD),
            },
        };
        let complaint = read(&text).expect_err(&text);
        assert!(
            complaint.contains(expected),
            "{text}\n  {complaint}\n  wanted {expected}"
        );
        assert!(complaint.contains("x.toml line "), "{complaint}");
        assert!(!complaint.contains('\n'), "{complaint}");
    }
}

#[test]
fn a_parameter_that_there_is_not_is_told() {
    let text = format!("{HEAD}[parameters]\nsessions = 1");
    let complaint = given(&text, &[("session", "2")]).unwrap_err();
    assert!(
        complaint.contains(
            "bad -P session: there is no parameter of this name (did you mean sessions?)"
        ),
        "{complaint}"
    );
}

#[test]
fn the_plan_of_a_scenario_fits_the_screen() {
    let style = report::Style::detect(&std::fs::File::open("/dev/null").unwrap(), |_| None);
    let long = format!("{:?}", "long ".repeat(60));
    let text = format!(
        "name = {long}\nabout = {long}\n[[phase]]\nservice = \"read\"\nname = {long}\n\
         nodes = {{ sweep = [[{long}], [\"i=1\"]] }}\nbatch = {{ sweep = [1, 2] }}\n\
         max_age = {{ sweep = [\"1s\", \"2s\"] }}\nseed = {{ sweep = [1, 2, 3] }}\n"
    );
    let long = text.replace(
        &format!("[{long}]"),
        "[\"ns=1;s=a long name that goes on and on, and on\"]",
    );
    for text in [
        SAMPLE.to_owned(),
        format!("target = \"opc.tcp://h:1\"\n{long}"),
    ] {
        let plan = report::planned::plan(&read(&text).unwrap(), None, style);
        for line in plan.lines() {
            assert!(line.chars().count() <= report::WIDTH, "{line}");
        }
        assert!(plan.contains("Load over time, first point"), "{plan}");
    }
}

#[test]
fn the_plan_of_a_scenario_that_was_begun_is_what_is_left_of_it() {
    let text = SAMPLE.replace("repeat = 5", "repeat = 2").replace(
        "[100, 500, 1000, 1500, 2000, 2500, 3000]",
        "[100, 500, 1000]",
    );
    let scenario = read(&text).unwrap();
    let source = Source {
        file: "x.toml".into(),
        text,
        parameters: Vec::new(),
        targets: Vec::new(),
        repeat: None,
        fleet: Vec::new(),
        orphan: None,
    };
    let mut index = super::index::index(&scenario, source, SystemTime::now().into());
    let plan =
        |index: Option<&Sweep>| report::planned::plan(&scenario, index, report::Style::PLAIN);
    let rows = |plan: &str| -> Vec<String> {
        let rows = plan
            .lines()
            .skip_while(|line| !line.contains("what is done"));
        let rows = rows.skip(1).take_while(|line| !line.is_empty());
        rows.map(|row| row.split("read").next().unwrap().trim().to_owned())
            .collect()
    };
    assert_eq!(rows(&plan(None)), ["1    100", "2    500", "3   1000"]);
    for it in &mut index.measurements {
        it.state = match (it.point, it.repetition) {
            (0, _) | (1, 1) => MeasurementState::Done,
            (1, _) => MeasurementState::Interrupted,
            (_, 1) => MeasurementState::LeftOut,
            _ => MeasurementState::Failed,
        };
    }
    let left = plan(Some(&index));
    assert!(
        left.contains("3 measured, 1 failed, 1 left out, 1 interrupted; what is left:"),
        "{left}"
    );
    assert_eq!(
        rows(&left),
        ["2    500  1 of 2 times:", "3   1000  1 of 2 times:"]
    );
    let takes = left.lines().find(|line| line.starts_with("takes")).unwrap();
    let load = duration::show(Duration::from_secs(2 * 95) + scenario.pause);
    assert!(takes.contains(&load), "{takes}");
    for it in &mut index.measurements {
        it.state = MeasurementState::Done;
    }
    let nothing = plan(Some(&index));
    assert!(nothing.contains("6 measured; nothing is left"), "{nothing}");
    assert!(!nothing.contains("Load over time"), "{nothing}");
}

/// Lines that scenarios are made of, and some that they are not.
const LINES: &[&str] = &[
    "[[phase]]",
    "[start]",
    "[defaults]",
    "[parameters]",
    "[group.g]",
    "service = \"read\"",
    "service = \"write\"",
    "plant = \"bench\"",
    "target = \"opc.tcp://h:1\"",
    "a = \"$b\"",
    "b = \"$a\"",
    "sessions = { sweep = [1, \"$a\", 3] }",
    "sessions = \"$sessions\"",
    "rate = \"${a}/s\"",
    "batch = 0x10",
    "group = \"g\"",
    "weight = 3",
    "nodes = [\"$a\", [1]]",
    "sweep = \"zipped\"",
    "sweep = { sweep = [1] }",
    "repeat = 3",
    "order = \"random\"",
    "phase = []",
    "phase = 1",
    "rate_total = \"1/s\"",
    "in_flight = 1e9",
    "duration = 1979-05-27",
    "slo = \"p99<1s\"",
    "stop_when = [1]",
    "pause = true",
    "= 1",
    "\u{0}",
    "a.b.c = 1",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_gives_a_scenario_or_a_complaint(text: String) {
        let _ = read(&text);
    }

    #[test]
    fn any_lines_give_a_scenario_or_a_complaint(lines in prop::collection::vec(prop::sample::select(LINES), 0..12)) {
        if let Ok(scenario) = read(&lines.join("\n")) {
            prop_assert!(!scenario.points.is_empty());
        }
    }
}
