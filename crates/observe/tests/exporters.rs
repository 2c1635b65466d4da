//! Pages of exporters for Prometheus. None of them is installed here: the pages in `exporters` were written after what the
//! exporters document (node_exporter 1.8, process-exporter 0.8, windows_exporter 0.30, cAdvisor 0.49: names, labels and
//! units of their metrics, and the form in which Go's client library writes them), cut to a machine of two cores. That
//! of our own exporter is read where it is made, by `crates/uaperf/tests/elsewhere.rs`.
#![allow(clippy::unwrap_used)]

use observe::{ExportedFigures, Page};

const NODE: &str = include_str!("exporters/node_exporter.txt");
const PROCESS: &str = include_str!("exporters/process_exporter.txt");
const WINDOWS: &str = include_str!("exporters/windows_exporter.txt");
const CADVISOR: &str = include_str!("exporters/cadvisor.txt");

fn told(page: &str, name: Option<&str>) -> ExportedFigures {
    Page::parse(page).unwrap().tell(name).unwrap()
}

fn refused(page: &str, name: Option<&str>) -> String {
    let told = Page::parse(page).and_then(|it| it.tell(name));
    told.unwrap_err().reason().to_owned()
}

fn seconds(ns: &observe::Figure<u64>) -> f64 {
    *ns.as_ref().unwrap() as f64 / 1e9
}

#[test]
fn node_exporter_tells_of_a_machine_without_idle_waiting_and_stolen_time() {
    let it = told(NODE, None);
    assert_eq!((it.by.as_str(), it.name), ("node_exporter 1.8.1", None));
    assert_eq!(it.clock_ns, Some(1_716_896_125_500_000_000));
    let totals = it.totals;
    assert_eq!(seconds(&totals.cpu_ns), 498.0);
    assert_eq!(seconds(&totals.user_ns), 322.25);
    assert_eq!(seconds(&totals.system_ns), 150.5);
    assert_eq!(seconds(&totals.stolen_ns), 3.0);
    assert_eq!(
        (totals.rss_bytes, totals.ram_bytes),
        (Ok(1_000_000_000), Ok(4_000_000_000))
    );
    let links = totals.links.unwrap();
    let eth0 = links.iter().find(|it| it.name == "eth0").unwrap();
    assert_eq!(eth0.received_bytes, Ok(1_250_000_000));
    assert_eq!(eth0.sent_bytes, Ok(2_500_000_000));
    assert_eq!(
        (eth0.received_dropped.clone(), eth0.sent_dropped.clone()),
        (Ok(3), Ok(4))
    );
    assert_eq!(eth0.speed_bits_per_s, Ok(1_000_000_000));
    let lo = links.iter().find(|it| it.name == "lo").unwrap();
    assert!(lo.speed_bits_per_s.is_err());
    // What it does not have has its reason.
    let reason = totals.voluntary_switches.unwrap_err();
    assert!(
        reason.reason().contains("node_exporter does not give"),
        "{reason}"
    );
}

#[test]
fn process_exporter_tells_of_a_group_by_its_name() {
    let it = told(PROCESS, Some("open62541"));
    assert_eq!(
        (it.by.as_str(), it.name.as_deref()),
        ("process-exporter", Some("open62541"))
    );
    let totals = it.totals;
    assert_eq!(seconds(&totals.cpu_ns), 42.75);
    assert_eq!(
        (seconds(&totals.user_ns), seconds(&totals.system_ns)),
        (30.5, 12.25)
    );
    assert_eq!((totals.rss_bytes, totals.threads), (Ok(11_534_336), Ok(3)));
    assert_eq!(totals.voluntary_switches, Ok(678_901));
    assert_eq!(totals.involuntary_switches, Ok(345));
    assert_eq!(
        (totals.minor_faults, totals.major_faults),
        (Ok(4567), Ok(7))
    );
    let reason = refused(PROCESS, Some("milo"));
    assert!(
        reason.contains("no process milo (it has 2: bash, open62541)"),
        "{reason}"
    );
    // Two of them, and no machine.
    let reason = refused(PROCESS, None);
    assert!(reason.contains("none of node_exporter"), "{reason}");
}

#[test]
fn windows_exporter_tells_of_a_machine_and_of_a_process_by_name_or_id() {
    let machine = told(WINDOWS, None);
    assert_eq!(machine.by, "windows_exporter 0.30.0");
    // Interrupts and DPCs are in privileged time.
    assert_eq!(seconds(&machine.totals.cpu_ns), 700.0);
    assert_eq!(machine.totals.rss_bytes, Ok(2_000_000_000));
    let link = &machine.totals.links.unwrap()[0];
    assert_eq!(
        (link.received_bytes.clone(), link.sent_bytes.clone()),
        (Ok(750_000_000), Ok(850_000_000))
    );
    assert_eq!(link.speed_bits_per_s, Ok(1_000_000_000));
    for name in ["UaServer", "4242"] {
        let it = told(WINDOWS, Some(name));
        assert_eq!(it.name.as_deref(), Some("UaServer"));
        let totals = it.totals;
        assert_eq!(
            (seconds(&totals.user_ns), seconds(&totals.system_ns)),
            (9.5, 1.25)
        );
        assert_eq!((totals.rss_bytes, totals.threads), (Ok(33_554_432), Ok(21)));
    }
}

