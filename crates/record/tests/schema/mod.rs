//! As much of JSON Schema as `docs/results.schema.json` uses, and no keyword that is not understood.

use std::path::Path;

use serde_json::Value;

pub struct Schema(Value);

pub fn load() -> Schema {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.schema.json");
    Schema(serde_json::from_slice(&std::fs::read(page).unwrap()).unwrap())
}

impl Schema {
    /// What a document has against it, each with its place.
    pub fn complaints(&self, value: &Value) -> Vec<String> {
        let mut complaints = Vec::new();
        self.check(&self.0, value, "", &mut complaints);
        complaints
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, complaints: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().unwrap() {
            let fits = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "examples" => true,
                "$ref" => {
                    let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    let there = self.0["$defs"]
                        .get(name)
                        .unwrap_or_else(|| panic!("{name}"));
                    self.check(there, value, place, complaints);
                    true
                }
                "type" => match rule {
                    Value::Array(any) => any.iter().any(|one| is(one, value)),
                    one => is(one, value),
                },
                "const" => value == rule,
                "enum" => rule.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
                "pattern" => value.as_str().is_none_or(is_time),
                "anyOf" => rule.as_array().unwrap().iter().any(|one| {
                    let mut inside = Vec::new();
                    self.check(one, value, place, &mut inside);
                    inside.is_empty()
                }),
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{place}/{at}"), complaints);
                    }
                    true
                }
                "required" => {
                    let names = rule.as_array().unwrap().iter().filter_map(Value::as_str);
                    value
                        .as_object()
                        .is_none_or(|object| names.into_iter().all(|n| object.contains_key(n)))
                }
                "properties" => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        if let Some(rule) = rule.get(name) {
                            self.check(rule, item, &format!("{place}/{name}"), complaints);
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    let known = schema.get("properties").and_then(Value::as_object);
                    for (name, item) in value.as_object().into_iter().flatten() {
                        let place = format!("{place}/{name}");
                        match rule {
                            _ if known.is_some_and(|known| known.contains_key(name)) => {}
                            Value::Bool(false) => complaints.push(format!("{place}: unknown")),
                            rule => self.check(rule, item, &place, complaints),
                        }
                    }
                    true
                }
                other => panic!("the schema uses {other}, which this check does not know"),
            };
            if !fits {
                complaints.push(format!("{place}: {value} does not fit {keyword} {rule}"));
            }
        }
    }
}

fn is(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no such type: {other}"),
    }
}

/// The only pattern there is: RFC 3339 in UTC with nanoseconds.
fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    shape == "0000-00-00T00:00:00.000000000Z"
}
