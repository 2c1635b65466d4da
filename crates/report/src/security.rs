//! The sheet of `uaperf security` on a screen.

use plan::unit::{Bytes, Rate, duration};
use record::run::Figure;
use record::security::{Handshakes, Outcome, Rights, Sheet, Size, Spread, Way};

use crate::page::{Page, WIDTH, clean, cut};
use crate::style::{Style, TextStyle};

/// The sheet, the table of policies first and what should be mended last.
pub fn security(sheet: &Sheet, style: Style) -> String {
    let mut page = Page::new(style);
    page.row("target", &format!("{}, {}", sheet.url, sheet.product));
    page.row("measured", &how(sheet));
    if let Figure::Known(shown) = &sheet.certificate {
        let text = format!(
            "{}, {}, {} days left",
            shown.subject, shown.key, shown.days_left
        );
        page.row("certificate", &text);
    }
    page.gap();
    policies(&mut page, sheet);
    page.gap();
    for way in &sheet.ways {
        if let Some(why) = &way.failed {
            page.inked_row(
                "failed",
                TextStyle::Bad,
                &format!("{}: {why}", way.security),
            );
        }
    }
    for way in &sheet.ways {
        if let Some(seen) = way.handshakes.known()
            && let Some(why) = &seen.why
        {
            let clients = crate::page::counted(seen.failed, "client", "clients");
            let text = format!("{}: handshakes, {clients}: {why}", way.security);
            page.inked_row("not let in", TextStyle::Warning, &text);
        }
    }
    users(&mut page, sheet);
    page.gap();
    for refusal in &sheet.refusals {
        let ink = match refusal.outcome {
            Outcome::Refused => TextStyle::Good,
            Outcome::Accepted => TextStyle::Bad,
            Outcome::NotTried => TextStyle::Faint,
        };
        let text = format!("{}: {}", refusal.what, refusal.told);
        page.inked_row(refusal.outcome.name(), ink, &text);
    }
    page.row("anonymous", &rights(&sheet.rights));
    page.gap();
    for warning in &sheet.warnings {
        page.inked_row("warning", TextStyle::Warning, &warning.what);
        page.row("  cure", &warning.cure);
    }
    if sheet.warnings.is_empty() && !sheet.interrupted {
        page.row("warnings", "none");
    }
    if sheet.interrupted {
        page.interrupted();
    }
    page.finish()
}

/// How it was measured.
pub(crate) fn how(sheet: &Sheet) -> String {
    let server = match &sheet.process {
        Figure::Known(pid) => format!("server process {pid}"),
        Figure::Missing { not_available } => format!("CPU of the server n/a: {not_available}"),
    };
    let rounds = crate::page::counted(sheet.rounds.into(), "round", "rounds");
    format!(
        "{rounds}, all policies in turn, one request at a time; reads of {}; {server}",
        sheet.node
    )
}

const NAME: usize = 37;

fn policies(page: &mut Page, sheet: &Sheet) {
    let sizes = sizes(sheet);
    let (small, large) = (sizes.first().copied(), sizes.last().copied());
    let head = |label: &str, cells: [String; 6]| {
        let cells = cells.iter().map(|it| format!("{it:>10}"));
        format!("{label:<NAME$}{}", cells.collect::<String>())
    };
    let read = |values: Option<u32>| match values {
        Some(1) => "Read of 1".to_owned(),
        Some(n) => format!("of {n}"),
        None => String::new(),
    };
    let of_large = large.filter(|_| sizes.len() > 1);
    page.line(&head(
        "",
        [
            "connect".into(),
            "its CPU".into(),
            "renewal".into(),
            read(small),
            read(of_large),
            "bytes".into(),
        ],
    ));
    page.line(&head(
        "",
        [
            "median".into(),
            "at server".into(),
            "median".into(),
            "median".into(),
            "median".into(),
            "added".into(),
        ],
    ));
    let plain = sheet.ways.iter().find(|it| !it.sizes.is_empty());
    for way in sheet.ways.iter().filter(|it| it.failed.is_none()) {
        let of = |values: Option<u32>| size(way, values?);
        let added = of(small).and_then(|it| {
            let plain = size(plain?, it.values)?;
            let added = bytes(it).checked_sub(bytes(plain))?;
            Some(format!("+{}", Bytes::show(added as f64)))
        });
        let time = |it: &Figure<Spread>| it.known().map(|it| duration::show_ns(it.median_ns));
        let cells = [
            time(&way.connect),
            way.server_connect_cpu_ns
                .known()
                .map(|it| duration::show_nanos(*it)),
            time(&way.renewal),
            of(small).map(trip),
            of(of_large).map(trip),
            added,
        ];
        let cells = cells.map(|it| it.unwrap_or_else(|| "n/a".into()));
        let name = match way.deprecated {
            true => format!("{} (old)", way.security),
            false => way.security.clone(),
        };
        page.line(&head(&cut(&clean(&name), NAME - 1), cells));
        if let Some(it) = way.handshakes.known() {
            page.line(&handshakes(it));
        }
        let ratio = |it: Option<&Size>| {
            it.and_then(|it| it.ratio.known())
                .map_or_else(String::new, |it| format!("×{:.2}", it.median))
        };
        if plain.is_some_and(|it| !std::ptr::eq(it, way)) {
            let empty = String::new;
            let cost = match way.server_cost.known() {
                Some(it) => format!(
                    "  server CPU {} a Read + {} a KiB",
                    duration::show_nanos(it.request_ns),
                    duration::show_nanos(it.byte_ns * 1024.0)
                ),
                None => String::new(),
            };
            let ratios = [
                empty(),
                empty(),
                empty(),
                ratio(of(small)),
                ratio(of(of_large)),
                empty(),
            ];
            page.line(&under(&cost, &ratios));
        } else if let Some(it) = way.server_cost.known() {
            page.line(&format!(
                "  server CPU {} a Read + {} a KiB",
                duration::show_nanos(it.request_ns),
                duration::show_nanos(it.byte_ns * 1024.0)
            ));
        }
    }
}

