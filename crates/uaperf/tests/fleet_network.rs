//! A network that is cut between a controller and its agent: two namespaces, a pair of veth, ssh over it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{json, text};
use serde_json::Value;

/// The controller and the server stand here, the agent's host there. The network is cut when load has begun, and is there
/// again when the agent's results are on its disk. `$0` is the program.
const LAB: &str = r#"
set -eu
dir=$PWD
ip link set lo up
mount -t tmpfs none /run && mkdir -p /run/sshd
unshare -n sleep 120 & far=$!
others=$far
trap 'kill $others 2>/dev/null' EXIT
until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
there() { nsenter -t $far -n "$@"; }
ip link add near0 type veth peer name far0 netns $far
ip addr add 10.77.0.1/24 dev near0 && ip link set near0 up
there ip addr add 10.77.0.2/24 dev far0 && there ip link set far0 up && there ip link set lo up
[ "$1" = try ] && exit 0

for key in host user; do ssh-keygen -q -t ed25519 -N '' -f $key; done
printf '%s\n' 'Port 2222' 'ListenAddress 10.77.0.2' "HostKey $dir/host" "AuthorizedKeysFile $dir/user.pub" \
  'PidFile none' 'StrictModes no' 'UsePAM no' 'PermitRootLogin yes' \
  "SetEnv UAPERF_PKI=$dir/pki-there XDG_STATE_HOME=$dir/state-there" > sshd.conf
printf '%s\n' 'Host lab' 'HostName 10.77.0.2' 'Port 2222' "IdentityFile $dir/user" 'IdentitiesOnly yes' \
  'UserKnownHostsFile /dev/null' 'StrictHostKeyChecking no' 'LogLevel ERROR' > ssh.conf
nsenter -t $far -n "$1" -D -e -f sshd.conf 2> sshd.log & others="$others $!"
"$0" serve --listen 10.77.0.1 --port 4840 --profile bench --security none > serve.log 2>&1 & others="$others $!"
until grep -q READY serve.log && grep -q listening sshd.log; do sleep 0.05; done

UAPERF_SSH="ssh -F $dir/ssh.conf"; export UAPERF_SSH
"$0" read opc.tcp://10.77.0.1:4840 -n 'nsu=urn:bench;i=1000..1099' --sessions 60 --security none --rate 20/s --timeout 1s \
  --duration 4s --warmup 0s --plain --fleet "local:1*1,ssh:lab:$0*2" --orphan 3s --out run.json > out 2> err & load=$!
until grep -q '^ *1 s ' out err; do sleep 0.05; done
ip link set near0 down
code=0; wait $load || code=$?
echo "controller $code"
n=0; until ls state-there/uaperf/fleet/*/agent-1 > /dev/null 2>&1 || [ $n -gt 300 ]; do sleep 0.1; n=$((n+1)); done
ls state-there/uaperf/fleet/*/agent-1
cp run.json before.json
ip link set near0 up
code=0; "$0" fleet collect run.json > collected 2> collect.err || code=$?
echo "collect $code"
"#;

fn lab(folder: &Path, sshd: &str) -> Command {
    let mut shell = Command::new("unshare");
    shell
        .args(["-nm", "sh", "-c", LAB, env!("CARGO_BIN_EXE_uaperf"), sshd])
        .env("UAPERF_PKI", folder.join("pki"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .current_dir(folder)
        .stdin(Stdio::null());
    shell
}

fn completed(of: &Value) -> u64 {
    of["total"]["completed"].as_u64().unwrap()
}

#[test]
fn an_agent_behind_a_network_that_is_cut_tells_later_what_it_did() {
    let paths = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];
    let Some(sshd) = paths.into_iter().find(|it| Path::new(it).exists()) else {
        let install = "apt-get install openssh-server openssh-client";
        return without::skipped("fleet whose network is cut", "no sshd", install);
    };
    if Command::new("ip").arg("-V").output().is_err() {
        let install = "apt-get install iproute2";
        return without::skipped("fleet whose network is cut", "no ip", install);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let allowed = lab(path, "try").output();
    let why = match allowed {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(text(&output.stderr).trim().replace('\n', "; ")),
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = why {
        // No package brings it: a container may not have networks of its own.
        return without::say(&format!(
            "SKIPPED fleet whose network is cut: {why}: as root, where namespaces are allowed"
        ));
    }
    let output = lab(path, sshd).output().unwrap();
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let all = format!("{out}{err}{}{}", read("err"), read("collect.err"));
    assert!(output.status.success(), "{all}");
    assert!(out.contains("controller 1\n"), "{all}");
    let (before, after) = (
        json(&path.join("before.json")),
        json(&path.join("run.json")),
    );
    assert_eq!(before["verdict"]["kind"], "INCOMPLETE");
    assert_eq!(before["marks"].to_string(), "[\"degraded\"]");
    let lost = before["hosts"][1]["lost"].as_str().unwrap();
    assert!(lost.contains("it said nothing for 3 s"), "{lost}");
    let agent = &after["hosts"][1];
    assert_eq!(agent["late"], true, "{all}");
    // What it did before the cut is there, and what came to nothing behind it.
    assert!(completed(agent) >= 40, "{agent}");
    let statuses = agent["total"]["statuses"].to_string();
    assert!(
        after["phases"][0]["total"]
            .to_string()
            .contains("BadTimeout"),
        "{statuses} {all}"
    );
    let hosts = after["hosts"].as_array().unwrap();
    let own: u64 = hosts.iter().map(completed).sum();
    assert_eq!(completed(&after["phases"][0]), own);
    assert!(completed(&after["phases"][0]) > completed(&before["phases"][0]));
}
