//! Plant files good and bad: each complaint names line and field and says what is allowed.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use crate::Plant;
use crate::space::{Builder, Space, standard};

fn parse(text: &str) -> Result<Plant, super::Wrong> {
    Plant::parse(text, "x.toml", Path::new(""))
}

/// What is said about a file, in a namespace table if it does not begin with one of its own.
fn complaint(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// About signals with these lines, the first of which is the fourth of the file.
fn about(signals: &str) -> String {
    let text = format!("[[namespace]]\nuri = \"urn:x\"\n[[namespace.signals]]\n{signals}\n");
    complaint(&text)
}

fn space(plant: &Plant) -> Space {
    let mut builder = Builder::new("urn:test", 0);
    standard::load(&mut builder);
    plant.build(&mut builder, &mut Vec::new()).unwrap();
    builder.finish()
}

#[test]
fn the_example_of_the_interface_is_a_plant() {
    let plant = parse(
        r#"
name = "line 4"
endpoint = "opc.tcp://127.0.0.1:4840"
[limits]
sessions = 1000
nodes_per_read = 10_000
[[namespace]]
uri = "urn:example:line4"
[[namespace.signals]]
folder = "Drives"
count = 500
name = "Speed{n:03}"
type = "Double"
pattern = { sine = { low = 0, high = 1500, period = "10s" } }
update = "100ms"
stored = false
[[fault]]
on = "notification"
drop_every = 1000
"#,
    )
    .unwrap();
    assert_eq!(plant.name, "line 4");
    assert_eq!(plant.listen, Some(([127, 0, 0, 1], 4840).into()));
    assert_eq!(plant.limits.sessions, 1000);
    assert_eq!(plant.variables(), 500);
    let space = space(&plant);
    let last = wire::types::NodeId::new(2, "Speed499");
    let node = space.node(space.find_id(&last).unwrap()).unwrap();
    assert_eq!(node.browse_name().name.as_ref(), "Speed499");
}

#[test]
fn a_complaint_names_field_and_line_and_says_what_is_allowed() {
    for (text, said) in [
        (
            "name = \"\"",
            "bad name: is empty (want a name), x.toml line 1",
        ),
        (
            "name = \"x\"\n\nsesions = 3",
            "bad sesions: unknown field `sesions`, expected one of `name`, `endpoint`, ",
        ),
        (
            "[limits]\nsessions = 0",
            "bad limits.sessions: is 0 (want 1 or more), x.toml line 2",
        ),
        (
            "[limits]\nsesions = 3",
            "bad limits.sesions: unknown field `sesions`, expected one of `receive_buffer`, ",
        ),
        (
            "[limits]\n\nsessions = \"many\"",
            "bad limits.sessions: invalid type: string \"many\", expected usize, x.toml line 3",
        ),
        (
            "[limits]\nmemory = \"64KiB\"",
            "bad limits.memory: is 65536 bytes (want 1048576 or more), x.toml line 2",
        ),
        (
            "advertise = \"gateway\"",
            "bad advertise: \"gateway\" is no endpoint (want \"opc.tcp://HOST:4840\"), x.toml line 1",
        ),
        (
            "host = \"a\"\nadvertise = \"opc.tcp://b:1\"",
            "bad advertise: stands beside host (want one of them), x.toml line 2",
        ),
        (
            "[limits]\nsampling_interval = \"10us\"",
            "bad limits.sampling_interval: is 10µs (want 1ms or more), x.toml line 2",
        ),
        (
            "[[security_group]]\nid = \"g\"\nlifetime = \"1ms\"",
            "bad security_group[0].lifetime: is 1ms (want 100ms or more), x.toml line 3",
        ),
        (
            "[[security_group]]\nid = \"g\"\nmay_get = [\"eve\"]",
            "bad security_group[0].may_get[0]: there is no user \"eve\" (want a [[user]] of this name), x.toml line 3",
        ),
        (
            "[[publish]]\nto = \"opc.udp://127.0.0.1\"\nsecurity_group = \"g\"",
            "bad publish[0].security_group: there is no group \"g\" (want a [[security_group]] with this id), x.toml line 3",
        ),
        (
            "[limits]\nreceive_buffer = \"1KiB\"",
            "bad limits.receive_buffer: is 1024 bytes (want 8192 or more), x.toml line 2",
        ),
        (
            "endpoint = \"opc.tcp://plc.example:4840\"",
            "bad endpoint: \"opc.tcp://plc.example:4840\" listens on a name: give an address of this machine here and the name as host (want \"opc.tcp://127.0.0.1:4840\"), x.toml line 1",
        ),
        (
            "security = [\n  \"none\",\n  \"Basic256\",\n]",
            "bad security[1]: \"Basic256\" is no security (want \"none\", or POLICY:MODE as \"Basic256Sha256:SignAndEncrypt\"), x.toml line 3",
        ),
        (
            "[[user]]\nname = \"eve\"\npassword_hash = \"secret\"",
            "bad user[0].password_hash: not a password hash (want pbkdf2-sha256$ROUNDS$SALT$HASH); `uaperf plant password` makes one, x.toml line 3",
        ),
        (
            "[[namespace]]\nuri = \"urn:x\"\n[[namespace]]\nuri = \"urn:x\"",
            "bad namespace[1].uri: urn:x is there already (want each namespace once), x.toml line 4",
        ),
        (
            "[[namespace]]\nuri = \"urn:x\"\nindex = 0",
            "bad namespace[0].index: is 0, which another namespace has (want 2 or more), x.toml line 3",
        ),
        (
            "[[namespace]]\n[[namespace.signals]]\ntype = \"Byte\"",
            "bad namespace[0]: missing field `uri` (only index = 1, the server's own, has none), x.toml line 1",
        ),
        ("name = \"x", "invalid basic string"),
    ] {
        let complaint = complaint(text);
        assert!(complaint.starts_with(said), "{complaint}\nwant {said}");
        assert!(complaint.contains("x.toml line "), "{complaint}");
    }
}

#[test]
fn what_does_not_go_together_in_a_signal_is_refused_with_its_line() {
    for (signals, said) in [
        (
            "count = 3",
            "bad namespace[0].signals[0]: missing field `type`, x.toml line 3",
        ),
        (
            "type = \"Doble\"",
            "bad namespace[0].signals[0].type: \"Doble\" is no type (want one of Boolean, SByte, Byte, ",
        ),
        (
            "type = \"Double\"\ncount = 0",
            "bad namespace[0].signals[0].count: is 0 (want 1 to 100000000), x.toml line 5",
        ),
        (
            "type = \"Double\"\nname = \"Speed\"\ncount = 5",
            "bad namespace[0].signals[0]: 5 signals need different ids (want {n} in the name or in the ids), x.toml line 3",
        ),
        (
            "type = \"Double\"\nname = \"Speed{n:3}\"",
            "bad namespace[0].signals[0].name: \"Speed{n:3}\" is no name (want text, with {n} or {n:03} for the number), x.toml line 5",
        ),
        (
            "type = \"Double\"\nids = \"i=1..\"",
            "bad namespace[0].signals[0].ids: do not end (want count, too, or the last as in \"i=1000..1499\"), x.toml line 5",
        ),
        (
            "type = \"Double\"\nids = \"i=1..10\"\ncount = 11",
            "bad namespace[0].signals[0].count: 11 signals have 10 ids (leave count out, or make them equal), x.toml line 6",
        ),
        (
            "type = \"Double\"\npattern = \"sinus\"",
            "bad namespace[0].signals[0].pattern: unknown variant `sinus`, expected one of `constant`, `counter`, `ramp`, `sine`, `random_walk`, `noise`, `toggle`, `replay`, x.toml line 5",
        ),
        (
            "type = \"Double\"\nupdate = \"1s\"\npattern = { sine = { lo = 3 } }",
            "bad namespace[0].signals[0].pattern.sine.lo: unknown field `lo`, expected one of `low`, `high`, `period`, `phase`, x.toml line 6",
        ),
        (
            "type = \"Double\"\nupdate = \"1s\"\npattern = { sine = { period = \"10ms\" } }",
            "bad namespace[0].signals[0].pattern: has period 10ms, shorter than update 1s (want that or longer), x.toml line 6",
        ),
        (
            "type = \"Double\"\nupdate = \"100\"",
            "bad namespace[0].signals[0].update: \"100\" is no duration (want a number and a unit: 250us, 100ms, 90s, 5m), x.toml line 5",
        ),
        (
            "type = \"Double\"\npattern = \"counter\"\nupdate = \"10us\"",
            "bad namespace[0].signals[0].update: is 10µs (want 1ms or more), x.toml line 6",
        ),
        (
            "type = \"Double\"\nupdate = \"1s\"",
            "bad namespace[0].signals[0].update: has nothing to update: the value is constant (want a pattern, or no update), x.toml line 5",
        ),
        (
            "type = \"String\"\npattern = \"noise\"\nupdate = \"1s\"",
            "bad namespace[0].signals[0].pattern: is for numbers, not for String (want \"constant\" or \"counter\"), x.toml line 5",
        ),
        (
            "type = \"Double\"\npattern = \"noise\"\nupdate = \"1s\"\naccess = \"read-write\"",
            "bad namespace[0].signals[0].access: lets clients write what is computed (want \"read\", or stored = true), x.toml line 7",
        ),
        (
            "type = \"Double\"\naccess = \"rw\"",
            "bad namespace[0].signals[0].access: unknown variant `rw`, expected one of `none`, `read`, `write`, `read-write`, x.toml line 5",
        ),
        (
            "type = \"Byte\"\nvalue = 300",
            "bad namespace[0].signals[0].value: 300 is no Byte (want a whole number from 0 to 255), x.toml line 5",
        ),
        (
            "type = \"Byte\"\ndimensions = [2]\nvalue = [1, 2, 3]",
            "bad namespace[0].signals[0].value: has 3 elements where there should be 2, x.toml line 6",
        ),
        (
            "type = \"Byte\"\ndimensions = [0]",
            "bad namespace[0].signals[0].dimensions: are [0] (want one length for an array, more for a matrix",
        ),
        (
            "type = \"Double\"\nrange = [5, 5]",
            "bad namespace[0].signals[0].range: is [5, 5] (want the lower end first), x.toml line 5",
        ),
        (
            "type = \"String\"\nrange = [0, 5]",
            "bad namespace[0].signals[0].range: makes an AnalogItem of a String (want a type of numbers), x.toml line 5",
        ),
        (
            "type = \"Double\"\nfolder = \"a//b\"",
            "bad namespace[0].signals[0].folder: \"a//b\" is no path (want names with / between them), x.toml line 5",
        ),
        (
            "type = \"Double\"\nids = \"i=5\"\n[[namespace.signals]]\ntype = \"Byte\"\nids = \"i=1..10\"",
            "bad namespace[0].signals[1]: ns=2;i=5 is there already: signals Double5 has it (want another id), x.toml line 6",
        ),
        (
            "type = \"Double\"\npattern = { replay = { file = \"nothing.csv\" } }",
            "bad namespace[0].signals[0].pattern.replay.file: cannot read nothing.csv: ",
        ),
    ] {
        let complaint = about(signals);
        assert!(complaint.starts_with(said), "{complaint}\nwant {said}");
    }
}

#[test]
fn structures_and_enumerations_have_to_make_sense() {
    for (text, said) in [
        (
            "[[namespace.enumeration]]\nname = \"Mode\"\nvalues = []",
            "bad namespace[0].enumeration[0].values: is empty (want names, as [\"Off\", \"On\"]), x.toml line 5",
        ),
        (
            "[[namespace.enumeration]]\nname = \"Byte\"\nvalues = [\"Off\"]",
            "bad namespace[0].enumeration[0].name: \"Byte\" is empty or a type already (want another name), x.toml line 4",
        ),
        (
            "[[namespace.structure]]\nname = \"S\"\nfields = [{ name = \"a\", type = \"S\" }]",
            "bad namespace[0].structure[0].fields[0].type: \"S\" is no type (want one of Boolean, ",
        ),
        (
            "[[namespace.structure]]\nname = \"S\"\nfields = [{ name = \"a\", type = \"Byte\" }]\n[[namespace.signals]]\ntype = \"S\"\nvalue = { b = 3 }",
            "bad namespace[0].signals[0].value: S has no field b (want a), x.toml line 8",
        ),
        (
            "[[namespace.method]]\nname = \"f\"\ndoes = \"sum\"\narguments = [{ name = \"a\", type = \"Byte\" }]",
            "bad namespace[0].method[0].name: adds Doubles up, and not all of its arguments are (want type = \"Double\"), x.toml line 4",
        ),
    ] {
        let complaint = complaint(&format!("[[namespace]]\nuri = \"urn:x\"\n{text}\n"));
        assert!(complaint.starts_with(said), "{complaint}\nwant {said}");
    }
}

/// The blocks of a page that are TOML.
fn blocks(page: &str) -> Vec<String> {
    let parts = page.split("```toml\n").skip(1);
    parts
        .filter_map(|part| part.split("```").next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_example_of_the_page_about_plants_is_one() {
    let page = include_str!("../../../../docs/plant.md");
    let blocks = blocks(page);
    assert!(blocks.len() >= 3);
    for block in blocks {
        let plant = parse(&block).unwrap_or_else(|wrong| panic!("{wrong} in\n{block}"));
        assert!(space(&plant).len() > 5000);
    }
    for (name, _) in crate::Profile::all() {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is missing");
    }
}

#[test]
fn every_limit_of_the_server_can_be_set() {
    let plant = parse(
        "[limits]\nreceive_message = \"1MiB\"\nqueue_size = 7\nsession_timeout_max = \"10s\"\npublishing_interval_min = \"50ms\"\nsubscription_lifetime_max = \"2m\"\nkept_messages = 3",
    );
    let limits = plant.unwrap().limits;
    assert_eq!(limits.sizes.receive_message, 1 << 20);
    assert_eq!(limits.queue_size, 7);
    assert_eq!(*limits.session_timeout.end(), Duration::from_secs(10));
    assert_eq!(
        *limits.publishing_interval.start(),
        Duration::from_millis(50)
    );
    assert_eq!(limits.subscription_lifetime, Duration::from_secs(120));
    assert_eq!(limits.kept_messages, 3);

    let plant = parse(
        "advertise = \"opc.tcp://gateway.example:14840\"\ntransfer = \"never\"\n[limits]\nmemory = \"6GiB\"\nsession_memory = \"2MiB\"\nconnection_memory = 3_000_000\nmessage_timeout = \"5s\"\njson_request = \"3MiB\"",
    );
    let config = plant.unwrap().config(crate::Config::default());
    assert_eq!(
        config.advertise.unwrap().to_string(),
        "opc.tcp://gateway.example:14840"
    );
    assert_eq!(config.transfer, crate::Transfer::Never);
    assert_eq!(config.memory.limit(), 6 << 30);
    let limits = &config.limits;
    assert_eq!(limits.session_memory, 2 << 20);
    assert_eq!(limits.connection_memory, 3_000_000);
    assert_eq!(limits.message_timeout, Duration::from_secs(5));
    assert_eq!(limits.json_request, 3 << 20);
}

#[test]
fn a_plant_can_be_updated_and_resized_from_outside() {
    let mut bench = crate::Profile::named("bench").unwrap().unwrap();
    let interval = |plant: &Plant, group: usize| plant.namespaces[0].groups[group].update;
    bench.update_each(Duration::from_millis(20));
    assert_eq!(interval(&bench, 0), Some(Duration::from_millis(20)));
    // Arrays are constant, and the counters have an interval of their own.
    assert_eq!(interval(&bench, 2), None);
    assert_eq!(interval(&bench, 8), Some(Duration::from_millis(100)));

    let mut burger = crate::Profile::named("burger2019").unwrap().unwrap();
    burger.update_each(Duration::from_millis(500));
    assert!(burger.resize(100));
    assert_eq!(interval(&burger, 0), Some(Duration::from_millis(500)));
    assert_eq!(burger.variables(), 100);
    assert!(!bench.resize(3));
}

proptest! {
    /// Whatever is typed, there is a plant or a complaint.
    #[test]
    fn no_text_makes_the_reader_stumble(text in "(\\[\\[namespace\\]\\]\n|uri = \"a\"\n|type = [\"a-z]{0,6}\n|\\[\\[namespace.signals\\]\\]\n|ids = \"[is]=[0-9.{}n]{0,8}\"\n|.{0,12}\n){0,12}") {
        if let Err(wrong) = parse(&text) {
            prop_assert!(wrong.line >= 1);
            prop_assert!(!wrong.what.is_empty());
        }
    }
}

#[test]
fn sources_of_events_are_read_and_what_does_not_fit_is_told() {
    let events = |rest: &str| {
        let text = format!(
            "[[namespace]]\nuri = \"urn:t\"\n[[namespace.events]]\nname = \"A{{n}}\"\n{rest}\n"
        );
        Plant::parse(&text, "t", Path::new("")).map_err(|wrong| wrong.to_string())
    };
    let plant = events("count = 3\nrate = \"5k/s\"").unwrap();
    assert_eq!(plant.events(), (3, 5000.0));
    let plant = events("burst = \"500/250ms\"\nseverity = [1, 1000]").unwrap();
    assert_eq!(plant.events(), (1, 2000.0));
    for (rest, told) in [
        ("", "has neither rate nor burst"),
        ("rate = \"5\"", "bad namespace[0].events[0].rate"),
        ("rate = \"5/s\"\nburst = \"5/1s\"", "stands beside a rate"),
        ("burst = \"0/1s\"", "is no burst"),
        ("rate = \"5/s\"\nseverity = 0", "want 1 to 1000"),
        ("rate = \"5/s\"\ntype = \"LimitAlarmType\"", "has no limits"),
        (
            "rate = \"5/s\"\nlimits = { high = 1 }",
            "this is a BaseEventType",
        ),
        (
            "rate = \"5/s\"\ntype = \"LimitAlarmType\"\nlimits = { high = 1, low = 2 }",
            "falling",
        ),
        ("rate = \"5/s\"\ntype = \"Nonsense\"", "line 6"),
        ("rate = \"5/s\"\ncolour = 1", "unknown field `colour`"),
    ] {
        let wrong = events(rest).unwrap_err();
        assert!(wrong.contains(told), "{wrong}");
        assert!(wrong.contains("line "), "{wrong}");
    }
}

#[test]
fn a_history_needs_values_that_change() {
    let signals = |rest: &str| {
        let text = format!(
            "[[namespace]]\nuri = \"urn:t\"\n[[namespace.signals]]\nids = \"i=1\"\ntype = \"Double\"\n{rest}\n"
        );
        let plant = Plant::parse(&text, "t", Path::new("")).map_err(|wrong| wrong.to_string())?;
        Ok::<_, String>(plant.namespaces[0].groups[0].history)
    };
    let moving = "pattern = \"sine\"\nupdate = \"100ms\"\n";
    assert_eq!(
        signals(&format!("{moving}history = true")),
        Ok(Some(u64::MAX))
    );
    assert_eq!(signals(&format!("{moving}history = 7")), Ok(Some(7)));
    assert_eq!(signals(&format!("{moving}history = false")), Ok(None));
    assert_eq!(
        signals("access = \"read-write\"\nhistory = true"),
        Ok(Some(10_000))
    );
    for (rest, told) in [("history = true", "never changes"), ("history = 0", "is 0")] {
        let wrong = signals(rest).unwrap_err();
        assert!(wrong.contains(told) && wrong.contains("line 6"), "{wrong}");
    }
}

#[test]
fn users_and_groups_that_do_not_fit_are_told() {
    let wrong = |text: &str| parse(text).unwrap_err().to_string();
    for (text, told) in [
        ("[[user]]\nname = \"a\"\n", "has no way to come in"),
        (
            "[[user]]\nname = \"a\"\ncertificate = true\ngroup = \"g\"\n",
            "there is no group \"g\" (want a [[group]]",
        ),
        (
            "[[group]]\nname = \"g\"\n[[group]]\nname = \"g\"\n",
            "there twice",
        ),
        (
            "[[group]]\nname = \"g\"\non = [{ path = \"a//b\", may = [] }]\n",
            "is no path",
        ),
        (
            "anonymous_group = \"x\"\n[[group]]\nname = \"g\"\n",
            "there is no group \"x\" (want g)",
        ),
        (
            "[[group]]\nname = \"g\"\n[[user]]\nname = \"a\"\ncertificate = true\nmay = []\ngroup = \"g\"\n",
            "stands beside a group",
        ),
    ] {
        let wrong = wrong(text);
        assert!(wrong.contains(told) && wrong.contains("line "), "{wrong}");
    }
}
