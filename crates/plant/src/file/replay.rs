//! Recorded values: a column of a file with comma-separated values.

use std::path::Path;
use std::sync::Arc;

use toml::Value;

/// Reads a column, by its name in the first row or by its number from 1 on; the first if it is
/// not told. A first row without numbers is taken as names.
pub fn read(path: &Path, column: Option<&Value>) -> Result<Arc<[f64]>, String> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    parse(&text, column).map_err(|what| format!("{what}, {name}"))
}

fn parse(text: &str, column: Option<&Value>) -> Result<Arc<[f64]>, String> {
    let rows = text.lines().enumerate();
    let mut rows = rows.filter(|(_, row)| !row.trim().is_empty()).peekable();
    let (_, head) = rows.peek().ok_or("there are no rows")?;
    let separator = if head.contains(';') { ';' } else { ',' };
    let head: Vec<&str> = head.split(separator).map(unquoted).collect();
    let has_names = head.iter().all(|cell| cell.parse::<f64>().is_err());
    let at = match column {
        None => 0,
        Some(Value::Integer(number @ 1..)) => *number as usize - 1,
        Some(Value::String(name)) if has_names => {
            let at = head.iter().position(|cell| cell == name);
            at.ok_or_else(|| format!("there is no column {name} (there are {})", head.join(", ")))?
        }
        Some(_) => return Err("a column is a name of the first row, or a number from 1 on".into()),
    };
    if has_names {
        rows.next();
    }
    let values = rows.map(|(line, row)| {
        let cell = row.split(separator).nth(at).map(unquoted);
        let cell = cell.ok_or_else(|| format!("line {} has no column {}", line + 1, at + 1))?;
        let value = cell.parse::<f64>();
        value.map_err(|_| format!("line {} has no number but {cell:?}", line + 1))
    });
    let values: Vec<f64> = values.collect::<Result<_, _>>()?;
    match values.is_empty() {
        true => Err("there are no values".into()),
        false => Ok(values.into()),
    }
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_name_or_number() {
        let text = "time,\"Speed\"\n0,1.5\n1,2.5\n";
        let speed = Value::String("Speed".into());
        assert_eq!(*parse(text, Some(&speed)).unwrap(), [1.5, 2.5]);
        assert_eq!(*parse(text, Some(&Value::Integer(2))).unwrap(), [1.5, 2.5]);
        assert_eq!(*parse(text, None).unwrap(), [0.0, 1.0]);
        assert_eq!(
            *parse("1;2\n3;4\n", Some(&Value::Integer(2))).unwrap(),
            [2.0, 4.0]
        );
    }

    #[test]
    fn what_is_no_number_is_named_with_its_line() {
        let wrong = |text, column| parse(text, Some(&column)).unwrap_err();
        let name = Value::String("Level".into());
        assert_eq!(
            wrong("time,Speed\n0,1\n", name),
            "there is no column Level (there are time, Speed)"
        );
        let two = || Value::Integer(2);
        assert_eq!(
            wrong("a,b\n1,2\n3,x\n", two()),
            "line 3 has no number but \"x\""
        );
        assert_eq!(wrong("a,b\n1\n", two()), "line 2 has no column 2");
        assert_eq!(wrong("a,b\n", two()), "there are no values");
    }
}
