//! What follows from a sheet of `uaperf attack`: how many times as long good clients waited, and a verdict on each kind.

use plan::unit::{Bytes, duration};
use record::Histogram;
use record::attack::{
    AttackSettings, Attackers, Held, Newcomers, Ratio, Ratios, Sheet, Stage, Stages, Verdict,
};
use record::run::Figure;

use crate::Exit;
use crate::compare::{Direction, Estimate, LEAST_MARGIN, compare_estimates};
use crate::confidence::quantile_interval;

/// The percentiles that are compared.
pub const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// A share of failed Reads that is no more than in the calm before.
const FAILED: f64 = 0.001;
/// Less of what was read in the calm before is starved.
const GOODPUT: f64 = 0.9;
/// Memory that grew by less than this share is no matter of the attack.
const GROWN: f64 = 0.1;
/// Attackers that made less of what was planned were held up, by the server or by themselves.
const MADE: f64 = 0.9;
/// Attackers are to have so much of the processors that they could use, at most.
const BUSY: f64 = 0.95;
/// A calm afterwards that was shorter than this share of what was asked for was cut short.
const COMPLETE: f64 = 0.9;
/// An attack that comes so late though an attacker was free is the generator's fault.
const LATE_NS: u64 = 200_000_000;

/// Adds ratios and verdicts to what was seen.
pub fn conclude(sheet: &mut Sheet) {
    let interrupted = sheet.interrupted;
    let cores = sheet.machine.cores.known().copied();
    for kind in &mut sheet.kinds {
        let Some(seen) = &mut kind.seen else { continue };
        seen.ratios = QUANTILES.iter().map(|&q| ratios(seen, q)).collect();
        seen.limits
            .extend(limits(&seen.attackers, &sheet.asked, cores));
        let (verdict, evidence) = verdict(seen, &sheet.asked, interrupted);
        (kind.verdict, kind.evidence) = (verdict, evidence);
    }
}

/// What the program ends with.
pub fn exit(sheet: &Sheet) -> Exit {
    let verdicts = || sheet.kinds.iter().map(|it| it.verdict);
    match sheet {
        it if it.interrupted => Exit::Interrupted,
        it if it.failed.is_some() => Exit::Nothing,
        it if it.gone.is_some() || verdicts().any(Verdict::is_harm) => Exit::Threshold,
        _ if verdicts().all(|it| it == Verdict::NotTried) => Exit::Nothing,
        _ if verdicts().any(Verdict::is_open) => Exit::Verdict,
        _ => Exit::Good,
    }
}

/// A verdict in words.
pub fn words(verdict: Verdict) -> String {
    match verdict {
        Verdict::NotTried => "not tried".to_owned(),
        Verdict::Interrupted => "interrupted".to_owned(),
        Verdict::GeneratorLimited => "cannot be told: the generator was the limit".to_owned(),
        Verdict::TooFewReads => "cannot be told: there were too few Reads".to_owned(),
        Verdict::Unharmed => "unharmed".to_owned(),
        Verdict::LeftBehind { bytes } => format!("left {} behind", Bytes::show(bytes as f64)),
        Verdict::Slowed { times } => format!("slowed {} times", short(times)),
        Verdict::Starved { share } => format!("answered {:.0} % of the Reads", share * 100.0),
        Verdict::RefusedGoodClients => "refused good clients".to_owned(),
        Verdict::Died => "died".to_owned(),
    }
}

fn short(times: f64) -> String {
    match times {
        few if few < 10.0 => format!("{few:.1}"),
        many => format!("{many:.0}"),
    }
}

fn ratios(seen: &Stages, quantile: f64) -> Ratios {
    let calm = estimate(&seen.calm, quantile);
    let beside = |stage: &Stage| match (calm, estimate(stage, quantile)) {
        (Some(calm), Some(other)) => {
            let compared = compare_estimates(calm, other, Direction::Lower, LEAST_MARGIN);
            match (compared.ratio, compared.interval) {
                (Some(ratio), Some((low, high))) => Figure::Known(Ratio { ratio, low, high }),
                _ => Figure::missing("no interval can be said"),
            }
        }
        _ => Figure::missing("too few Reads for this percentile"),
    };
    Ratios {
        quantile,
        attacked: beside(&seen.attacked),
        after: beside(&seen.after),
    }
}

/// How well a percentile is known: as its course scatters, and no better than as many independent Reads would.
fn estimate(stage: &Stage, quantile: f64) -> Option<Estimate> {
    let value = stage.response.quantile(quantile)?;
    let course = match quantile < 0.9 {
        true => &stage.p50_ns,
        false => &stage.p99_ns,
    };
    let course: Vec<f64> = course.iter().map(|&ns| ns as f64).collect();
    let scattered = Estimate::of_course(&course)?;
    let (low, high) = order_statistics(&stage.response, quantile)?;
    let independent = (high.max(1.0) / low.max(1.0)).ln() / (2.0 * 1.96);
    Some(Estimate {
        value: (value as f64).max(1.0),
        error: scattered.error.max(independent),
        degrees: scattered.degrees,
    })
}

