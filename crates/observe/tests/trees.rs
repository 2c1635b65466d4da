//! What hardware and kernels that are not here would say, read from files laid out as the kernel's documentation says.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::time::Duration;

use observe::{
    Idle, Limit, Reading, Resource, Standing, Throttled, Times, Tree, batteries, bench, cgroup,
    core_clocks, descendants, domains, footing, links, pressure, sensors, shares, tasks, turbo,
    zones,
};

/// A tree unpacked: its files stand in one text, each behind a line `== /path`.
struct Unpacked {
    _folder: tempfile::TempDir,
    tree: Tree,
}

fn unpacked(text: &str) -> Unpacked {
    let folder = tempfile::tempdir().unwrap();
    for file in text.split("\n== /").skip(1) {
        let (path, content) = file.split_once('\n').unwrap();
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{}\n", content.trim_end())).unwrap();
    }
    Unpacked {
        tree: Tree::at(folder.path()),
        _folder: folder,
    }
}

fn laptop() -> Unpacked {
    unpacked(include_str!("trees/laptop.txt"))
}

fn board() -> Unpacked {
    unpacked(include_str!("trees/board.txt"))
}

#[test]
fn limits_of_a_service_and_how_often_it_was_held_back_are_read() {
    let group = cgroup(&laptop().tree, 900).unwrap();
    assert_eq!(group.path, "/system.slice/ua.service");
    assert_eq!(group.cpu_cores, Ok(Limit::At(1.5)));
    let throttled = Throttled {
        periods: 810,
        held_back: 27,
        held_back_ns: 1_350_000_000,
    };
    assert_eq!(group.throttled, Ok(throttled));
    assert_eq!(group.memory_limit_bytes, Ok(Limit::At(512 << 20)));
    assert_eq!(group.memory_bytes, Ok(100 << 20));
    assert_eq!(group.cpus.as_deref(), Ok("0-1"));
    let stalled = group.cpu_pressure.unwrap();
    assert_eq!(stalled.some.total_ns, 2_500_000_000);
    assert_eq!(stalled.full.unwrap().total_ns, 2_000_000_000);
    assert!(
        group
            .memory_pressure
            .unwrap_err()
            .reason()
            .contains("memory.pressure")
    );
}

#[test]
fn limits_of_a_container_of_version_1_are_read_and_what_it_does_not_say_has_a_reason() {
    let group = cgroup(&board().tree, 12).unwrap();
    assert_eq!(group.cpu_cores, Ok(Limit::At(0.5)));
    assert_eq!(group.throttled.unwrap().held_back_ns, 123_000_000);
    assert_eq!(group.memory_limit_bytes, Ok(Limit::None));
    assert_eq!(group.memory_bytes, Ok(2 << 20));
    assert_eq!(group.cpus.as_deref(), Ok("0-3"));
    assert!(
        group
            .cpu_pressure
            .unwrap_err()
            .reason()
            .contains("version 1")
    );
    assert!(cgroup(&board().tree, 4711).is_err());
}

#[test]
fn energy_is_read_by_domain_and_one_that_is_not_readable_has_a_reason() {
    let machine = laptop();
    let found = domains(&machine.tree).unwrap();
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["package-0", "package-0/core", "package-0/dram"]);
    assert_eq!(found[0].microjoules, Ok(123_456_789_012));
    assert!(found[2].microjoules.is_err());
    assert!(found[2].joules_since(&found[2]).is_err());
    assert!(
        domains(&board().tree)
            .unwrap_err()
            .reason()
            .contains("powercap")
    );
}

#[test]
fn sensors_are_read_in_their_units_and_fans_are_none() {
    let found = sensors(&laptop().tree).unwrap();
    let of = |label: &str| found.iter().find(|it| it.label == label).unwrap();
    assert_eq!(found.len(), 4);
    assert_eq!(of("Package id 0").reading, Reading::Celsius(71.0));
    assert_eq!(of("power1").reading, Reading::Watts(4.25));
    assert_eq!(of("in1").reading, Reading::Volts(5.05));
    assert_eq!(of("curr1").reading, Reading::Amperes(0.841));
    assert_eq!(of("curr1").chip, "ina226");
}

#[test]
fn a_battery_that_tells_current_and_voltage_tells_power() {
    let found = batteries(&laptop().tree).unwrap();
    assert_eq!(found.len(), 1);
    assert!((found[0].watts.clone().unwrap() - 10.2).abs() < 1e-9);
    assert_eq!(found[0].status.as_deref(), Ok("Discharging"));
    assert!(batteries(&board().tree).is_err());
}

#[test]
fn clocks_and_temperatures_are_read_and_a_core_without_a_driver_says_so() {
    let machine = laptop();
    let clocks = core_clocks(&machine.tree).unwrap();
    assert_eq!(clocks.iter().map(|it| it.core).collect::<Vec<_>>(), [0, 10]);
    assert_eq!(clocks[0].hertz, Ok(2_100_000_000));
    assert_eq!(clocks[0].most_hertz, Ok(4_200_000_000));
    assert_eq!(clocks[0].governor.as_deref(), Ok("powersave"));
    assert_eq!(clocks[0].throttled, Ok(42));
    assert!(
        clocks[1]
            .hertz
            .clone()
            .unwrap_err()
            .reason()
            .contains("cpufreq")
    );
    assert_eq!(turbo(&machine.tree), Ok(true));
    assert_eq!(turbo(&board().tree), Ok(false));
    let zone = &zones(&machine.tree).unwrap()[0];
    assert_eq!(
        (zone.celsius.clone(), zone.passive_celsius.clone()),
        (Ok(71.0), Ok(95.0))
    );
    let zone = &zones(&board().tree).unwrap()[0];
    assert_eq!(
        (zone.kind.as_str(), zone.celsius.clone()),
        ("cpu-thermal", Ok(48.199))
    );
    assert!(zone.passive_celsius.is_err());
}

