//! What limited a phase, as sentences: one for screens, and all candidates for the page.

use plan::unit::{BitRate, duration, share};
use record::run::{Bottleneck, Candidate, Finding, Limiter, Sign};

use crate::page::{Page, clean, grouped};
use crate::style::Style;

/// Candidates that are out of the question are told up to so many: the rest is on the page and in the file.
const EXCLUDED: usize = 4;

/// Of those, who reads wants to know of these first.
const FIRST: &[Limiter] = &[
    Limiter::Generator,
    Limiter::Link,
    Limiter::ServerCpu,
    Limiter::ServerThread,
    Limiter::ServerMemory,
    Limiter::SocketBuffers,
    Limiter::Lock,
    Limiter::ServerLimits,
    Limiter::Phase,
];

/// What limited a phase, in one sentence behind `limited by`.
pub fn limited_by(found: &Bottleneck) -> String {
    let limits: Vec<String> = found
        .found(Finding::Limits)
        .map(|it| with(name(it), &it.signs_for))
        .collect();
    let named = found.limited_by.and_then(|of| found.candidate(of));
    let mut text = match named {
        Some(it) => with(name(it), &it.signs_for),
        None if limits.len() > 1 => {
            format!("not known: {} contradict each other", limits.join(" and "))
        }
        None if found.server_waits => format!(
            "not known: the server waits for something that is not seen here, such as a timer, a lock, a disk or \
             another host{}",
            little(found)
        ),
        None => "not known: nothing is proven".to_owned(),
    };
    let excluded: Vec<String> = FIRST
        .iter()
        .filter_map(|&of| found.candidate(of))
        .filter(|it| it.finding == Finding::DoesNotLimit && !is_said(it, named, found))
        .take(EXCLUDED)
        .map(|it| match it.signs_against.first() {
            Some(sign) => format!("{} ({})", name(it), brief(sign)),
            None => name(it).to_owned(),
        })
        .collect();
    if !excluded.is_empty() {
        text.push_str(&format!("; not by: {}", excluded.join(", ")));
    }
    text
}

/// The same as a row of a screen, on as many lines as it takes.
pub fn limited_by_row(found: &Bottleneck) -> String {
    let mut page = Page::new(Style::PLAIN);
    page.row("limited by", &limited_by(found));
    page.finish()
}

/// Whether what speaks against a candidate stands in the sentence already.
fn is_said(it: &Candidate, named: Option<&Candidate>, found: &Bottleneck) -> bool {
    let of_server = |of: Limiter| matches!(of, Limiter::ServerCpu | Limiter::ServerThread);
    match named {
        Some(named) => {
            let said = |sign: &Sign| named.signs_for.contains(sign);
            of_server(named.of) && it.signs_against.iter().all(said)
        }
        None => found.server_waits && of_server(it.of),
    }
}

/// How little an idle server had to do.
fn little(found: &Bottleneck) -> String {
    let thread = found.candidate(Limiter::ServerThread);
    let sign = thread.and_then(|it| it.signs_against.first());
    match sign {
        Some(sign @ Sign::Loop { .. }) => format!(" ({})", said(sign)),
        Some(sign) => format!(" (its thread {})", said(sign)),
        None => String::new(),
    }
}

/// Each candidate with its finding, and what speaks for and against it.
pub(crate) fn rows(found: &Bottleneck) -> Vec<[String; 4]> {
    let all = |signs: &[Sign]| signs.iter().map(said).collect::<Vec<_>>().join("; ");
    let row = |it: &Candidate| {
        [
            name(it).to_owned(),
            match it.finding {
                Finding::Limits => "limits",
                Finding::DoesNotLimit => "does not limit",
                Finding::CannotTell => "cannot be told",
            }
            .to_owned(),
            all(&it.signs_for),
            all(&it.signs_against),
        ]
    };
    found.candidates.iter().map(row).collect()
}

fn with(name: &str, signs: &[Sign]) -> String {
    match signs {
        [] => name.to_owned(),
        signs => {
            let signs: Vec<String> = signs.iter().map(said).collect();
            format!("{name} ({})", signs.join("; "))
        }
    }
}

