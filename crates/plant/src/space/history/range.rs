//! Which values of a history a request is about (Part 11, 6.5.3), one page after the other.

use wire::types::{DataValue, StatusCode};

use super::missing;

/// A stretch of time, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it begins, in ticks; none for the time of the value that comes last.
    pub start: Option<i64>,
    /// Where it ends.
    pub end: Option<i64>,
    /// Values wanted of it altogether, where only one of its ends is told.
    pub count: Option<usize>,
    /// Whether the values at or beyond its ends are wanted, too.
    pub bounds: bool,
    /// How far it was read already.
    pub after: Option<Cursor>,
}

/// How far somebody has read: the time of the last value, and how many of that time there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    time: i64,
    count: u64,
}

/// Values, and how to go on.
#[derive(Debug, Default)]
pub struct Page {
    /// In the order that was asked for.
    pub values: Vec<DataValue>,
    /// What is left of the span.
    pub rest: Option<Span>,
}

impl Span {
    /// Up to so many values, back from a moment.
    pub fn back_from(ticks: i64, count: usize) -> Self {
        Self {
            start: None,
            end: Some(ticks),
            count: Some(count),
            bounds: false,
            after: None,
        }
    }

    /// Part 11, 6.5.3.2: backwards when the end comes before the start, and when there is no start.
    fn is_backwards(&self) -> bool {
        match (self.start, self.end) {
            (Some(start), Some(end)) => start > end,
            (start, _) => start.is_none(),
        }
    }
}

/// A value of the history by its place, or the bound that there is none for.
enum Pick {
    At(u64),
    Missing(i64),
}

/// The next page of a span; of `len` values in order of time, the time of each and its value.
pub fn page(
    span: &Span,
    len: u64,
    time: impl Fn(u64) -> i64,
    most: usize,
    mut value: impl FnMut(u64) -> DataValue,
) -> Page {
    let before = |ticks: i64| partition(len, |i| time(i) < ticks);
    let up_to = |ticks: i64| partition(len, |i| time(i) <= ticks);
    let back = span.is_backwards();
    // The values within are those from `low` on and before `high`.
    let (mut low, mut high) = match (back, span.start, span.end) {
        // Part 11, 6.5.3.2: the start belongs to it and the end does not, unless it is the same.
        (false, Some(start), Some(end)) if start == end => (before(start), up_to(end)),
        (false, start, end) => (start.map_or(0, before), end.map_or(len, before)),
        (true, Some(start), end) => (end.map_or(0, up_to), up_to(start)),
        // Without a start the end is where one looks back from.
        (true, None, end) => (0, end.map_or(len, up_to)),
    };
    if let Some(Cursor { time: at, count }) = span.after {
        match back {
            false => low = low.max(before(at).saturating_add(count)),
            true => high = high.min(up_to(at).saturating_sub(count)),
        }
    }
    let high = high.max(low);
    let (first, last) = match span.bounds {
        true => bounds(span, low, high, len, &time),
        false => (None, None),
    };
    let inner = high - low;
    let wanted = span.count.map_or(most, |count| count.min(most));
    let mut picks = Vec::new();
    picks.extend(first);
    let room = wanted.saturating_sub(picks.len()) as u64;
    let taken = inner.min(room);
    let all_inner = taken == inner;
    picks.extend((0..taken).map(|k| {
        Pick::At(match back {
            false => low + k,
            true => high - 1 - k,
        })
    }));
    let mut complete = all_inner;
    if let Some(last) = last.filter(|_| all_inner) {
        match picks.len() < wanted {
            true => picks.push(last),
            false => complete = false,
        }
    }
    let left = span.count.map(|count| count.saturating_sub(picks.len()));
    let rest = (!complete && left != Some(0)).then(|| Span {
        count: left,
        after: Some(cursor(span, &picks, &time)),
        ..span.clone()
    });
    let values = picks.into_iter().map(|pick| match pick {
        Pick::At(i) => value(i),
        Pick::Missing(at) => missing(StatusCode::BadBoundNotFound, at),
    });
    Page {
        values: values.collect(),
        rest,
    }
}

/// The bounding values that are not within: the last before the start and the first at the end
/// or behind it, seen in the direction of reading.
fn bounds(
    span: &Span,
    low: u64,
    high: u64,
    len: u64,
    time: &impl Fn(u64) -> i64,
) -> (Option<Pick>, Option<Pick>) {
    let below = |at: i64| match low.checked_sub(1) {
        Some(i) => Pick::At(i),
        None => Pick::Missing(at),
    };
    let above = |at: i64| match high < len {
        true => Pick::At(high),
        false => Pick::Missing(at),
    };
    let (start, end) = (span.start, span.end);
    let exact = |i: u64, at: i64| low < high && time(i) == at;
    // A page that goes on has told the first bound already.
    let fresh = span.after.is_none();
    match span.is_backwards() {
        false => (
            start.filter(|at| fresh && !exact(low, *at)).map(below),
            end.filter(|_| start != end).map(above),
        ),
        true => match start {
            Some(at) => (
                (fresh && !exact(high - 1, at)).then(|| above(at)),
                end.map(below),
            ),
            None => (
                end.filter(|at| fresh && !exact(high.saturating_sub(1), *at))
                    .map(above),
                None,
            ),
        },
    }
}