#[test]
fn cadvisor_tells_of_the_machine_and_of_a_container_each_at_its_own_time() {
    let machine = told(CADVISOR, None);
    assert_eq!(machine.by, "cAdvisor v0.49.1");
    assert_eq!(machine.clock_ns, Some(1_716_896_125_500_000_000));
    assert_eq!(seconds(&machine.totals.cpu_ns), 500.75);
    assert_eq!(
        (machine.totals.rss_bytes, machine.totals.ram_bytes),
        (Ok(1_500_000_000), Ok(4_000_000_000))
    );
    let plant = told(CADVISOR, Some("plant"));
    assert_eq!(plant.clock_ns, Some(1_716_896_124_250_000_000));
    let totals = plant.totals;
    // One row for each CPU.
    assert_eq!(seconds(&totals.cpu_ns), 15.25);
    assert_eq!(
        (seconds(&totals.user_ns), seconds(&totals.system_ns)),
        (10.75, 4.5)
    );
    assert_eq!((totals.rss_bytes, totals.threads), (Ok(25_000_000), Ok(9)));
    assert_eq!((totals.minor_faults, totals.major_faults), (Ok(897), Ok(3)));
    assert_eq!(totals.links.unwrap()[0].sent_bytes, Ok(123_456));
    assert_eq!(
        told(CADVISOR, Some("/docker/0a1b")).totals.cpu_ns,
        Ok(15_250_000_000)
    );
}

#[test]
fn a_pod_of_cadvisor_counts_its_containers_once() {
    const CPU: &str = "container_cpu_usage_seconds_total";
    let row = |container: &str, seconds: u32| {
        format!("{CPU}{{container=\"{container}\",cpu=\"total\",pod=\"plant-0\"}} {seconds}\n")
    };
    let containers = row("app", 9) + &row("log", 3);
    let page = row("", 12) + &containers;
    let cpu = |page: &str, name| told(page, Some(name)).totals.cpu_ns;
    assert_eq!(cpu(&page, "plant-0"), Ok(12_000_000_000));
    assert_eq!(cpu(&page, "app"), Ok(9_000_000_000));
    // Where the pod has no row of its own, its containers are all there is.
    assert_eq!(cpu(&containers, "plant-0"), Ok(12_000_000_000));
}

#[test]
fn a_page_of_one_process_tells_of_that_one() {
    let page = "process_cpu_seconds_total 7.5\nprocess_resident_memory_bytes 1e+06\n";
    let it = told(page, None);
    assert_eq!(
        (it.totals.cpu_ns, it.totals.rss_bytes),
        (Ok(7_500_000_000), Ok(1_000_000))
    );
    let one: String = PROCESS
        .lines()
        .filter(|it| !it.contains("bash"))
        .map(|it| format!("{it}\n"))
        .collect();
    assert_eq!(told(&one, None).name.as_deref(), Some("open62541"));
}

#[test]
fn a_page_that_is_cut_or_spoilt_anywhere_is_read_or_refused() {
    for page in [NODE, PROCESS, WINDOWS, CADVISOR] {
        for at in (0..page.len())
            .step_by(23)
            .filter(|at| page.is_char_boundary(*at))
        {
            let (before, after) = page.split_at(at);
            for spoilt in ["", "\\", "\"", "{", "}", "\n", "\u{0}", "9e999"] {
                let text = format!("{before}{spoilt}");
                // Any answer will do.
                let _ = Page::parse(&text).and_then(|it| it.tell(None));
                if at % 7 == 0 {
                    let text = format!("{before}{spoilt}{after}");
                    let _ = Page::parse(&text).and_then(|it| it.tell(Some("plant")));
                }
            }
        }
    }
}

#[test]
fn what_is_no_page_of_an_exporter_says_what_it_is() {
    let reason = refused("<!doctype html>\n<html>\n", None);
    assert!(
        reason.contains("line 1 is not in the text format"),
        "{reason}"
    );
    assert!(refused("", None).contains("empty"));
    let reason = refused("up 1\nscrape_seconds 0.1\n", None);
    assert!(
        reason.contains("it has 2 metrics, such as scrape_seconds, up"),
        "{reason}"
    );
    let reason = refused(NODE, Some("open62541"));
    assert!(reason.contains("names no processes"), "{reason}");
}