fn name(it: &Candidate) -> &'static str {
    let several = |sign: &Sign| {
        matches!(
            sign,
            Sign::Thread { alike: 2.., .. } | Sign::Loop { alike: 2.., .. }
        )
    };
    match it.of {
        Limiter::ServerCpu => "the server's CPU",
        Limiter::ServerThread if it.signs_for.iter().any(several) => "threads of the server",
        Limiter::ServerThread => "one thread of the server",
        Limiter::ServerMemory => "the server's memory",
        Limiter::Lock => "a lock of the server",
        Limiter::Link => "the link",
        Limiter::SocketBuffers => "the server's socket buffers",
        Limiter::Generator => "the generator",
        Limiter::ServerLimits => "a limit that the server keeps",
        Limiter::Phase => "sampling and publishing intervals",
        _ => "something that this version does not know",
    }
}

/// The figure of a sign alone, behind the name of what it speaks against.
fn brief(sign: &Sign) -> String {
    match sign {
        Sign::GeneratorCore { busy } => share::show(*busy),
        Sign::Cores { busy, allowed, .. } => format!("{busy:.2} of {}", cores(*allowed)),
        Sign::Thread { name, busy, .. } | Sign::Loop { name, busy, .. } => {
            format!("{} {}", clean(name), share::show(*busy))
        }
        Sign::MemoryStalled { share: it }
        | Sign::NetworkHeld { share: it }
        | Sign::BufferFull { share: it }
        | Sign::OfDelay { share: it } => share::show(*it),
        Sign::LinkFull { share: it, .. } => format!("{} full", share::show(*it)),
        Sign::LinkTested { share: it, .. } => {
            format!("{} of what it carried before", share::show(*it))
        }
        Sign::Loopback => "loopback".to_owned(),
        sign => said(sign),
    }
}

/// What a sign says.
fn said(sign: &Sign) -> String {
    match sign {
        Sign::Cores {
            busy,
            allowed,
            waited,
        } => {
            let waited = match waited / allowed {
                share if share >= 0.05 => format!(", and {waited:.2} waited for"),
                _ => String::new(),
            };
            format!("{busy:.2} of its {} cores busy{waited}", cores(*allowed))
        }
        Sign::Thread { name, busy, alike } => {
            let alike = match alike {
                2.. => format!(", {alike} threads alike"),
                _ => String::new(),
            };
            format!(
                "{} busy {} of the time{alike}",
                clean(name),
                share::show(*busy)
            )
        }
        Sign::Loop { name, busy, alike } => {
            let alike = match alike {
                2.. => format!(", {alike} loops alike"),
                _ => String::new(),
            };
            format!(
                "the plant says that {} was busy {} of the time{alike}",
                clean(name),
                share::show(*busy)
            )
        }
        Sign::Polls { before } => format!(
            "it was busy {} of the time under less load as well, so it polls",
            share::show(*before)
        ),
        Sign::Workers { threads: 1 } => "one thread does the work".to_owned(),
        Sign::Workers { threads } => format!("{threads} threads share the work"),
        Sign::Switches { a_request, before } => format!(
            "its threads waited {a_request:.2} times a request, {before:.2} times under less load"
        ),
        Sign::MajorFaults { faults: 0 } => "no page came from a disk".to_owned(),
        Sign::MajorFaults { faults: 1 } => "1 page came from a disk".to_owned(),
        Sign::MajorFaults { faults } => format!("{} pages came from a disk", grouped(*faults)),
        Sign::MemoryStalled { share: it } => {
            format!(
                "work stood still for want of memory {} of the time",
                share::show(*it)
            )
        }
        Sign::LinkFull { link, share: it } => {
            format!(
                "{} carried {} of what it can",
                clean(link),
                share::show(*it)
            )
        }
        Sign::LinkTested {
            bits_per_s,
            share: it,
            proven,
        } => {
            let more = match proven {
                true => "",
                false => " or more",
            };
            format!(
                "it carried {} of the {}{more} that went through in a test before",
                share::show(*it),
                BitRate::show(*bits_per_s)
            )
        }
        Sign::LinkDelay {
            delay_ns,
            share: it,
        } => format!(
            "its delay of {} there and back is {} of the service time",
            duration::show_ns(*delay_ns),
            share::show(*it)
        ),
        Sign::Loopback => "the loopback of this machine".to_owned(),
        Sign::NetworkHeld { share: it } => {
            format!(
                "data waited for the network {} of the time",
                share::show(*it)
            )
        }
        Sign::BufferFull { share: it } => {
            format!(
                "data waited for room in them {} of the time",
                share::show(*it)
            )
        }
        Sign::ReaderFull { share: it } => {
            format!(
                "the server waited for it to read {} of the time",
                share::show(*it)
            )
        }
        Sign::GeneratorCore { busy } => format!("its busiest core {}", share::show(*busy)),
        Sign::GeneratorLimited => "the verdict says so".to_owned(),
        Sign::Refused {
            status,
            count,
            share: it,
        } => format!(
            "{} {} times, {}",
            clean(status),
            grouped(*count),
            share::show(*it)
        ),
        Sign::NoneRefused => "no status code of a limit".to_owned(),
        Sign::OfDelay { share: it } => format!("{} of the delay", share::show(*it)),
        Sign::NotAvailable { why } => clean(why),
        _ => "something that this version does not know".to_owned(),
    }
}

