//! The sheet of `uaperf attack` on a screen.

use judge::attack::{name, words};
use plan::unit::{Bytes, Rate, duration};
use record::attack::{Attacked, Attackers, Held, Ratio, Sheet, Stage, Stages, Verdict};
use record::run::Figure;

use crate::page::{Page, WIDTH, clean, counted, cut, grouped};
use crate::style::{Style, TextStyle};

/// The sheet: a table of all kinds, then what is to be said of each.
pub fn attack(sheet: &Sheet, style: Style) -> String {
    let mut page = Page::new(style);
    page.row("target", &format!("{}, {}", sheet.url, sheet.product));
    page.row("measured", &how(sheet));
    page.gap();
    table(&mut page, sheet);
    page.gap();
    for kind in &sheet.kinds {
        let verdict = words(kind.verdict);
        let text = format!("{}: {verdict} ({})", kind.kind, kind.what);
        page.inked_row(label(kind.verdict), ink(kind.verdict), &text);
        if let Some(why) = &kind.not_tried {
            page.row("", why);
        }
        for line in &kind.evidence {
            page.row("", &format!("- {line}"));
        }
        if let Some(seen) = &kind.seen {
            page.row("  ratio", &ratios(kind));
            page.row("  told", &answers(&seen.attackers));
            page.row("  held", &held(seen));
        }
    }
    page.gap();
    if let Some(why) = &sheet.gone {
        page.inked_row(
            "SERVER GONE",
            TextStyle::Bad,
            &format!("{why}; nothing more was tried"),
        );
    }
    if let Some(why) = &sheet.failed {
        page.inked_row(
            "FAILED",
            TextStyle::Bad,
            &format!("{why}; nothing more was tried"),
        );
    }
    if sheet.interrupted {
        page.interrupted();
    }
    page.finish()
}

pub(crate) const fn ink(verdict: Verdict) -> TextStyle {
    match verdict {
        Verdict::Unharmed => TextStyle::Good,
        Verdict::NotTried => TextStyle::Faint,
        Verdict::Interrupted | Verdict::GeneratorLimited | Verdict::TooFewReads => {
            TextStyle::Warning
        }
        Verdict::LeftBehind { .. }
        | Verdict::Slowed { .. }
        | Verdict::Starved { .. }
        | Verdict::RefusedGoodClients
        | Verdict::Died => TextStyle::Bad,
    }
}

const fn label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotTried => "not tried",
        Verdict::Interrupted => "interrupted",
        Verdict::GeneratorLimited => "LIMITED",
        Verdict::TooFewReads => "TOO FEW",
        Verdict::Unharmed => "unharmed",
        Verdict::LeftBehind { .. } => "LEFT",
        Verdict::Slowed { .. } => "SLOWED",
        Verdict::Starved { .. } => "STARVED",
        Verdict::RefusedGoodClients => "REFUSED",
        Verdict::Died => "DIED",
    }
}

/// How it was measured.
pub(crate) fn how(sheet: &Sheet) -> String {
    let asked = &sheet.asked;
    let server = match &sheet.process {
        Figure::Known(pid) => format!("server process {pid}"),
        Figure::Missing { not_available } => {
            format!("memory and CPU of the server n/a: {not_available}")
        }
    };
    format!(
        "{} each of calm, attack and calm; {} attacks a second by {}, {} at most; {} Reads a second and a \
         subscription of {} over {}; {server}",
        duration::show_ns(asked.step_ns),
        plain(asked.rate_per_s),
        counted(asked.clients.into(), "attacker", "attackers"),
        grouped(asked.count),
        plain(asked.good_rate_per_s),
        asked.nodes,
        sheet.security,
    )
}

fn plain(rate: f64) -> String {
    Rate::show(rate).trim_end_matches("/s").to_owned()
}

const NAME: usize = 13;
const CELLS: usize = 8;

fn head(label: &str, cells: [&str; CELLS]) -> String {
    const WIDTHS: [usize; CELLS] = [10, 8, 10, 10, 21, 7, 8, 12];
    let mut line = format!("{:<NAME$}", cut(&clean(label), NAME));
    for (cell, width) in cells.iter().zip(WIDTHS) {
        line.push_str(&format!("{:>width$}", cut(cell, width - 1)));
    }
    debug_assert!(line.chars().count() <= WIDTH);
    line
}