#[test]
fn a_link_has_a_speed_or_a_reason_and_its_share_counts_what_frames_take() {
    let found = links(&laptop().tree).unwrap();
    let wired = &found[0];
    assert_eq!(wired.speed_bits_per_s, Ok(1_000_000_000));
    assert_eq!(
        (wired.received_dropped.clone(), wired.sent_dropped.clone()),
        (Ok(7), Ok(5))
    );
    assert_eq!(wired.errors, Ok(2));
    // Full frames of 1514 bytes as they are counted, 1538 on the wire: 81,274 a second are all there is room for.
    let share = wired.share(81_274 * 1514, 81_274, 1.0).unwrap();
    assert!((share - 1.0).abs() < 1e-4, "{share}");
    let wireless = &found[1];
    assert!(
        wireless
            .speed_bits_per_s
            .clone()
            .unwrap_err()
            .reason()
            .contains("wlan0")
    );
    assert!(wireless.share(1, 1, 1.0).is_err());
}

#[test]
fn a_thread_is_read_in_full_and_one_that_ended_meanwhile_has_reasons() {
    let found = tasks(&board().tree, 12).unwrap();
    assert_eq!(found.len(), 2);
    let first = &found[0];
    assert_eq!((first.id, first.name.as_str()), (12, "server"));
    assert_eq!(first.cpu_ns, Ok(2_011_223_344));
    assert_eq!(first.waited_ns, Ok(55_667_788));
    assert_eq!(
        (first.user_ns.clone(), first.system_ns.clone()),
        (Ok(1_500_000_000), Ok(500_000_000))
    );
    assert_eq!(
        (
            first.voluntary_switches.clone(),
            first.involuntary_switches.clone()
        ),
        (Ok(700), Ok(201))
    );
    assert_eq!(
        (first.migrations.clone(), first.core.clone()),
        (Ok(17), Ok(3))
    );
    assert_eq!(
        (first.minor_faults.clone(), first.major_faults.clone()),
        (Ok(900), Ok(2))
    );
    assert_eq!(found[1].name, "loop 1");
    assert!(found[1].cpu_ns.is_err() && found[1].voluntary_switches.is_err());
}

#[test]
fn children_of_children_are_found_and_ended_ones_are_not() {
    assert_eq!(descendants(&board().tree, 12), Ok(vec![20, 21]));
    assert_eq!(descendants(&board().tree, 22), Ok(vec![]));
}

#[test]
fn memory_is_shared_out_and_bytes_thrown_away_before_they_were_written_do_not_count() {
    let found = footing(&board().tree, 12).unwrap();
    let memory = shares(&board().tree, 12).unwrap();
    assert_eq!(memory.proportional_bytes, 6100 << 10);
    assert_eq!(memory.private_bytes, 5000 << 10);
    assert_eq!(found.swap_bytes, Ok(2 << 20));
    assert_eq!(
        (found.disk_read_bytes, found.disk_written_bytes),
        (Ok(8192), Ok(16_384))
    );
    assert_eq!((found.read_calls, found.write_calls), (Ok(400), Ok(500)));
}

/// What is good, what disturbs, and what a machine does not say.
#[test]
fn a_bench_is_told_what_disturbs_with_the_command_that_mends_it() {
    let machine = laptop();
    let idle = Idle {
        spent: Ok(Times::default()),
        stepped_ns: 0,
        length: Duration::from_secs(1),
    };
    let all = bench(&machine.tree, &idle);
    let of = |subject: &str| all.iter().find(|it| it.subject == subject).unwrap();
    let mend = |subject: &str| of(subject).mend.as_deref().unwrap_or_default();
    assert_eq!(of("governor").standing, Standing::Disturbs);
    assert!(mend("governor").contains("-g performance"));
    assert!(mend("turbo").ends_with("intel_pstate/no_turbo"));
    assert_eq!(
        of("heat").found,
        "a core was slowed down 42 times since the machine started"
    );
    assert_eq!(of("isolated cores").found, "cores 1");
    assert_eq!(of("isolated cores").standing, Standing::Good);
    assert_eq!(
        (of("swap").found.as_str(), mend("swap")),
        ("on, 12 MiB in use", "sudo swapoff -a")
    );
    assert_eq!(
        mend("socket buffers"),
        "sudo sysctl -w net.core.rmem_max=4194304"
    );
    assert_eq!(
        mend("conntrack"),
        "sudo sysctl -w net.netfilter.nf_conntrack_max=262144"
    );
    assert_eq!(of("clock source").standing, Standing::Disturbs);
    // Nothing of a stretch without a tick, and nothing that no file says.
    assert_eq!(
        (of("steal").standing, of("timer slack").standing),
        (Standing::Unknown, Standing::Unknown)
    );
    // A board without a cpufreq driver says so.
    let board = board();
    let all = bench(&board.tree, &idle);
    let governor = all.iter().find(|it| it.subject == "governor").unwrap();
    assert_eq!(governor.standing, Standing::Unknown);
    assert_eq!(all.len(), 12);
}

#[test]
fn pressure_of_an_older_kernel_has_no_full_for_cpus() {
    let machine = board();
    assert_eq!(pressure(&machine.tree, Resource::Cpu).unwrap().full, None);
    assert!(
        pressure(&machine.tree, Resource::Io)
            .unwrap_err()
            .reason()
            .contains("psi=0")
    );
}
