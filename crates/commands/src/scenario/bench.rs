//! A scenario while it is carried out: point after point, each kept as soon as it was measured.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use judge::Exit;
use load::engine::Control;
use plan::scenario::{Point, Scenario, Turn};
use plan::unit::duration::show;
use record::Run;
use record::run::{ByHand, Kind, Mark, OperatorAction};
use record::sweep::{Measurement, MeasurementState, Sweep};

use super::index::{exit, failures, judged};
use super::rows::Rows;
use super::servers::Servers;
use super::vocabulary::Commands;
use crate::failure::Failure;
use crate::fleet;
use crate::global::Global;
use crate::lost;
use crate::printed::{Format, Printed};
use crate::quick;
use crate::results::{self, Files};
use crate::screen::{self, Out};
use crate::written;

/// A scenario while it is carried out.
pub(super) struct Bench<'a> {
    pub(super) commands: &'a Commands,
    pub(super) servers: Servers<'a>,
    pub(super) scenario: &'a Scenario,
    pub(super) control: Control,
    pub(super) global: &'a Global,
    pub(super) server_pid: Option<u32>,
    pub(super) quiet: bool,
    pub(super) trust: bool,
    pub(super) rows: Option<Rows>,
    pub(super) folder: PathBuf,
    pub(super) index: Sweep,
    /// What measurements took beyond their load.
    pub(super) spent: Vec<Duration>,
    /// Which of them is being carried out, of how many, and its name.
    pub(super) measured: Option<(usize, usize, String)>,
    /// How long all behind it take, about.
    pub(super) behind: Duration,
    /// A result could not be written.
    pub(super) is_full: bool,
}