fn table(page: &mut Page, sheet: &Sheet) {
    page.line(&head(
        "",
        [
            "attacks",
            "refused",
            "p99 calm",
            "attacked",
            "times as long",
            "after",
            "errors",
            "memory",
        ],
    ));
    for kind in &sheet.kinds {
        let Some(seen) = &kind.seen else {
            page.line(&head(&kind.kind, ["not tried", "", "", "", "", "", "", ""]));
            continue;
        };
        let p99 = |stage: &Stage| {
            let ns = stage.response.quantile(0.99);
            ns.map_or_else(|| "n/a".to_owned(), duration::show_ns)
        };
        let ratios = seen.ratios.iter().find(|it| it.quantile == 0.99);
        let ratio = ratios.and_then(|it| it.attacked.known()).copied();
        let after = ratios.and_then(|it| it.after.known()).copied();
        let share = seen.attackers.refused() as f64 / seen.attackers.made.max(1) as f64;
        let errors = seen.attacked.errors + seen.after.errors;
        let lost = seen.attacked.lost_sessions + seen.after.lost_sessions;
        page.line(&head(
            &kind.kind,
            [
                &grouped(seen.attackers.made),
                &format!("{:.0} %", share * 100.0),
                &p99(&seen.calm),
                &p99(&seen.attacked),
                &ratio.map_or_else(|| "n/a".to_owned(), interval),
                &after.map_or_else(|| "n/a".to_owned(), |it| format!("{:.2}", it.ratio)),
                &grouped(errors + lost),
                &seen.memory.left().map_or_else(
                    || "n/a".to_owned(),
                    |bytes| format!("+{}", Bytes::show(bytes as f64)),
                ),
            ],
        ));
    }
}

/// `1.04 (0.98 to 1.11)`.
pub(crate) fn interval(it: Ratio) -> String {
    let show = |value: f64| match value {
        few if few < 10.0 => format!("{few:.2}"),
        many => format!("{many:.0}"),
    };
    format!("{} ({} to {})", show(it.ratio), show(it.low), show(it.high))
}

/// How many times as long as in the calm before, by percentile.
fn ratios(kind: &Attacked) -> String {
    let shown = |it: Option<Ratio>| it.map_or_else(|| "n/a".to_owned(), interval);
    let each = percentiles(kind)
        .into_iter()
        .map(|(name, attacked, after)| {
            format!("{name} {}, afterwards {}", shown(attacked), shown(after))
        });
    each.collect::<Vec<_>>().join("; ")
}

/// What attackers were told, the most frequent first.
pub(crate) fn answers(attackers: &Attackers) -> String {
    let mut all: Vec<_> = attackers.answers.iter().collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.count));
    let each = all.iter().map(|it| {
        let variant = match it.variant.as_str() {
            "" => String::new(),
            variant => format!("{variant}: "),
        };
        format!("{variant}{} ({})", clean(&it.told), grouped(it.count))
    });
    let each: Vec<String> = each.collect();
    match each.is_empty() {
        true => "no attack was made".to_owned(),
        false => each.join(", "),
    }
}

/// What the server held, and what good clients had beside their Reads.
pub(crate) fn held(seen: &Stages) -> String {
    let of = |held: &Held, show: &dyn Fn(u64) -> String| {
        let [before, most, after] =
            [&held.before, &held.most, &held.after].map(|it| it.known().copied().map(show));
        match (before, most, after) {
            (Some(before), Some(most), Some(after)) => format!("{before}, {most}, {after}"),
            (Some(before), None, Some(after)) => format!("{before}, {after} afterwards"),
            _ => "n/a".to_owned(),
        }
    };
    let bytes = |n: u64| Bytes::show(n as f64);
    let cores = |stage: &Stage| {
        let known = stage.server_cores.known();
        known.map_or_else(|| "n/a".to_owned(), |it| format!("{it:.2}"))
    };
    let connect = |stage: &Stage| {
        let known = stage.newcomers.median_ns;
        known.map_or_else(|| "n/a".to_owned(), duration::show_ns)
    };
    let three = |of: &dyn Fn(&Stage) -> String| {
        [&seen.calm, &seen.attacked, &seen.after].map(of).join(", ")
    };
    format!(
        "memory {}; files and sockets {}; sessions {}; CPU cores {}; Reads/s {}; connecting {}",
        of(&seen.memory, &bytes),
        of(&seen.descriptors, &grouped),
        of(&seen.sessions, &grouped),
        three(&cores),
        three(&|it| plain(it.rate_per_s)),
        three(&connect),
    )
}

/// Percentiles with their intervals: of a kind, in words.
pub(crate) fn percentiles(kind: &Attacked) -> Vec<(String, Option<Ratio>, Option<Ratio>)> {
    let seen = kind.seen.iter().flat_map(|it| &it.ratios);
    seen.map(|it| {
        let known = |figure: &Figure<Ratio>| figure.known().copied();
        (name(it.quantile), known(&it.attacked), known(&it.after))
    })
    .collect()
}