fn handshakes(seen: &Handshakes) -> String {
    let mut text = format!(
        "  handshakes {} with {} clients",
        Rate::show(seen.per_second.median),
        seen.at_once
    );
    if let Figure::Known(cpu) = seen.server_cpu_ns {
        text += &format!(", server CPU {} each", duration::show_nanos(cpu));
    }
    text
}

/// Words on the left that may be wider than the first column, and cells in their places.
fn under(words: &str, cells: &[String]) -> String {
    let mut line: Vec<char> = vec![' '; WIDTH];
    for (n, cell) in cells.iter().enumerate() {
        let end = NAME + 10 * (n + 1);
        let begin = end - cell.chars().count();
        for (place, letter) in line.iter_mut().skip(begin).zip(cell.chars()) {
            *place = letter;
        }
    }
    for (place, letter) in line.iter_mut().zip(words.chars()) {
        *place = letter;
    }
    line.into_iter().collect()
}

fn trip(size: &Size) -> String {
    duration::show_ns(size.round_trip.median_ns)
}

fn bytes(size: &Size) -> u64 {
    size.request_bytes + size.response_bytes
}

fn size(way: &Way, values: u32) -> Option<&Size> {
    way.sizes.iter().find(|it| it.values == values)
}

/// How many values were read at once, over all policies.
pub(crate) fn sizes(sheet: &Sheet) -> Vec<u32> {
    let all = sheet.ways.iter().flat_map(|it| &it.sizes);
    let mut all: Vec<u32> = all.map(|it| it.values).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Each kind of user: where the time of its activation is known, from the quickest policy to the slowest.
fn users(page: &mut Page, sheet: &Sheet) {
    let mut kinds: Vec<&str> = Vec::new();
    let all = || sheet.ways.iter().flat_map(|it| &it.users);
    for user in all() {
        if !kinds.contains(&user.kind.as_str()) {
            kinds.push(&user.kind);
        }
    }
    for kind in kinds {
        let of = || all().filter(|it| it.kind == kind);
        let mut times: Vec<u64> = of()
            .filter_map(|it| Some(it.activation.known()?.median_ns))
            .collect();
        times.sort_unstable();
        let text = match (times.as_slice(), of().next().map(|it| &it.activation)) {
            ([], Some(Figure::Missing { not_available })) => format!("not tried: {not_available}"),
            ([only], _) => format!("activated in {}", duration::show_ns(*only)),
            ([first, .., last], _) => format!(
                "activated in {} to {}, by policy",
                duration::show_ns(*first),
                duration::show_ns(*last)
            ),
            _ => "not tried".to_owned(),
        };
        page.row("user", &format!("{kind}: {text}"));
    }
}

/// What anonymous users may do.
pub(crate) fn rights(rights: &Figure<Rights>) -> String {
    match rights {
        Figure::Known(it) => format!(
            "over {}: may write {} of {} variables and call {} methods, of {}{} nodes looked at",
            it.security,
            it.writable,
            it.variables,
            it.callable,
            if it.more { "the first " } else { "" },
            it.nodes
        ),
        Figure::Missing { not_available } => not_available.clone(),
    }
}