fn order_statistics(histogram: &Histogram, quantile: f64) -> Option<(f64, f64)> {
    let (low, high) = quantile_interval(histogram, quantile, histogram.count() as f64)?;
    Some((low as f64, high as f64))
}

/// Why the attackers themselves were the limit, if they were: on a machine with so many cores.
fn limits(attackers: &Attackers, asked: &AttackSettings, cores: Option<u64>) -> Vec<String> {
    let mut all = Vec::new();
    if attackers.latest_ns > LATE_NS {
        all.push(format!(
            "attacks came up to {} too late though attackers were free: this machine has too much to do",
            duration::show_ns(attackers.latest_ns)
        ));
    }
    if attackers.made == 0 {
        all.push("no attack was made".to_owned());
    }
    let short = (attackers.made as f64) < MADE * attackers.planned as f64;
    let clients = u64::from(asked.clients);
    let can_use = cores.map_or(clients, |cores| clients.min(cores)).max(1);
    if let Some(busy) = attackers
        .cores
        .known()
        .filter(|it| short && **it > BUSY * can_use as f64)
    {
        let cure = match can_use < clients {
            true => "attack from a machine with more of them",
            false => "give them more (--attackers)",
        };
        all.push(format!(
            "attackers kept {busy:.1} of {can_use} cores busy and made {} of {} attacks: {cure}",
            attackers.made, attackers.planned
        ));
    }
    all
}

fn verdict(seen: &Stages, asked: &AttackSettings, interrupted: bool) -> (Verdict, Vec<String>) {
    let mut told = Vec::new();
    let refused = refusals(seen, &mut told);
    let doubted = [&seen.calm, &seen.attacked];
    let doubted = doubted.iter().any(|it| !it.limits.is_empty());
    let slowed = slowed(seen, asked, doubted, &mut told);
    let starved = starved(seen, doubted, &mut told);
    let too_few = too_few(seen, asked, &mut told);
    let after = &seen.after;
    let complete =
        after.to_ns.saturating_sub(after.from_ns) as f64 >= COMPLETE * asked.step_ns as f64;
    // What an attack takes it may still give back.
    let left = left(&seen.memory, asked).filter(|_| complete);
    if let Some(bytes) = left {
        told.push(format!(
            "{} of memory more than before were still taken at the end (an allocator that keeps them for later looks the \
             same: attack again, and see whether it grows)",
            Bytes::show(bytes as f64)
        ));
    }
    notes(seen, asked, &mut told);
    // Harm that was seen is none the less for attacks that were made late; that none was seen says nothing then.
    let attackers_limited = !seen.limits.is_empty();
    told.extend(seen.limits.iter().cloned());
    limited(seen, &mut told);
    let verdict = if let Some(why) = &seen.died {
        told.insert(0, why.clone());
        Verdict::Died
    } else if refused {
        Verdict::RefusedGoodClients
    } else if let Some(share) = starved {
        Verdict::Starved { share }
    } else if let Some(times) = slowed {
        Verdict::Slowed { times }
    } else if let Some(bytes) = left {
        Verdict::LeftBehind { bytes }
    } else if interrupted && !complete {
        Verdict::Interrupted
    } else if doubted || attackers_limited {
        Verdict::GeneratorLimited
    } else if too_few {
        Verdict::TooFewReads
    } else {
        Verdict::Unharmed
    };
    (verdict, told)
}

/// Says where the good client was the limit itself. What comes afterwards is looked at in its own right.
fn limited(seen: &Stages, told: &mut Vec<String>) {
    for (when, stage) in [("before", &seen.calm), ("while attacked", &seen.attacked)] {
        // The first explains the others.
        let first = stage.limits.first();
        told.extend(first.map(|why| format!("{when} the good client was the limit: {why}")));
    }
}

/// What would happen so often in another stage if it went on as in the calm before.
fn expected(count: u64, calm: &Stage, stage: &Stage) -> f64 {
    let long = |it: &Stage| it.to_ns.saturating_sub(it.from_ns).max(1) as f64;
    (count as f64 * long(stage) / long(calm)).ceil()
}

/// Whether good clients were refused, cut off or not answered.
fn refusals(seen: &Stages, told: &mut Vec<String>) -> bool {
    let share = |it: &Stage| it.errors as f64 / it.completed.max(1) as f64;
    let mut refused = false;
    for (when, stage) in [
        ("while attacked", &seen.attacked),
        ("afterwards", &seen.after),
    ] {
        if stage.errors > 0 && share(stage) > share(&seen.calm) + FAILED {
            refused = true;
            let most = stage.statuses.iter().max_by_key(|it| it.count);
            let most = most.map_or_else(String::new, |it| format!(", mostly {}", it.name));
            told.push(format!(
                "{} of {} Reads of the good client failed {when}{most}",
                stage.errors, stage.completed
            ));
        }
        if stage.lost_sessions as f64 > expected(seen.calm.lost_sessions, &seen.calm, stage) {
            refused = true;
            told.push(format!(
                "the good client lost its connection {} times {when}",
                stage.lost_sessions
            ));
        }
        let came = &stage.newcomers;
        let turned_away = |it: &Newcomers| it.refused as f64 / it.came.max(1) as f64;
        if came.refused > 0 && turned_away(came) > turned_away(&seen.calm.newcomers) + FAILED {
            refused = true;
            let why = came.told.as_deref().unwrap_or_default();
            told.push(format!(
                "{} of {} good clients that came {when} got no session: {why}",
                came.refused, came.came
            ));
        }
    }
    if let Some(why) = &seen.turned_away {
        refused = true;
        told.push(why.clone());
    }
    let calm = &seen.calm;
    if calm.errors > 0 || calm.newcomers.refused > 0 || calm.lost_sessions > 0 {
        told.push(format!(
            "not all was well before: {} Reads failed, {} good clients got no session, {} connections were lost",
            calm.errors, calm.newcomers.refused, calm.lost_sessions
        ));
    }
    refused
}

