//! Kills and phases of a load, and what docs/fleet.md says becomes of it: for loads in virtual time, and for real ones.

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// SIGKILL to the agent.
    Agent,
    /// SIGSTOP to the agent, for good.
    AgentStops,
    /// The same, and SIGCONT after a short time.
    AgentPauses,
    /// SIGKILL to the controller.
    Controller,
    /// SIGSTOP to the controller, and SIGCONT when agents have given it up.
    ControllerPauses,
    /// SIGINT to the controller.
    Interrupt,
    /// Both pipes end, as when ssh is killed.
    Way,
    /// Nothing comes through any more, and nobody is told, as when the network is down.
    Silence,
    /// The same for a short time; then all comes.
    ShortSilence,
    /// Nothing of the agent comes through; it still hears.
    OneWay,
}

/// When it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The agent has said who it is, and nobody has heard it.
    Hello,
    /// The share is on its way.
    Plan,
    /// The agent has its share, and opens its sessions.
    Ready,
    /// The moment to begin is on its way.
    Barrier,
    /// The agent's first progress has come.
    Running,
    /// The load has ended; the results are on the agent's disk and on their way.
    Ending,
    /// Half of the results have come.
    Results,
    /// The results have come, and the agent is about to hear so.
    Taken,
}

pub const PHASES: [Phase; 8] = [
    Phase::Hello,
    Phase::Plan,
    Phase::Ready,
    Phase::Barrier,
    Phase::Running,
    Phase::Ending,
    Phase::Results,
    Phase::Taken,
];

pub const KILLS: [Kill; 10] = [
    Kill::Agent,
    Kill::AgentStops,
    Kill::AgentPauses,
    Kill::Controller,
    Kill::ControllerPauses,
    Kill::Interrupt,
    Kill::Way,
    Kill::Silence,
    Kill::ShortSilence,
    Kill::OneWay,
];

/// What becomes of a load, as the page for users says: a row for each kill, a word for each phase.
pub fn table() -> Vec<Vec<String>> {
    let page = include_str!("../../../../docs/fleet.md");
    let (_, rows) = page.split_once("| what happens | at hello |").unwrap();
    let rows = rows.lines().skip(2).take(KILLS.len());
    let words = |row: &str| {
        row.split('|')
            .skip(2)
            .map(|it| it.trim().to_owned())
            .collect()
    };
    rows.map(words).collect()
}
