//! A controller, three agents and a plant, each in a network namespace of its own, by ssh and by a broker: the sum of what the
//! agents count is what the plant says.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{json, text};
use serde_json::Value;

/// A bridge joins five hosts: the controller and the broker stand here, three agents with an ssh server each there, the plant
/// in another place. `$0` is the program, `$1` the ssh server or `try`, `$2` the broker.
const LAB: &str = r#"
set -eu
dir=$PWD
ip link set dev lo up
mount -t tmpfs none /run && mkdir -p /run/sshd
ip link add dev lan type bridge
ip addr add 10.78.0.1/24 dev lan && ip link set dev lan up
others=
trap 'kill $others 2>/dev/null || true; wait' EXIT
host() { # NAME NUMBER: a host of this name at 10.78.0.NUMBER
  unshare -nu sleep 600 & pid=$!
  others="$others $pid"
  until [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
  echo $pid > "$1.pid"
  ip link add dev "to-$1" type veth peer name lan0 netns $pid
  ip link set dev "to-$1" master lan up
  on "$1" ip addr add "10.78.0.$2/24" dev lan0
  on "$1" ip link set dev lan0 up
  on "$1" ip link set dev lo up
  on "$1" sh -c "echo $1 > /proc/sys/kernel/hostname"
}
on() { name=$1; shift; nsenter -t "$(cat "$name.pid")" -n -u "$@"; }
host plant 20
[ "$1" = try ] && exit 0

for key in host user; do ssh-keygen -q -t ed25519 -N '' -f $key; done
echo a-token > token
"$2" -a 10.78.0.1 -p 4222 --auth a-token > broker.log 2>&1 & others="$others $!"
UAPERF_NATS_URL=nats://10.78.0.1:4222 UAPERF_NATS_TOKEN_FILE=$dir/token UAPERF_FLEET_KEY=$dir/fleet.key
export UAPERF_NATS_URL UAPERF_NATS_TOKEN_FILE UAPERF_FLEET_KEY
"$0" fleet key > keys
until grep -q 'ready' broker.log; do sleep 0.05; done
for n in 1 2 3; do
  host agent$n 1$n
  printf '%s\n' 'Port 2222' "ListenAddress 10.78.0.1$n" "HostKey $dir/host" "AuthorizedKeysFile $dir/user.pub" \
    'PidFile none' 'StrictModes no' 'UsePAM no' 'PermitRootLogin yes' \
    "SetEnv UAPERF_PKI=$dir/pki-$n XDG_STATE_HOME=$dir/state-$n" > sshd$n.conf
  printf '%s\n' "Host agent$n" "HostName 10.78.0.1$n" 'Port 2222' "IdentityFile $dir/user" 'IdentitiesOnly yes' \
    'UserKnownHostsFile /dev/null' 'StrictHostKeyChecking no' 'LogLevel ERROR' >> ssh.conf
  nsenter -t "$(cat agent$n.pid)" -n -u "$1" -D -e -f sshd$n.conf 2> sshd$n.log & others="$others $!"
  UAPERF_PKI=$dir/pki-$n XDG_STATE_HOME=$dir/state-$n nsenter -t "$(cat agent$n.pid)" -n -u "$0" agent \
    --nats "$UAPERF_NATS_URL" --tag lab --allow-from keys --targets 10.78.0.20:4840 --loads write,subscribe \
    2> agent$n.log & others="$others $!"
done
nsenter -t "$(cat plant.pid)" -n -u "$0" serve --listen 10.78.0.20 --port 4840 --profile devices --security none \
  --ledger truth.json > serve.log 2>&1 & plant=$!
others="$others $plant"
until grep -q READY serve.log; do sleep 0.05; done
for n in 1 2 3; do
  until grep -q listening sshd$n.log && grep -q 'waits for loads' agent$n.log; do sleep 0.05; done
done

UAPERF_SSH="ssh -F $dir/ssh.conf"; export UAPERF_SSH
load() { # WAY FLEET
  "$0" write opc.tcp://10.78.0.20:4840 -n 'nsu=urn:uaperf:device;s=Device.Setpoint' --sessions 6 --requests 900 \
    --warmup 0s --allow write --security none --fleet "$2" --out "$1-write.json" || echo "$1 write $?"
  "$0" subscribe opc.tcp://10.78.0.20:4840 -n 'nsu=urn:uaperf:device;i=1000..1004' --sessions 6 --duration 2s \
    --security none --fleet "$2" --out "$1-subscribe.json" || echo "$1 subscribe $?"
}
load ssh "ssh:agent1:$0,ssh:agent2:$0,ssh:agent3:$0"
load nats nats:lab
kill $plant
wait $plant || true
"#;

fn lab(folder: &Path, words: &[&str]) -> Command {
    let mut shell = Command::new("unshare");
    shell
        .args(["-nm", "sh", "-c", LAB, env!("CARGO_BIN_EXE_uaperf")])
        .args(words)
        .env("UAPERF_PKI", folder.join("pki"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .current_dir(folder)
        .stdin(Stdio::null());
    shell
}

fn number(of: &Value, path: &str) -> u64 {
    let found = of.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no {path} in {of:#}"))
}

#[test]
fn three_agents_on_hosts_of_their_own_count_by_ssh_and_by_a_broker_what_the_plant_counts() {
    const WHAT: &str = "fleet of five hosts";
    let paths = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];
    let Some(sshd) = paths.into_iter().find(|it| Path::new(it).exists()) else {
        let install = "apt-get install openssh-server openssh-client";
        return without::skipped(WHAT, "no sshd", install);
    };
    if Command::new("ip").arg("-V").output().is_err() {
        return without::skipped(WHAT, "no ip", "apt-get install iproute2");
    }
    let Some(broker) = peers::testing::require("nats-server") else {
        return;
    };
    let broker = broker.program().display().to_string();
    let why = {
        let folder = tempfile::tempdir().unwrap();
        match lab(folder.path(), &["try"]).output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(text(&output.stderr).trim().replace('\n', "; ")),
            Err(error) => Some(error.to_string()),
        }
    };
    if let Some(why) = why {
        // No package brings it: a container may not have networks of its own.
        return without::say(&format!(
            "SKIPPED {WHAT}: {why}: as root, where namespaces and bridges are allowed"
        ));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let output = lab(path, &[sshd, &broker]).output().unwrap();
    let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{all}");

    let truth = json(&path.join("truth.json"));
    let (mut written, mut received, mut messages) = (0, 0, 0);
    for (way, names) in [
        ("ssh", ["ssh:agent1", "ssh:agent2", "ssh:agent3"]),
        (
            "nats",
            ["nats:lab/agent1", "nats:lab/agent2", "nats:lab/agent3"],
        ),
    ] {
        let wrote = json(&path.join(format!("{way}-write.json")));
        let subscribed = json(&path.join(format!("{way}-subscribe.json")));
        for run in [&wrote, &subscribed] {
            let hosts = run["hosts"].as_array().unwrap();
            let found: Vec<&str> = hosts
                .iter()
                .map(|it| it["name"].as_str().unwrap())
                .collect();
            assert_eq!(found, names, "{all}");
            for host in hosts {
                assert!(host["lost"].is_null(), "{host}");
                assert_eq!(host["sessions"], 2);
                assert!(number(host, "/clock/error_ns") > 0);
            }
        }
        let total = &wrote["phases"][0]["total"];
        assert_eq!(number(total, "/completed"), 900, "{all}");
        let each = wrote["hosts"].as_array().unwrap().iter();
        let each: Vec<u64> = each.map(|it| number(it, "/total/completed")).collect();
        assert_eq!(each, [300; 3]);
        written += 900;
        let came = &subscribed["phases"][0]["subscriptions"];
        assert!(number(came, "/values/received") > 100, "{came:#}");
        received += number(came, "/values/received");
        messages += number(came, "/messages/notifications");
    }
    assert_eq!(number(&truth, "/counted/writes"), written);
    let sent = &truth["subscriptions"]["total"];
    assert_eq!(number(sent, "/computed/sent"), received);
    assert_eq!(number(sent, "/messages/sent"), messages);
}
