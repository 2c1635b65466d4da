//! Signals of a plant file: whether type, pattern, interval and access go together.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toml::{Spanned, Value};

use super::common::{count, path};
use super::document::{Access, Depth, SignalsTable};
use super::error::{Complaint, Read};
use super::pattern::Written;
use super::replay;
use super::types::Types;
use crate::describe::{Group, Kind, Shaped, Start, Values};
use crate::space::access;
use crate::space::motion::payload::{self, Content};
use crate::terms::{Ids, Span, Template};

/// Elements of an array: 16 Mi.
const MOST_ELEMENTS: u64 = 1 << 24;
/// Signals are updated at most this often.
const FASTEST: Duration = Duration::from_millis(1);

pub fn group(
    table: SignalsTable,
    span: Range<usize>,
    seed: u64,
    folder: &Path,
    types: &Types,
) -> Read<Group> {
    let kind = types.kind(&table.kind)?;
    let dimensions = dimensions(table.dimensions)?;
    let update = table.update.as_ref().map(update).transpose()?;
    let values = match (&table.value, table.pattern) {
        (Some(value), Some(_)) => {
            let what = "stands beside a pattern (want one of them)";
            return Err(Complaint::about(value, what));
        }
        (Some(value), None) => written(&kind, &dimensions, value)?,
        (None, None) => Values::Numbered,
        (None, Some(pattern)) => {
            let reader = Reader {
                span: pattern.span(),
                kind: &kind,
                dimensions: &dimensions,
                update,
                seed,
                folder,
            };
            reader.values(pattern.into_inner())?
        }
    };
    let moves = matches!(values, Values::Counter(_) | Values::Pattern(_));
    let stored = table
        .stored
        .as_ref()
        .is_some_and(|stored| *stored.get_ref());
    if let Some(update) = table.update.as_ref().filter(|_| !moves) {
        let what = "has nothing to update: the value is constant (want a pattern, or no update)";
        return Err(Complaint::about(update, what));
    }
    let may = table
        .access
        .as_ref()
        .map_or(Access::Read, |access| *access.get_ref());
    let writes = matches!(may, Access::Write | Access::ReadWrite);
    if let Some(access) = table.access.as_ref().filter(|_| writes)
        && update.is_some()
        && !stored
    {
        let what = "lets clients write what is computed (want \"read\", or stored = true)";
        return Err(Complaint::about(access, what));
    }
    let changes = update.is_some() || writes;
    let history = history(table.history, changes, update.is_some() && !stored)?;
    let range = range(table.range, &table.unit, &kind)?;
    let (count, ids) = count(table.count, table.ids.as_ref(), &span)?;
    let first = match (&ids, &table.first) {
        (Some(Ids::Numbers { .. }), Some(first)) => {
            let what = "is told by the ids, which are numbers (leave it out)";
            return Err(Complaint::about(first, what));
        }
        (Some(Ids::Numbers { first, .. }), None) => u64::from(*first),
        (_, first) => first.as_ref().map_or(0, |first| *first.get_ref()),
    };
    let numbered = count > 1 || matches!(ids, Some(Ids::Numbers { .. }));
    let name = match (&table.name, &ids) {
        (Some(name), _) => name.get_ref().clone(),
        (None, Some(Ids::Texts(text))) => text.clone(),
        (None, _) if numbered => Template::numbered(kind.name()),
        (None, _) => Template::text(kind.name()),
    };
    let ids = ids.unwrap_or_else(|| Ids::Texts(name.clone()));
    if let Ids::Texts(text) = &ids
        && count > 1
        && !text.has_number()
    {
        let what =
            format!("{count} signals need different ids (want {{n}} in the name or in the ids)");
        return Err(Complaint { span, what });
    }
    Ok(Group {
        folder: path(table.folder)?,
        per_folder: per_folder(table.per_folder)?,
        count,
        first,
        ids,
        name,
        description: table.description,
        kind,
        dimensions,
        values,
        update,
        stored,
        history,
        access: bits(may) | history.map_or(0, |_| access::HISTORY_READ),
        range,
        unit: table.unit.map(Spanned::into_inner),
    })
}

