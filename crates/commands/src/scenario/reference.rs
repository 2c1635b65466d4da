//! The reference of every key, made of what the program knows of them. `docs/scenarios.md` holds it; a
//! test sees to it that it does.

use std::fmt::Write;

use plan::scenario::{Key, Kind, Vocabulary, fleet_keys, phase_keys, start_keys, top_keys};

use super::vocabulary::Commands;

/// Between these lines of the page.
const BEGIN: &str = "<!-- keys: begin -->";
const END: &str = "<!-- keys: end -->";

fn table(text: &mut String, title: &str, about: &str, keys: &[Key]) {
    let _ = writeln!(
        text,
        "### {title}\n\n{about}\n\n| key | value | what it does | without it |\n|---|---|---|---|"
    );
    for key in keys {
        let value = match (key.shape, key.value.as_str()) {
            (plan::scenario::Shape::Flag, _) => "`true`".to_owned(),
            (plan::scenario::Shape::Many, value) => format!("`{value}`, or a list"),
            (_, value) => format!("`{value}`"),
        };
        // A help text says in its last brackets what holds otherwise.
        let (about, default) = match (&key.default, key.about.rsplit_once(" [default: ")) {
            (Some(default), _) => (key.about.as_str(), default.clone()),
            (None, Some((about, default))) => (about, default.trim_end_matches(']').to_owned()),
            (None, None) => (key.about.as_str(), String::new()),
        };
        let cell = |text: &str| text.replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            key.name,
            cell(&value),
            cell(about),
            cell(&default)
        );
    }
    text.push('\n');
}

/// All keys.
fn reference() -> String {
    let commands = Commands::beside(std::path::Path::new("x.toml"));
    let mut text = String::new();
    table(
        &mut text,
        "At the top",
        "Beside them the tables `[parameters]`, `[start]`, `[fleet]`, `[defaults]`, `[group.NAME]` and `[[phase]]`.",
        &top_keys(),
    );
    table(
        &mut text,
        "`[[phase]]`",
        "And the keys of its service.",
        &phase_keys(),
    );
    let all: Vec<(String, Vec<Key>)> = commands
        .services()
        .into_iter()
        .map(|service| {
            let keys = commands.keys(&service);
            (service, keys)
        })
        .collect();
    // PubSub has no server that would be asked.
    let asks = |service: &&(String, Vec<Key>)| commands.needs_server(&service.0);
    let everywhere = |key: &Key| all.iter().filter(asks).all(|(_, keys)| keys.contains(key));
    let first = all.first().map_or(&[][..], |(_, keys)| keys.as_slice());
    let common: Vec<Key> = first
        .iter()
        .filter(|key| everywhere(key))
        .cloned()
        .collect();
    table(
        &mut text,
        "Of every service that asks a server",
        "How much load, when, for how long, and how the server is reached.",
        &common,
    );
    for (service, keys) in &all {
        let own: Vec<Key> = keys
            .iter()
            .filter(|key| !commands.needs_server(service) || !common.contains(key))
            .cloned()
            .collect();
        table(
            &mut text,
            &format!("`service = \"{service}\"`"),
            &match commands.needs_server(service) {
                true => format!("As `uaperf {service} --help` has them."),
                false => "PubSub over UDP ([pubsub.md](pubsub.md#in-scenarios)): all of its keys."
                    .to_owned(),
            },
            &own,
        );
    }
    table(
        &mut text,
        "`[fleet]`",
        "Agents that make the load of phases ([fleet.md](fleet.md#in-scenarios)).",
        &fleet_keys(),
    );
    table(
        &mut text,
        "`[start]`",
        "And the keys of what is started.",
        &start_keys(),
    );
    table(
        &mut text,
        "`[start]` with `plant`",
        "As `uaperf serve --help` has them.",
        &commands.start_keys(Kind::Plant),
    );
    table(
        &mut text,
        "`[start]` with `peer`",
        "As `uaperf peers start --help` has them.",
        &commands.start_keys(Kind::Peer),
    );
    text
}

#[test]
fn the_page_has_every_key_as_the_program_has_it() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let wanted = format!("\n\n{}", reference());
    if std::env::var_os("UAPERF_WRITE_DOCS").is_some() {
        std::fs::write(&page, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
    } else {
        assert!(
            written == wanted,
            "docs/scenarios.md is not up to date: run this test with UAPERF_WRITE_DOCS=1"
        );
    }
}

/// What each `toml` block of the page is: a scenario, or a part of one.
#[test]
fn every_scenario_on_the_page_is_one() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mut blocks = 0;
    for block in text.split("```toml\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        blocks += 1;
        let mut whole = block.to_owned();
        if !whole.contains("[start]") && !whole.contains("target = ") {
            whole.insert_str(0, "target = \"opc.tcp://h:4840\"\n");
        }
        if !whole.contains("[[phase]]") {
            whole.push_str("[[phase]]\nservice = \"read\"\n");
        }
        let given = plan::scenario::Given::default();
        super::parse(&whole, std::path::Path::new("page.toml"), &given)
            .unwrap_or_else(|error| panic!("{error}\n{whole}"));
    }
    assert!(blocks >= 5);
}
