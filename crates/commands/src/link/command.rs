//! A command with a link as its only network.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use link::Spec;
use load::packet_link::{self, Account, Carried, FAR, NEAR, Namespace, PacketLink, SetUpError};
use load::relay;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use plan::unit::Bytes;
use plan::unit::duration::{show, show_ns};
use serde::Serialize;
use wire::url::Url;

use super::signals::Signals;
use crate::failure::Failure;
use crate::screen::{self, tell};

/// What was asked for.
pub struct LinkCommand {
    pub spec: Spec,
    pub seed: u64,
    pub to: Option<Url>,
    pub congestion: Option<String>,
    pub far: Option<String>,
    pub far_port: Option<u16>,
    pub words: Vec<OsString>,
    pub json: bool,
}

/// What a link was and did.
#[derive(Debug, Serialize)]
struct Summary {
    format: &'static str,
    version: u32,
    command: Vec<String>,
    near: IpAddr,
    far: IpAddr,
    to: Option<String>,
    link: String,
    seed: u64,
    congestion: Option<String>,
    exit_code: u8,
    account: Account,
}

/// What stands for the server's URL among the words of a command.
const URL: &str = "{url}";
/// How long the far end may take until it listens.
const READY: Duration = Duration::from_secs(30);
/// How often it is asked whether it does.
const ASKED: Duration = Duration::from_millis(20);
/// How long what was sent last may take to arrive.
const ARRIVES: Duration = Duration::from_secs(2);
/// How long the far end's command may take to end.
const END: Duration = Duration::from_secs(5);

/// Carries it out.
pub fn run(asked: LinkCommand) -> anyhow::Result<ExitCode> {
    // Before there is a second thread, and in the network where names are known.
    let addresses = match &asked.to {
        Some(url) => {
            let settings =
                relay::Settings::to(url, SocketAddr::from(([0, 0, 0, 0], 0)), asked.spec);
            settings
                .map_err(|error| Failure::new(error.to_string()))?
                .to
        }
        None => Vec::new(),
    };
    packet_link::allow().map_err(refused)?;
    let signals = Signals::wait_for()?;
    let all: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
    let settings = packet_link::Settings {
        spec: asked.spec,
        seed: asked.seed,
        far: all,
        congestion: asked.congestion,
    };
    let mut link = PacketLink::start(&settings).map_err(refused)?;
    let url = asked
        .to
        .as_ref()
        .map(|to| to.at(&FAR.to_string(), to.port()));
    if let Some(url) = &url {
        link.lead_to(url.port(), addresses).map_err(refused)?;
        tell!("{} is at {url} behind {}", told(&asked.to), asked.spec);
    }
    let mut far = match &asked.far {
        Some(line) => Some(FarCommand::start(line, &link, &signals)?),
        None => None,
    };
    if let (Some(far), Some(port)) = (&mut far, asked.far_port) {
        far.listens(port, &link, &signals)?;
    }
    let words = words(&asked.words, url.as_ref())?;
    let near = start(&words, asked.json, &link, &signals)?;
    let status = wait(near, &signals)?;
    link.settle(ARRIVES);
    if let Some(far) = far.take() {
        far.end();
    }
    let exit_code = code(status);
    let told = Summary {
        format: "uaperf-packet-link",
        version: 1,
        command: words
            .iter()
            .map(|it| it.to_string_lossy().into_owned())
            .collect(),
        near: NEAR.into(),
        far: FAR.into(),
        to: asked.to.as_ref().map(ToString::to_string),
        link: asked.spec.to_string(),
        seed: asked.seed,
        congestion: link.congestion(),
        exit_code,
        account: link.finish()?,
    };
    // Standard output is the command's, or that of JSON.
    match asked.json {
        true => screen::print(&told, true, write_screen)?,
        false => tell!("{}", screen::text(&told, write_screen).trim_end()),
    }
    Ok(ExitCode::from(exit_code))
}

fn told(url: &Option<Url>) -> String {
    url.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn refused(error: SetUpError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The words of a command, with the server's URL where it is wanted.
fn words(typed: &[OsString], url: Option<&Url>) -> Result<Vec<OsString>, Failure> {
    let fill = |word: &OsString| match (word.to_str(), url) {
        (Some(text), _) if !text.contains(URL) => Ok(word.clone()),
        (Some(text), Some(url)) => Ok(text.replace(URL, &url.to_string()).into()),
        (Some(_), None) => Err(Failure::usage(format!("{URL}: there is no server"))
            .hint("--to URL names the one that it stands for")),
        (None, _) => Ok(word.clone()),
    };
    typed.iter().map(fill).collect()
}

/// Starts a process in a namespace.
fn spawn(namespace: &Namespace, mut command: Command, signals: &Signals) -> io::Result<Child> {
    let gate = signals.gate();
    namespace.inside(move || gate.open(|| command.spawn()))?
}

fn start(
    words: &[OsString],
    json: bool,
    link: &PacketLink,
    signals: &Signals,
) -> anyhow::Result<Child> {
    let (name, rest) = words.split_first().context("no command")?;
    let mut command = Command::new(name);
    command.args(rest);
    if has_own_group() {
        command.process_group(0);
    }
    if json {
        command.stdout(screen::error_for_a_program());
    }
    Ok(spawn(link.near(), command, signals).map_err(|error| {
        let name = name.to_string_lossy();
        Failure::usage(format!("cannot start {name}: {error}"))
            .hint("the command behind -- is a program and its arguments; for a line, sh -c 'LINE'")
    })?)
}

/// Whether the command has a process group of its own: a signal to the group of this program, as `timeout` sends it,
/// would reach it twice. Where a terminal is read from it has not, as the keys are for it.
fn has_own_group() -> bool {
    !io::stdin().is_terminal()
}

/// Waits for the command's end, and hands on what is for it.
fn wait(mut child: Child, signals: &Signals) -> anyhow::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        while let Some(signal) = signals.caught() {
            let _ = kill(pid(&child), signal);
        }
        if let Some(came) = signals.next(None)?
            && came.signal != Signal::SIGCHLD
            && (came.for_us_alone || has_own_group())
        {
            // It may have ended meanwhile, which is seen next.
            let _ = kill(pid(&child), came.signal);
        }
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX))
}

