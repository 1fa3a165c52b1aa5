//! The JSON Schema of a file of sites, which gives editors completion.

use serde_json::{Map, Value, json};

use super::document::is_of;
use super::rows::{ROUTE_ROWS, SITE_ROWS};
use crate::row::{Kind, Row, Scope};
use crate::rows::ROWS;

/// The schema, of version 2020-12, with a line end.
pub(crate) fn schema() -> String {
    let route = table(ROUTE_ROWS, Scope::Route, []);
    let site = table(SITE_ROWS, Scope::Site, [("routes", json!({"type": "array", "items": route}))]);
    let server = table::<()>(&[], Scope::Server, []);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Adyton: a file of sites",
        "type": "object",
        "additionalProperties": false,
        "required": ["sites"],
        "properties": {"server": server, "sites": {"type": "array", "minItems": 1, "items": site}},
    });
    format!("{schema:#}\n")
}

/// A table with these rows, the settings of its scope, and tables inside.
fn table<S>(rows: &[Row<S>], scope: Scope, inside: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut properties: Map<String, Value> = rows.iter().map(property).collect();
    properties.extend(ROWS.iter().filter(|row| is_of(row, scope)).map(property));
    properties.extend(inside.into_iter().map(|(name, value)| (name.to_owned(), value)));
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn property<S>(row: &Row<S>) -> (String, Value) {
    let one = match row.kind {
        Kind::Switch { .. } => json!({"type": "boolean"}),
        Kind::Choice { words, .. } => json!({"enum": choices(words)}),
        Kind::Number { .. } => json!({"type": ["integer", "string"]}),
        Kind::Path { .. } => json!({"type": "string"}),
        Kind::Form { .. } => json!({"type": ["string", "integer"]}),
    };
    let mut value = if row.repeatable {
        let mut forms = vec![one.clone(), json!({"type": "array", "items": one})];
        if row.shape().contains('=') {
            forms.push(
                json!({"type": "object", "additionalProperties": {"type": ["string", "integer", "boolean"]}}),
            );
        }
        json!({"anyOf": forms})
    } else {
        one
    };
    value["description"] = json!(format!("{}. {}", row.help, row.detail));
    if !row.default.is_empty() {
        value["default"] = json!(row.default);
    }
    (row.name.to_owned(), value)
}

/// The words of a choice; numbers may be written as such.
fn choices(words: &[&str]) -> Vec<Value> {
    let numbers = words.iter().filter_map(|word| word.parse::<u64>().ok()).map(Value::from);
    words.iter().map(|word| json!(word)).chain(numbers).collect()
}
