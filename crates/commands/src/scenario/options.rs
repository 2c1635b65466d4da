//! Every option of the quick commands, said in a phase.

use std::collections::BTreeSet;
use std::path::Path;

use plan::scenario::{Given, Scenario, Vocabulary};

use super::vocabulary::{Commands, SOME_SERVER};
use crate::publishing::phase::SERVICES as PUBSUB;

/// What a phase has to have beside anything else.
const NEEDED: &[(&str, &str)] = &[
    ("history", "nodes = 'i=1'\n"),
    ("subscribe", "with_read = 'i=1'\n"),
    ("write", "nodes = 'i=1'\nallow = 'write'\n"),
    ("call", "object = 'i=1'\nmethod = 'i=2'\nallow = 'call'\n"),
    ("connect", "allow = 'storm'\n"),
    ("nodes", "allow = 'nodes'\n"),
    ("sequence", "sequences = 'one*1: read i=2258'\n"),
    ("listen", "from = 'opc.udp://127.0.0.1'\n"),
];

/// A key, a value that is not what holds without it, and what else it wants.
const VALUES: &[(&str, &str, &str)] = &[
    ("sessions", "3", ""),
    ("spread", "'split'", ""),
    ("in_flight", "8", ""),
    ("rate", "'100/s'", ""),
    ("rate_total", "'100/s'", ""),
    ("arrival", "'poisson'", "rate = '10/s'"),
    ("think", "'5ms'", ""),
    ("requests", "100", ""),
    ("duration", "'3s'", ""),
    ("warmup", "'1s'", ""),
    ("max_warmup", "'1s'", ""),
    ("cooldown", "'1s'", ""),
    ("catch_up", "'skip'", "rate = '10/s'"),
    ("slots", "7", "rate = '10/s'"),
    ("coalesce", "4", "in_flight = 8"),
    ("together", "true", ""),
    ("spin", "true", ""),
    ("threads", "2", ""),
    ("pin", "[0, 1]", ""),
    ("pin_server", "[0, 1]", ""),
    ("isolated", "'server'", ""),
    ("nice", "5", ""),
    ("rt", "50", ""),
    ("rt_server", "98", ""),
    ("seed", "9", ""),
    ("fresh_session", "true", ""),
    ("reconnect", "'resume'", ""),
    ("expect", "['p99<5ms', 'errors=0']", ""),
    ("abort_on", "'errors>1%'", ""),
    ("max_errors", "100", ""),
    (
        "allow",
        "['write', 'call', 'nodes', 'storm', 'overload']",
        "",
    ),
    (
        "ignore_limits",
        "true",
        "allow = ['write', 'call', 'nodes', 'storm', 'overload']",
    ),
    ("security", "'Basic256Sha256:Sign'", ""),
    ("trust", "true", ""),
    ("skip_check", "['time', 'host']", ""),
    ("revocation", "'cached'", ""),
    ("revocation_fail", "'soft'", ""),
    ("revocation_timeout", "'1s'", ""),
    ("user", "'bench'", ""),
    ("password_file", "'secret.txt'", "user = 'bench'"),
    ("plain_password", "true", "user = 'bench'"),
    ("user_cert", "'me.der'", "user_key = 'me.pem'"),
    ("user_key", "'me.pem'", "user_cert = 'me.der'"),
    ("user_token", "'me.jwt'", ""),
    ("encoding", "'json'", ""),
    ("tls_resume", "true", ""),
    ("dscp", "'ef'", ""),
    ("proxy", "'http://proxy.example:3128'", ""),
    (
        "proxy_password_file",
        "'secret.txt'",
        "proxy = 'http://me@proxy.example:3128'",
    ),
    ("session_timeout", "'30s'", ""),
    ("timeout", "'3s'", ""),
    ("link", "'4g'", ""),
    ("identity_each", "true", ""),
    ("samples", "true", ""),
    ("hlog", "true", ""),
    ("observe", "[':4840', 'host']", ""),
    ("observe_interval", "'10ms'", ""),
    ("counters", "true", ""),
    ("link_test", "true", ""),
    ("meter", "'power.csv'", ""),
    ("meter_columns", "'time=1,watts=2'", "meter = 'power.csv'"),
    ("meter_offset", "-2.5", "meter = 'power.csv'"),
    ("meter_align", "'3s'", "meter = 'power.csv'"),
    ("energy", "true", ""),
    ("idle", "'2s'", ""),
    ("nodes", "['i=7', 'i=8']", ""),
    ("batch", "5", ""),
    ("attribute", "'DisplayName'", ""),
    ("max_age", "'1s'", ""),
    ("timestamps", "'neither'", ""),
    ("index_range", "'0:9'", ""),
    ("values", "'count'", ""),
    ("restore", "true", ""),
    ("registered", "true", ""),
    ("direction", "'both'", ""),
    ("reference", "'i=35'", ""),
    ("max_references", "10", ""),
    ("no_follow", "true", ""),
    ("paths", "['/Objects/Server']", ""),
    ("start", "'i=85'", ""),
    ("object", "'i=7'", ""),
    ("method", "'i=7'", ""),
    ("args", "['a', '2']", ""),
    ("alone", "true", ""),
    ("events", "true", ""),
    ("select", "['Severity', 'Message']", "events = true"),
    ("where", "'Severity >= 500'", "events = true"),
    ("refresh", "true", "events = true"),
    ("subscriptions", "2", ""),
    ("items", "20", ""),
    ("publishing", "'100ms'", ""),
    ("sampling", "'fastest'", ""),
    ("queue", "7", ""),
    ("discard_newest", "true", ""),
    ("deadband", "'0.5'", ""),
    ("trigger", "'timestamp'", ""),
    ("aggregate", "'average'", ""),
    ("processing_interval", "'2s'", "aggregate = 'average'"),
    ("mode", "'sampling'", ""),
    ("publishing_off", "true", ""),
    ("publish_requests", "4", ""),
    ("max_notifications", "100", ""),
    ("priority", "9", ""),
    ("keep_alive", "3", ""),
    ("lifetime", "30", ""),
    ("items_per_call", "50", ""),
    ("settle", "'2s'", ""),
    ("phase", "'aligned'", ""),
    ("change_rate", "'1/s'", ""),
    ("writer", "'1/s'", "allow = 'write'"),
    ("churn", "['modify:1/s']", ""),
    ("with_read", "['i=7']", ""),
    ("with_write", "['i=7']", "allow = 'write'"),
    ("with_batch", "3", "with_read = ['i=7', 'i=8', 'i=9']"),
    ("kind", "'reconnect'", ""),
    ("reads", "3", ""),
    ("hold", "'1s'", ""),
    ("at_once", "3", ""),
    ("source_addresses", "2", ""),
    ("below", "'i=84'", ""),
    ("count", "5", ""),
    ("nodes_per_call", "3", ""),
    ("no_references", "true", ""),
    ("sequences", "['two*1: browse i=85']", ""),
    ("ramp_up", "'1s'", ""),
    ("ramp_down", "'1s'", ""),
    ("last", "'5m'", ""),
    ("ago", "'1s'", ""),
    ("backwards", "true", ""),
    ("bounds", "true", ""),
    ("to", "'opc.udp://127.0.0.1:5000'", ""),
    ("from", "'opc.udp://127.0.0.1:5000'", ""),
    ("interface", "'127.0.0.1'", ""),
    ("listen_interface", "'eth1'", ""),
    ("listeners", "2", "to = 'opc.udp://239.0.0.1'"),
    ("receive_buffer", "'1MiB'", ""),
    ("signals", "7", ""),
    ("type", "'double'", ""),
    ("writers", "2", ""),
    ("groups", "2", ""),
    ("publisher", "'me'", ""),
    ("publishers", "['1', 'me']", ""),
    ("layout", "'periodic-fixed'", ""),
    ("encoding", "'raw'", ""),
    ("policy", "'PubSub-Aes128-CTR'", ""),
    ("keys", "'group.keys'", "security = 'sign'"),
    (
        "security_group",
        "'line4'",
        "keys = 'opc.tcp://plc1'; security = 'sign'",
    ),
    ("service_user", "'alice'", ""),
    (
        "service_password_file",
        "'secret.txt'",
        "service_user = 'alice'",
    ),
    ("discovery", "'opc.udp://224.0.2.14'", ""),
    (
        "roll_over",
        "'1s'",
        "keys = 'group.keys'; security = 'sign'",
    ),
    ("interval", "'5ms'", ""),
    ("max", "true", ""),
    ("ttl", "3", ""),
    ("dscp", "'ef'", ""),
    ("on", "'local:1'", "to = 'opc.udp://239.0.0.1'"),
    ("listen_on", "'local:1'", "to = 'opc.udp://239.0.0.1'"),
    ("strict", "true", ""),
    ("mapping", "'json'", "to = 'mqtt://127.0.0.1'"),
    ("client_cert", "'me.der'", "client_key = 'me.pem'"),
    ("client_key", "'me.pem'", "client_cert = 'me.der'"),
    ("qos", "1", ""),
    ("mqtt", "'5'", ""),
    ("same_clock", "true", "from = 'mqtt://127.0.0.1'"),
    ("allow_constant_nonce", "true", ""),
];