/// As shells tell it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|it| 128 + it));
    code.and_then(|it| u8::try_from(it).ok()).unwrap_or(1)
}

/// The command at the far end. It is ended with this.
struct FarCommand {
    child: Child,
}

impl FarCommand {
    fn start(line: &str, link: &PacketLink, signals: &Signals) -> anyhow::Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(screen::error_for_a_program())
            // Ctrl-C is for the near end: the far one goes on until that has ended in good order.
            .process_group(0);
        let child = spawn(link.far(), command, signals)
            .map_err(|error| Failure::new(format!("cannot start sh for --far: {error}")))?;
        Ok(Self { child })
    }

    /// Waits until something listens at a port of the far end.
    fn listens(&mut self, port: u16, link: &PacketLink, signals: &Signals) -> anyhow::Result<()> {
        let began = Instant::now();
        while !link.far().listens(port)? {
            if let Some(status) = self.child.try_wait()? {
                return Err(Failure::new(format!(
                    "--far ended before it listened at port {port}: {status}"
                ))
                .into());
            }
            if began.elapsed() > READY {
                return Err(Failure::new(format!(
                    "nothing listens at port {port} of the far end after {}",
                    show(READY)
                ))
                .hint(
                    "--far-port is the port of TCP or UDP at which what --far runs is to be found",
                )
                .into());
            }
            let came = signals.next(Some(ASKED))?;
            if came.is_some_and(|it| it.signal != Signal::SIGCHLD) {
                return Err(Failure::interrupted().into());
            }
        }
        Ok(())
    }

    fn end(mut self) {
        self.stop();
    }

    /// Asks it to end, and ends it if it does not.
    fn stop(&mut self) {
        let group = pid(&self.child);
        let began = Instant::now();
        let _ = killpg(group, Signal::SIGTERM);
        while !self.is_over() {
            if began.elapsed() > END {
                let _ = killpg(group, Signal::SIGKILL);
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether it has ended, with all that it left in the background.
    fn is_over(&mut self) -> bool {
        let ended = !matches!(self.child.try_wait(), Ok(None));
        ended && killpg(pid(&self.child), None).is_err()
    }
}

impl Drop for FarCommand {
    fn drop(&mut self) {
        if !self.is_over() {
            self.stop();
        }
    }
}

fn write_screen(out: &mut String, told: &Summary) -> std::fmt::Result {
    let it = &told.account;
    writeln!(
        out,
        "link {} for {}: {}",
        told.link,
        show(it.elapsed()),
        told.command.join(" ")
    )?;
    write_carried(out, "up", &it.up)?;
    write_carried(out, "down", &it.down)?;
    // Connections are led on to where `--to` says.
    if let Some(led) = it.led {
        writeln!(
            out,
            "  {} connections led on to {}; {} not taken there, {} broken off",
            led.connections,
            told.to.as_deref().unwrap_or_default(),
            led.refused,
            led.broken
        )?;
    }
    let share = it.cpu_ns as f64 / it.elapsed_ns.max(1) as f64;
    writeln!(
        out,
        "  congestion control of TCP: {}; the link took {} of processor time, {:.1} % of a core",
        told.congestion.as_deref().unwrap_or("not known"),
        show(it.cpu()),
        share * 100.0
    )
}

fn write_carried(out: &mut String, name: &str, it: &Carried) -> std::fmt::Result {
    writeln!(
        out,
        "  {name:<5} {} in {} packets; {} lost, {} found the queue full, {} sent again by TCP",
        Bytes(it.bytes),
        it.packets,
        it.lost,
        it.full,
        it.again,
    )?;
    writeln!(
        out,
        "        waited for the line {} (mean), {} (longest); handed over {} late (mean), {} (p99), {} (longest)",
        show_ns(it.waited_mean_ns),
        show_ns(it.waited_max_ns),
        show_ns(it.late_mean_ns),
        show_ns(it.late_p99_ns),
        show_ns(it.late_max_ns),
    )?;
    if it.overrun > 0 {
        writeln!(
            out,
            "        {} packets were dropped by the kernel: the link's thread was too slow for them",
            it.overrun
        )?;
    }
    Ok(())
}
