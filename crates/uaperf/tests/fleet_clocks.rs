//! A publisher whose host's clock is 30 ms ahead and runs 200 ppm too fast, or as far behind and too slow: the clock of its
//! agent and of what that starts is changed under them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::support::{Said, command, json};
use serde_json::Value;

const UAPERF: &str = env!("CARGO_BIN_EXE_uaperf");

/// Takes the place of ssh: what is started has another clock, and so has all that it starts.
fn host(folder: &Path, clock: &str) -> String {
    let file = folder.join("host.sh");
    let text = format!(
        "while [ \"$1\" != -- ]; do shift; done\nshift 2\nexec faketime -f '{clock}' \"$@\"\n"
    );
    std::fs::write(&file, text).unwrap();
    format!("sh {}", file.display())
}

fn number(of: &Value, key: &str) -> i64 {
    of[key]
        .as_i64()
        .unwrap_or_else(|| panic!("no {key} in {of}"))
}

#[test]
fn the_clock_of_a_publishers_host_lies_in_its_band_and_delays_are_those_of_the_network() {
    let faked = Command::new("faketime")
        .args(["-f", "+1h", "date", "+%s"])
        .output();
    if !faked.is_ok_and(|it| it.status.success()) {
        let install = "apt-get install faketime";
        return without::skipped("publishers with other clocks", "no faketime", install);
    }
    for (clock, sign) in [("+0.03 x1.0002", 1), ("-0.03 x0.9998", -1)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let to = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let phase = format!(
            "[[phase]]\nservice = 'publish'\nsignals = 10\ninterval = '20ms'\nduration = '8s'\n\
             to = 'opc.udp://{to}'\non = 'ssh:pc1:{UAPERF}'\n"
        );
        std::fs::write(path.join("x.toml"), phase).unwrap();
        let mut run = command(path, &["run", "x.toml", "--out", "out", "--quiet"]);
        let since = Instant::now();
        let said = Said::by(run.env("UAPERF_SSH", host(path, clock)));
        let took = since.elapsed().as_nanos() as i64;
        assert!(said.is_measured(), "{}{}", said.out, said.err);
        let run = json(&path.join("out/001-point1-1.json"));
        let clock = &run["hosts"][0]["clock"];
        let (ahead, error) = (number(clock, "ahead_ns"), number(clock, "error_ns"));
        // It was off by that when it was started, and by more with each second.
        let least = 30_000_000;
        let most = least + took / 5_000;
        let (low, high) = (sign * ahead - error, sign * ahead + error);
        assert!(low <= most && high >= least, "{low} {high}: {clock}");
        assert!(error < least / 2, "{clock}");
        let drift = &clock["drift_ppb"];
        let [slow, fast] = [0, 1].map(|n| drift[n].as_i64().unwrap());
        assert!(slow <= sign * 200_000 && sign * 200_000 <= fast, "{drift}");

        let told = &run["phases"][0]["pubsub"];
        let heard = &told["listeners"][0];
        assert_eq!(heard["never_came"], 0, "{heard}");
        let between = number(&told["clock"], "error_ns");
        let all = told["clock"]["one_way"].as_array().unwrap();
        assert_eq!(all.len(), 5, "{told}");
        for it in all {
            let (low, high) = (number(it, "low_ns"), number(it, "high_ns"));
            // A message is never heard before it was sent.
            assert!(low <= high && high >= 0, "{it}");
            assert!(high - low <= 2 * between + 1, "{it}");
        }
        // Not in half of the time by which the clock is off: nothing of that is left in it.
        let half = number(&all[0], "low_ns");
        assert!(half < least / 2, "{half}: {told}");
    }
}
