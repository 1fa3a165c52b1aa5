//! The JSON Schema of a file of sites, for completion in editors; the schema of a folder's file is one of its
//! definitions.

use serde_json::{Map, Value, json};

use crate::rows::{ROWS, SettingRow};
use crate::settings::may_set::MaySet;
use crate::settings::row::{Kind, Row, Scope};
use crate::sites::folders::own::REDIRECT_ROWS;
use crate::sites::folders::runs::FOLDER_ROWS;
use crate::sites::reading::keys::is_of;
use crate::sites::reading::rows::{GROUP_ROWS, ROUTE_ROWS, SITE_ROWS, is_of_group};

/// Returns the schema, of version 2020-12, with a line end.
pub(crate) fn schema() -> String {
    let route = table(ROUTE_ROWS, |row| is_of(row, Scope::Route), []);
    let routes = ("routes", json!({"type": "array", "minItems": 1, "items": route}));
    let site = table(SITE_ROWS, |row| is_of(row, Scope::Site), [routes]);
    let server = table::<()>(&[], |row| is_of(row, Scope::Server), []);
    let group = table(GROUP_ROWS, is_of_group, []);
    let mut redirect = table(REDIRECT_ROWS, |_| false, []);
    redirect["required"] = json!(["path", "redirect"]);
    let redirects = ("redirects", json!({"type": "array", "minItems": 1, "items": redirect}));
    let mut folder = table(FOLDER_ROWS, |row| MaySet::ALL.has(row.name), [redirects]);
    folder["title"] = json!("Adyton: the .adyton.toml of a folder");
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Adyton: a file of sites",
        "type": "object",
        "additionalProperties": false,
        "$defs": {"folder": folder},
        "required": ["sites"],
        "properties": {
            "server": server,
            "groups": {"type": "object", "additionalProperties": group},
            "sites": {"type": "array", "minItems": 1, "items": site},
        },
    });
    format!("{schema:#}\n")
}

/// Returns the schema of a table with these rows, the settings that may stand there, and tables inside.
fn table<S>(
    rows: &[Row<S>],
    has: impl Fn(&SettingRow) -> bool,
    inside: impl IntoIterator<Item = (&'static str, Value)>,
) -> Value {
    let mut properties: Map<String, Value> = rows.iter().map(property).collect();
    properties.extend(ROWS.iter().filter(|row| has(row)).map(property));
    properties.extend(inside.into_iter().map(|(name, value)| (name.to_owned(), value)));
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn property<S>(row: &Row<S>) -> (String, Value) {
    let one = match row.kind {
        Kind::Switch { .. } => json!({"type": "boolean"}),
        Kind::Choice { words, .. } => json!({"enum": choices(words)}),
        Kind::Number { .. } => json!({"type": ["integer", "string"]}),
        Kind::Path { .. } => json!({"type": "string"}),
        Kind::Form { shape, .. } if shape.starts_with("on|off") => json!({"type": ["boolean", "string"]}),
        Kind::Form { .. } => json!({"type": ["string", "integer"]}),
    };
    let mut value = if row.repeatable {
        let mut forms = vec![one.clone(), json!({"type": "array", "minItems": 1, "items": one})];
        if row.shape().contains('=') {
            forms.push(
                json!({"type": "object", "additionalProperties": {"type": ["string", "integer", "boolean"]}}),
            );
        }
        json!({"anyOf": forms})
    } else if row.is_list() {
        let texts = json!({"type": "array", "minItems": 1, "items": {"type": "string"}});
        json!({"anyOf": [{"type": ["string", "boolean"]}, texts]})
    } else {
        one
    };
    value["description"] = json!(format!("{}. {}", row.help, row.detail));
    if !row.default.is_empty() {
        value["default"] = json!(row.default);
    }
    (row.name.to_owned(), value)
}

/// Returns the words of a choice, and the numbers among them once more as numbers, without quotes.
fn choices(words: &[&str]) -> Vec<Value> {
    let numbers = words.iter().filter_map(|word| word.parse::<u64>().ok()).map(Value::from);
    words.iter().map(|word| json!(word)).chain(numbers).collect()
}