/// What is kept of the past where a file does not say how much.
const DEPTH: u64 = 10_000;
/// Values kept of one variable at most.
const DEEPEST: u64 = 10_000_000;

/// How many of the last values can be read.
fn history(asked: Option<Spanned<Depth>>, changes: bool, computed: bool) -> Read<Option<u64>> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let depth = match *asked.get_ref() {
        Depth::Any(false) => return Ok(None),
        Depth::Any(true) if computed => u64::MAX,
        Depth::Any(true) => DEPTH,
        Depth::Last(depth @ 1..=DEEPEST) => depth,
        Depth::Last(depth) => {
            let what = format!("is {depth} (want true, or 1 to {DEEPEST} values)");
            return Err(Complaint::about(&asked, what));
        }
    };
    match changes {
        true => Ok(Some(depth)),
        false => {
            let what = "of a value that never changes (want an update, or access = \"read-write\")";
            Err(Complaint::about(&asked, what))
        }
    }
}

fn bits(may: Access) -> u8 {
    const WRITE: u8 = access::WRITE | access::STATUS_WRITE | access::TIMESTAMP_WRITE;
    match may {
        Access::None => 0,
        Access::Read => access::READ,
        Access::Write => WRITE,
        Access::ReadWrite => access::READ | WRITE,
    }
}

fn dimensions(asked: Option<Spanned<Vec<u32>>>) -> Read<Arc<[u32]>> {
    let Some(asked) = asked else {
        return Ok(Arc::default());
    };
    let list = asked.get_ref();
    let elements = list
        .iter()
        .map(|len| u64::from(*len))
        .try_fold(1, u64::checked_mul);
    let fits = elements.is_some_and(|elements| (1..=MOST_ELEMENTS).contains(&elements));
    match fits && !list.is_empty() && list.len() <= 8 {
        true => Ok(asked.into_inner().into()),
        false => {
            let what = format!(
                "are {list:?} (want one length for an array, more for a matrix, together {MOST_ELEMENTS} elements at most; leave it out for a scalar)"
            );
            Err(Complaint::about(&asked, what))
        }
    }
}

fn update(asked: &Spanned<Span>) -> Read<Duration> {
    let update = asked.get_ref().0;
    match update < FASTEST {
        true => Err(Complaint::about(
            asked,
            format!("is {update:?} (want 1ms or more)"),
        )),
        false => Ok(update),
    }
}

fn written(kind: &Kind, dimensions: &[u32], value: &Spanned<Value>) -> Read<Values> {
    let content = Content::Literal(value.get_ref());
    // Only to see whether it fits: the namespaces are not known yet.
    payload::variant(kind, dimensions, content, &[], &mut Vec::new())
        .map_err(|what| Complaint::about(value, what))?;
    Ok(Values::Written(value.get_ref().clone()))
}

fn range(
    range: Option<Spanned<[f64; 2]>>,
    unit: &Option<Spanned<String>>,
    kind: &Kind,
) -> Read<Option<(f64, f64)>> {
    if let (None, Some(unit)) = (&range, unit) {
        let what = "belongs to an AnalogItem, which needs a range (want range = [low, high], too)";
        return Err(Complaint::about(unit, what));
    }
    let Some(asked) = range else {
        return Ok(None);
    };
    let [low, high] = *asked.get_ref();
    if low >= high {
        let what = format!("is [{low}, {high}] (want the lower end first)");
        return Err(Complaint::about(&asked, what));
    }
    // Part 8, 5.3.2.2: the DataType of an AnalogItem is a Number.
    let number = matches!(kind, Kind::BuiltIn(_)) && kind.number().is_some();
    if !number || kind.name() == "Boolean" {
        let what = format!(
            "makes an AnalogItem of a {} (want a type of numbers)",
            kind.name()
        );
        return Err(Complaint::about(&asked, what));
    }
    Ok(Some((low, high)))
}