/// `2`; of a control group `1.5`.
fn cores(allowed: f64) -> String {
    match allowed.fract() < 0.005 {
        true => format!("{allowed:.0}"),
        false => format!("{allowed:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(of: Limiter, finding: Finding, sign: Sign) -> Candidate {
        let (signs_for, signs_against) = match finding {
            Finding::DoesNotLimit => (Vec::new(), vec![sign]),
            _ => (vec![sign], Vec::new()),
        };
        Candidate {
            of,
            finding,
            signs_for,
            signs_against,
        }
    }

    fn thread(busy: f64) -> Sign {
        Sign::Thread {
            name: "plant-0".to_owned(),
            busy,
            alike: u64::from(busy >= 0.9),
        }
    }

    const CORES: Sign = Sign::Cores {
        busy: 0.98,
        allowed: 4.0,
        waited: 0.02,
    };

    fn around(thread_finding: Finding, busy: f64) -> Bottleneck {
        let mut one = candidate(Limiter::ServerThread, thread_finding, thread(busy));
        if thread_finding == Finding::Limits {
            one.signs_for.push(CORES);
        }
        Bottleneck {
            limited_by: None,
            server_waits: false,
            candidates: vec![
                candidate(Limiter::ServerCpu, Finding::DoesNotLimit, CORES),
                one,
                candidate(Limiter::Link, Finding::DoesNotLimit, Sign::Loopback),
                candidate(
                    Limiter::Generator,
                    Finding::DoesNotLimit,
                    Sign::GeneratorCore { busy: 0.12 },
                ),
            ],
        }
    }

    #[test]
    fn what_limits_is_said_with_its_figures_and_what_does_not_with_one_each() {
        let mut found = around(Finding::Limits, 0.97);
        found.limited_by = Some(Limiter::ServerThread);
        assert_eq!(
            limited_by(&found),
            "one thread of the server (plant-0 busy 97 % of the time; 0.98 of its 4 cores busy); not by: \
             the generator (12 %), the link (loopback)"
        );
    }

    #[test]
    fn a_server_that_waits_is_not_called_busy() {
        let mut found = around(Finding::DoesNotLimit, 0.03);
        found.server_waits = true;
        let said = limited_by(&found);
        assert!(said.starts_with("not known: the server waits"), "{said}");
        assert!(
            said.contains("(its thread plant-0 busy 3 % of the time)"),
            "{said}"
        );
    }

    #[test]
    fn two_that_contradict_each_other_are_both_said() {
        let mut found = around(Finding::Limits, 0.97);
        found.candidates.push(candidate(
            Limiter::ServerLimits,
            Finding::Limits,
            Sign::Refused {
                status: "BadTooManyOperations".to_owned(),
                count: 1200,
                share: 0.5,
            },
        ));
        let said = limited_by(&found);
        assert!(
            said.starts_with("not known: one thread of the server (")
                && said.contains("BadTooManyOperations 1,200 times, 50 %) contradict each other"),
            "{said}"
        );
    }

    #[test]
    fn nothing_proven_is_said_as_that() {
        let found = around(Finding::CannotTell, 0.8);
        assert!(limited_by(&found).starts_with("not known: nothing is proven; not by: "));
        let rows = rows(&found);
        assert_eq!(rows[1][1], "cannot be told");
        assert_eq!(rows[1][2], "plant-0 busy 80 % of the time");
    }
}