fn cursor(span: &Span, picks: &[Pick], time: &impl Fn(u64) -> i64) -> Cursor {
    let times = picks.iter().rev().map_while(|pick| match pick {
        Pick::At(i) => Some(time(*i)),
        Pick::Missing(_) => None,
    });
    let mut times = times.peekable();
    let Some(&last) = times.peek() else {
        // Nothing but a bound that is not there: it goes on where it began.
        let at = span.after.or(span
            .start
            .or(span.end)
            .map(|time| Cursor { time, count: 0 }));
        return at.unwrap_or(Cursor { time: 0, count: 0 });
    };
    let mut count = times.take_while(|time| *time == last).count() as u64;
    if count == picks.len() as u64
        && let Some(before) = span.after.filter(|before| before.time == last)
    {
        count += before.count;
    }
    Cursor { time: last, count }
}

/// How many of `len` things come before the first that does not.
fn partition(len: u64, is_before: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::types::DateTime;

    /// The example of Part 11, 6.5.3.2, table 21: values at 5:00, 5:02, 5:03, 5:05 and 5:06, in
    /// minutes; 0 stands for a bound that is not there.
    fn read(start: Option<i64>, end: Option<i64>, most: usize, bounds: bool) -> (Vec<i64>, bool) {
        const TIMES: [i64; 5] = [500, 502, 503, 505, 506];
        let count = (start.is_none() || end.is_none()).then_some(most);
        let span = Span {
            start,
            end,
            count,
            bounds,
            after: None,
        };
        let most = if most == 0 { 100 } else { most };
        let page = page(
            &span,
            5,
            |i| TIMES[i as usize],
            most,
            |i| DataValue {
                source_timestamp: Some(DateTime::from(TIMES[i as usize])),
                ..Default::default()
            },
        );
        let times = page.values.iter().map(|value| match value.status {
            Some(StatusCode::BadBoundNotFound) => 0,
            _ => value.source_timestamp.unwrap().ticks(),
        });
        (times.collect(), page.rest.is_some())
    }

    // Part 11, table 21.
    #[test]
    fn the_examples_of_the_specification() {
        let all = |values: &[i64]| (values.to_vec(), false);
        let some = |values: &[i64]| (values.to_vec(), true);
        for (start, end, most, plain, bounded) in [
            (
                500,
                505,
                0,
                all(&[500, 502, 503]),
                all(&[500, 502, 503, 505]),
            ),
            (501, 504, 0, all(&[502, 503]), all(&[500, 502, 503, 505])),
            (
                505,
                500,
                0,
                all(&[505, 503, 502]),
                all(&[505, 503, 502, 500]),
            ),
            (504, 501, 0, all(&[503, 502]), all(&[505, 503, 502, 500])),
            (500, 505, 2, some(&[500, 502]), some(&[500, 502])),
            (504, 501, 3, all(&[503, 502]), some(&[505, 503, 502])),
            (
                501,
                507,
                0,
                all(&[502, 503, 505, 506]),
                all(&[500, 502, 503, 505, 506, 0]),
            ),
            (459, 503, 0, all(&[500, 502]), all(&[0, 500, 502, 503])),
            (
                507,
                459,
                0,
                all(&[506, 505, 503, 502, 500]),
                all(&[0, 506, 505, 503, 502, 500, 0]),
            ),
            (503, 503, 0, all(&[503]), all(&[503])),
            (507, 508, 0, all(&[]), all(&[506, 0])),
            (400, 401, 0, all(&[]), all(&[0, 500])),
        ] {
            assert_eq!(
                read(Some(start), Some(end), most, false),
                plain,
                "{start} {end} {most}"
            );
            assert_eq!(
                read(Some(start), Some(end), most, true),
                bounded,
                "{start} {end} {most}"
            );
        }
        assert_eq!(read(Some(501), None, 2, false), all(&[502, 503]));
        assert_eq!(read(Some(501), None, 2, true), all(&[500, 502]));
        assert_eq!(read(None, Some(505), 3, false), all(&[505, 503, 502]));
        assert_eq!(read(None, Some(504), 2, false), all(&[503, 502]));
        assert_eq!(read(None, Some(504), 2, true), all(&[505, 503]));
    }

    /// Whatever the size of the pages, they have what one page would have.
    #[test]
    fn pages_put_together_are_the_whole() {
        // Some times are there more than once.
        let times = [10, 20, 20, 20, 30, 40, 40, 50];
        let whole = |span: &Span, size: usize| {
            let mut all = Vec::new();
            let mut next = Some(span.clone());
            while let Some(span) = next {
                let page = page(
                    &span,
                    8,
                    |i| times[i as usize],
                    size,
                    |i| DataValue {
                        value: Some((i as u32).into()),
                        source_timestamp: Some(DateTime::from(times[i as usize])),
                        ..Default::default()
                    },
                );
                assert!(
                    page.values.len() <= size && (page.rest.is_none() || !page.values.is_empty())
                );
                all.extend(page.values);
                next = page.rest;
            }
            all
        };
        for bounds in [false, true] {
            for (start, end) in [
                (10, 60),
                (15, 45),
                (60, 5),
                (45, 15),
                (20, 20),
                (0, 100),
                (100, 0),
            ] {
                let span = Span {
                    start: Some(start),
                    end: Some(end),
                    count: None,
                    bounds,
                    after: None,
                };
                let one = whole(&span, 100);
                for size in 1..9 {
                    assert_eq!(whole(&span, size), one, "{span:?} {size}");
                }
            }
            for count in 1..9 {
                let span = Span {
                    count: Some(count),
                    ..Span::back_from(45, 0)
                };
                let span = Span { bounds, ..span };
                let one = whole(&span, 100);
                assert!(one.len() <= count);
                assert_eq!(whole(&span, 2), one);
            }
        }
    }
}