/// Not for requests, but for each service: what it does not go with, and says so.
const REFUSED: &[(&[&str], &[&str])] = &[
    (
        &["connect", "items", "nodes", "sequence"],
        &[
            "in_flight",
            "coalesce",
            "together",
            "spin",
            "fresh_session",
            "reconnect",
        ],
    ),
    (&["subscribe"], &["fresh_session"]),
];

/// A phase with these lines.
fn scenario(service: &str, lines: &str) -> Result<Scenario, String> {
    let needed = NEEDED.iter().find(|(name, _)| *name == service);
    let named = |line: &&str| {
        let key = line.split(' ').next().unwrap_or_default();
        !lines.lines().any(|it| it.split(' ').next() == Some(key))
    };
    let needed = needed.map_or("", |(_, lines)| lines);
    let needed: Vec<&str> = needed.lines().filter(named).collect();
    let text = format!(
        "target = '{SOME_SERVER}'\n[[phase]]\nservice = '{service}'\n{}\n{lines}",
        needed.join("\n")
    );
    let commands = Commands::beside(Path::new("folder/x.toml"));
    Scenario::parse(&text, "x.toml", &Given::default(), &commands)
        .map_err(|complaint| complaint.to_string())
}

/// All that would be carried out.
fn asked(service: &str, lines: &str) -> Result<String, String> {
    let scenario = scenario(service, lines)?;
    let commands = Commands::beside(Path::new("folder/x.toml"));
    let step = &scenario.points[0].groups[0].steps[0];
    let mut more = Commands::beside_result(&step.settings, Path::new("out/001"));
    more.extend(
        commands
            .needs_server(service)
            .then(|| SOME_SERVER.to_owned()),
    );
    let asked = commands
        .asked(service, &step.settings, &more)
        .map_err(|it| it.what)?;
    Ok(format!("{asked:?}\n{:?}", step.phase))
}