/// How many times as long good clients waited, if that is many. Where the good client was the limit itself all of the
/// interval has to be beyond what is slow.
fn slowed(
    seen: &Stages,
    asked: &AttackSettings,
    doubted: bool,
    told: &mut Vec<String>,
) -> Option<f64> {
    let least = if doubted { asked.slow } else { 1.0 };
    let long = |it: &Figure<Ratio>| {
        let it = *it.known()?;
        (it.ratio >= asked.slow && it.low > least).then_some(it)
    };
    let mut worst: Option<f64> = None;
    for ratios in &seen.ratios {
        let name = name(ratios.quantile);
        if let Some(it) = long(&ratios.attacked) {
            worst = Some(worst.unwrap_or(0.0).max(it.ratio));
            told.push(format!("{name} was {} while attacked", times(it)));
        }
        if let Some(it) = long(&ratios.after).filter(|_| seen.after.limits.is_empty()) {
            worst = Some(worst.unwrap_or(0.0).max(it.ratio));
            told.push(format!("{name} was still {} afterwards", times(it)));
        }
    }
    worst
}

/// Which share of the Reads a second of the calm before was answered, if that is less than it should be.
fn starved(seen: &Stages, doubted: bool, told: &mut Vec<String>) -> Option<f64> {
    let share = seen.attacked.rate_per_s / seen.calm.rate_per_s.max(f64::MIN_POSITIVE);
    if seen.attacked.to_ns <= seen.attacked.from_ns || share >= GOODPUT {
        return None;
    }
    told.push(format!(
        "{:.0} % of the Reads a second of the calm before were answered in time",
        share * 100.0
    ));
    // A good client that is kept from its work asks for less, whatever the server does.
    (!doubted).then_some(share)
}

/// Whether p99 was much longer, and there is no saying how well that is known: of few Reads it is one of them.
fn too_few(seen: &Stages, asked: &AttackSettings, told: &mut Vec<String>) -> bool {
    let known = seen.ratios.iter().find(|it| it.quantile == 0.99);
    if known.is_some_and(|it| it.attacked.known().is_some()) {
        return false;
    }
    let at = |stage: &Stage| stage.response.quantile(0.99).map(|ns| ns.max(1) as f64);
    let Some((attacked, calm)) = at(&seen.attacked).zip(at(&seen.calm)) else {
        return false;
    };
    let times = attacked / calm;
    if times < asked.slow {
        return false;
    }
    told.push(format!(
        "p99 was {} times as long while attacked, of too few Reads for an interval: give it more time (--step) or more of \
         them (--rate)",
        short(times)
    ));
    true
}

/// `p99.9`.
pub fn name(quantile: f64) -> String {
    match quantile {
        0.5 => "the median".to_owned(),
        q => format!("p{}", (q * 1000.0).round() / 10.0),
    }
}

fn times(it: Ratio) -> String {
    format!(
        "{} times as long ({} to {})",
        short(it.ratio),
        short(it.low),
        short(it.high)
    )
}

/// Memory that was taken and did not come back.
fn left(memory: &Held, asked: &AttackSettings) -> Option<u64> {
    let left = memory.left()?;
    let before = *memory.before.known()?;
    (left >= asked.left_bytes && left as f64 > GROWN * before as f64).then_some(left)
}

/// What else should be known.
fn notes(seen: &Stages, asked: &AttackSettings, told: &mut Vec<String>) {
    let attackers = &seen.attackers;
    if (attackers.made as f64) < MADE * attackers.planned as f64 {
        told.push(format!(
            "{} of {} attacks were made, {} of them later than planned because all {} attackers were still busy",
            attackers.made, attackers.planned, attackers.held_up, asked.clients
        ));
    }
    if let Some(lost) = seen.lost_values.known().filter(|it| **it > 0) {
        told.push(format!("{lost} values of the subscription did not come"));
    }
    for (what, held) in [
        ("sessions", &seen.sessions),
        ("open files", &seen.descriptors),
    ] {
        // One comes and goes with whoever looks.
        if let Some(left) = held.left().filter(|it| *it > 2) {
            told.push(format!("{left} {what} more than before at the end"));
        }
    }
}

#[cfg(test)]
mod tests;