impl Bench<'_> {
    pub(super) fn carry_out(&mut self) -> anyhow::Result<()> {
        let mut first = true;
        for place in 0..self.index.measurements.len() {
            if self.control.is_stopped() || self.is_full {
                break;
            }
            let Some(it) = self.index.measurements.get(place).filter(|it| it.is_left()) else {
                continue;
            };
            let turn = Turn {
                point: it.point,
                repetition: it.repetition,
            };
            let Some(point) = self.scenario.points.get(turn.point) else {
                continue;
            };
            if let Some(end) = self.ended_before(turn) {
                let why = format!("beyond {end}");
                self.note(place, |it| {
                    it.state = MeasurementState::LeftOut;
                    it.why = Some(why);
                })?;
                continue;
            }
            if !std::mem::take(&mut first) {
                self.wait(self.scenario.pause);
            }
            self.announce(place, point);
            let began = Instant::now();
            let measured = self.measure(place, point, turn);
            let load = Scenario::length(point).0;
            self.spent.push(began.elapsed().saturating_sub(load));
            self.keep(place, point, measured)?;
        }
        Ok(())
    }

    /// The point at which this repetition of the sweep ended, if this one lies beyond it.
    fn ended_before(&self, turn: Turn) -> Option<String> {
        let ends = self
            .index
            .measurements
            .iter()
            .filter(|it| it.stopped.is_some() && it.repetition == turn.repetition);
        let mut beyond = ends.filter(|it| self.scenario.is_beyond(turn.point, it.point));
        beyond.next().map(|it| report::named(&self.index, it))
    }

    fn wait(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while Instant::now() < until && !self.control.is_stopped() {
            std::thread::sleep(Duration::from_millis(50).min(pause));
        }
    }

    fn announce(&mut self, place: usize, point: &Point) {
        if let Some(it) = self.index.measurements.get(place) {
            quick::feed::point(&report::named(&self.index, it));
        }
        if self.quiet {
            return;
        }
        let all = self.index.measurements.len();
        let Some(it) = self.index.measurements.get(place) else {
            return;
        };
        let repetition = match self.index.repeat {
            1 => String::new(),
            n => format!(", repetition {} of {n}", it.repetition),
        };
        let left = self
            .index
            .measurements
            .iter()
            .skip(place)
            .filter(|it| it.is_left());
        let (mut load, mut count) = (Duration::ZERO, 0);
        for it in left {
            count += 1;
            let point = self.scenario.points.get(it.point).unwrap_or(point);
            let next = Scenario::length(point)
                .0
                .saturating_add(self.scenario.pause);
            load = load.saturating_add(next);
        }
        let beside = self.spent.iter().sum::<Duration>();
        let beside = beside.checked_div(u32::try_from(self.spent.len()).unwrap_or(0));
        let left = load.saturating_add(beside.unwrap_or_default().saturating_mul(count));
        let behind = left.saturating_sub(Scenario::length(point).0);
        let left = match left.is_zero() {
            // Requests take as long as they take, and none has been seen yet.
            true => String::new(),
            false => format!("; about {} left", show(left)),
        };
        let name = format!("{}{repetition}", report::named(&self.index, it));
        // A terminal that is gone does not stop a measurement.
        let _ = writeln!(std::io::stderr(), "[{}/{all}] {name}{left}", place + 1);
        self.measured = Some((place + 1, all, name));
        self.behind = behind;
    }

    /// What came of a measurement, into its file and the index.
    fn keep(
        &mut self,
        place: usize,
        point: &Point,
        measured: anyhow::Result<Run>,
    ) -> anyhow::Result<()> {
        let phases = point.groups.iter().map(|group| group.steps.len());
        let phases: usize = phases.sum();
        let run = match measured {
            Ok(run) => run,
            Err(_) if self.control.is_stopped() => {
                return self.note(place, |it| it.state = MeasurementState::Interrupted);
            }
            Err(error) => {
                let why = format!("{error:#}");
                if !self.quiet {
                    let _ = writeln!(std::io::stderr(), "  failed: {why}");
                }
                return self.note(place, |it| {
                    it.state = MeasurementState::Failed;
                    it.why = Some(why);
                });
            }
        };
        let wanted = self.index.destination(&self.folder, place);
        let lost = written::keep(&run, &wanted).lost;
        fleet::kept();
        // The next one would be lost as well.
        self.is_full = lost.is_some();
        let file = self.index.file_of(place);
        if let Some(rows) = self.rows.as_ref().filter(|_| !self.control.is_stopped()) {
            let point = self
                .index
                .measurements
                .get(place)
                .map_or(place, |it| it.point);
            rows.append(point, &run)?;
        }
        // A phase that a person ended, to have the next one, is done.
        let ended = |it: &ByHand| it.did == OperatorAction::EndedPhase;
        let ended = run.phases.iter().any(|it| it.by_hand.iter().any(ended));
        let interrupted =
            self.control.is_stopped() || run.marks.contains(&Mark::Interrupted) && !ended;
        let aborted = run.marks.contains(&Mark::Aborted);
        let (slo, stopped) = judged(point, &run);
        self.note(place, |it| {
            it.take(&run);
            it.file = Some(file).filter(|_| lost.is_none());
            it.slo = slo;
            it.stopped = stopped.filter(|_| !interrupted);
            it.state = match run.verdict.kind {
                _ if lost.is_some() => MeasurementState::Failed,
                _ if interrupted => MeasurementState::Interrupted,
                Kind::Failed => MeasurementState::Failed,
                // A phase that could not begin is to be measured again.
                Kind::Incomplete if run.phases.len() < phases && !aborted => {
                    MeasurementState::Failed
                }
                _ => MeasurementState::Done,
            };
            it.why = lost;
        })
    }

    fn note(&mut self, place: usize, note: impl FnOnce(&mut Measurement)) -> anyhow::Result<()> {
        if let Some(it) = self.index.measurements.get_mut(place) {
            note(it);
        }
        self.index.ended = SystemTime::now().into();
        self.index
            .write(&self.folder)
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(())
    }

    /// The table, where everything is, and how it went. Files come first.
    pub(super) fn finish(self, files: &Files, printed: Printed) -> Exit {
        let Self {
            folder,
            index,
            servers,
            rows,
            control,
            ..
        } = self;
        drop(servers);
        if files.is_any() {
            let failed = failures(&index);
            match index.measurements.iter().any(|it| it.file.is_some()) {
                true => match results::read(std::slice::from_ref(&folder)) {
                    Ok(runs) => files.write(&runs, &failed),
                    Err(error) => lost::add(error),
                },
                false => files.write_failed(&failed),
            }
        }
        let mut out = Out::beside_file(files.take_output());
        let interrupted = control.is_stopped();
        let exit = exit(&index, interrupted);
        let mut text = report::sweep(&index, out.style());
        let is_data = match printed {
            Printed::All(Format::Text) => false,
            Printed::All(Format::Json) => {
                // Printing does not fail.
                let _ = screen::json(&mut out, &index);
                true
            }
            Printed::All(Format::Csv) => {
                match results::read(std::slice::from_ref(&folder)) {
                    Ok(runs) => {
                        let _ = out.write_all(report::csv::of(&runs).as_bytes());
                    }
                    Err(error) => lost::add(error),
                }
                true
            }
            Printed::Verdict => {
                let first = text.lines().next().unwrap_or_default();
                let _ = writeln!(out, "{first}");
                true
            }
            Printed::Nothing => true,
        };
        if is_data {
            return exit;
        }
        text.push_str(&format!("\nresults     {}\n", folder.display()));
        if let Some(rows) = rows.filter(|rows| rows.file().exists()) {
            text.push_str(&format!("rows        {}\n", rows.file().display()));
        }
        if index.measurements.iter().any(Measurement::is_left) {
            text.push_str(&format!(
                "go on with  uaperf run --resume {}\n",
                folder.display()
            ));
        }
        // Printing does not fail.
        let _ = out.write_all(text.as_bytes());
        exit
    }
}