#[test]
fn every_option_of_every_command_can_be_said_in_a_phase_and_is_heard() {
    let commands = Commands::beside(Path::new("folder/x.toml"));
    let mut unheard = Vec::new();
    for service in commands.services() {
        for key in commands.keys(&service) {
            let Some((_, value, more)) = VALUES.iter().find(|(name, ..)| *name == key.name) else {
                unheard.push(format!("{service}: no value for {} is tried", key.name));
                continue;
            };
            // How many there, which ones here.
            let value = match key.value.as_str() {
                "N" if key.name == "values" => "10",
                "WHICH" if service == "history" => "'both'",
                _ if PUBSUB.contains(&service.as_str()) && key.name == "security" => "'sign'",
                // Of fields there, of messages here.
                _ if PUBSUB.contains(&service.as_str()) && key.name == "encoding" => "'raw'",
                _ => value,
            };
            // Who only listens does so wherever that is, and says what it refuses.
            let more = match service.as_str() {
                "listen" if key.name == "listeners" => "",
                "listen" if key.name == "on" => "from = 'opc.udp://239.0.0.1'",
                _ => more,
            };
            let without = format!("{}\n", more.replace("; ", "\n"));
            let with = format!("{without}{} = {value}\n", key.name);
            let refused = REFUSED.iter().any(|(services, keys)| {
                services.contains(&service.as_str()) && keys.contains(&key.name.as_str())
            });
            match (asked(&service, &without), asked(&service, &with)) {
                (_, Err(error)) if refused => assert!(error.contains(" (want "), "{error}"),
                (_, Err(error)) => unheard.push(format!("{service}: {error}")),
                _ if refused => unheard.push(format!("{service} takes {}", key.name)),
                (Ok(without), Ok(with)) if without == with => {
                    unheard.push(format!("{service}: {} changes nothing", key.name));
                }
                _ => {}
            }
        }
    }
    assert!(unheard.is_empty(), "{}", unheard.join("\n"));
}

#[test]
fn what_the_commands_have_and_phases_have_not_is_what_runs_have() {
    let mut missing = BTreeSet::new();
    let commands = Commands::beside(Path::new("x.toml"));
    for service in commands.services() {
        let keys = commands.keys(&service);
        let command = super::phase_work::definition(&service).unwrap();
        let options = command.get_arguments().filter_map(|arg| arg.get_long());
        let unsaid = options.filter(|it| !keys.iter().any(|key| key.option == *it));
        missing.extend(unsaid.map(str::to_owned));
    }
    // Of a result or of the whole run: options of `uaperf run`.
    let of_runs = [
        "csv",
        "fleet",
        "format",
        "json",
        "junit",
        "listen-reverse",
        "live-file",
        "note",
        "orphan",
        "out",
        "pcap",
        "pcap-max",
        "plain",
        "prometheus",
        "push",
        "push-every",
        "push-token-file",
        "quiet",
        "report",
        "server-pid",
        "tag",
        "target-name",
    ];
    assert_eq!(
        missing.iter().map(String::as_str).collect::<Vec<_>>(),
        of_runs
    );
    let run = <super::run::Args as clap::Args>::augment_args(clap::Command::new("run"));
    for option in of_runs {
        let there = run
            .get_arguments()
            .any(|arg| arg.get_long() == Some(option));
        assert!(there, "uaperf run --{option}");
    }
}

#[test]
fn files_that_a_phase_names_are_looked_for_beside_its_scenario() {
    let asked = asked(
        "read",
        "user = 'bench'\npassword_file = 'secret.txt'\nsamples = true\n",
    );
    let asked = asked.unwrap();
    assert!(asked.contains("\"folder/secret.txt\""), "{asked}");
    assert!(asked.contains("\"out/001.samples.csv\""), "{asked}");
}