fn per_folder(asked: Option<Spanned<u64>>) -> Read<Option<u64>> {
    match asked {
        Some(most) if *most.get_ref() == 0 => Err(Complaint::about(&most, "is 0 (want 1 or more)")),
        asked => Ok(asked.map(Spanned::into_inner)),
    }
}

/// What a pattern stands among.
struct Reader<'a> {
    span: Range<usize>,
    kind: &'a Kind,
    dimensions: &'a [u32],
    update: Option<Duration>,
    seed: u64,
    folder: &'a Path,
}

impl Reader<'_> {
    fn complain<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(Complaint {
            span: self.span.clone(),
            what: what.into(),
        })
    }

    fn values(&self, pattern: Written) -> Read<Values> {
        let number = matches!(self.kind, Kind::BuiltIn(_)) && self.kind.number().is_some();
        if !number && !matches!(pattern, Written::Counter(_) | Written::Constant(_)) {
            return self.complain(format!(
                "is for numbers, not for {} (want \"constant\" or \"counter\")",
                self.kind.name()
            ));
        }
        let seed = |own: Option<u32>| own.map_or(self.seed, |own| u64::from(own) << 32);
        Ok(match pattern {
            Written::Constant(None) => Values::Numbered,
            Written::Constant(Some(value)) => {
                let value = Spanned::new(self.span.clone(), value);
                return written(self.kind, self.dimensions, &value);
            }
            Written::Counter(of) => Values::Counter(match of.start {
                None => Start::At(0),
                Some(start) => match start.get_ref() {
                    Value::Integer(start) => Start::At(*start),
                    Value::String(text) if text == "n" => Start::Number,
                    _ => {
                        let what =
                            "is no start (want a whole number, or \"n\" for the signal's number)";
                        return Err(Complaint::about(&start, what));
                    }
                },
            }),
            Written::Ramp(of) => {
                self.bounds(of.low, of.high)?;
                Values::Pattern(Shaped::Ramp {
                    low: of.low,
                    high: of.high,
                    period: self.period(of.period)?,
                })
            }
            Written::Sine(of) => {
                self.bounds(of.low, of.high)?;
                if !(0.0..=1.0).contains(&of.phase) {
                    return self.complain(format!("has phase {} (want 0 to 1)", of.phase));
                }
                Values::Pattern(Shaped::Sine {
                    low: of.low,
                    high: of.high,
                    period: self.period(of.period)?,
                    phase: of.phase,
                })
            }
            Written::RandomWalk(of) => {
                self.bounds(of.low, of.high)?;
                let step = of.step.unwrap_or((of.high - of.low) / 100.0);
                if step <= 0.0 || !step.is_finite() {
                    return self.complain(format!("has step {step} (want more than 0)"));
                }
                Values::Pattern(Shaped::Walk {
                    low: of.low,
                    high: of.high,
                    step,
                    seed: seed(of.seed),
                })
            }
            Written::Noise(of) => {
                self.bounds(of.low, of.high)?;
                Values::Pattern(Shaped::Noise {
                    low: of.low,
                    high: of.high,
                    seed: seed(of.seed),
                })
            }
            Written::Toggle(of) => Values::Pattern(Shaped::Toggle {
                even: of.low,
                odd: of.high,
            }),
            Written::Replay(of) => {
                let path = self.folder.join(of.file.get_ref());
                let column = of.column.as_ref().map(Spanned::get_ref);
                let values =
                    replay::read(&path, column).map_err(|what| Complaint::about(&of.file, what))?;
                Values::Pattern(Shaped::Replay(values))
            }
        })
    }

    fn bounds(&self, low: f64, high: f64) -> Read<()> {
        match low < high && low.is_finite() && high.is_finite() {
            true => Ok(()),
            false => self.complain(format!(
                "goes from {low} to {high} (want the lower end first)"
            )),
        }
    }

    fn period(&self, period: Span) -> Read<Duration> {
        let Span(period) = period;
        match self.update {
            Some(update) if period < update => self.complain(format!(
                "has period {period:?}, shorter than update {update:?} (want that or longer)"
            )),
            _ => Ok(period),
        }
    }
}
