//! Writes the file of sites: the losses at its top, and beside each key the line that it comes from.

use std::fmt::Write as _;

use crate::model::{Draft, Key, Keys, Loss, Route, Site, Value, plain};

/// Returns the whole file; `source` is the file that it was made of.
pub(crate) fn write(draft: &Draft, source: &str) -> String {
    let source = crate::model::shown(source);
    let mut out = format!("# Made by adyton import {source}: look through it before it serves.\n");
    let (opening, others): (Vec<&Loss>, Vec<&Loss>) = draft.losses.iter().partition(|loss| loss.opens);
    list(
        &mut out,
        "Restrictions that could not be carried over; where a route can, it refuses everybody instead",
        &opening,
    );
    list(&mut out, "Not carried over", &others);
    if !draft.server.0.is_empty() {
        out += "\n[server]\n";
        keys(&mut out, &draft.server);
    }
    for one in &draft.sites {
        site(&mut out, one);
    }
    out
}

fn list(out: &mut String, heading: &str, losses: &[&Loss]) {
    if losses.is_empty() {
        return;
    }
    let _ = writeln!(out, "#\n# {heading}:");
    for loss in losses {
        let _ = writeln!(out, "# - {loss}");
    }
}

fn site(out: &mut String, site: &Site) {
    let place = site.place.as_ref().map_or(String::new(), |place| format!("  # {place}"));
    let _ = writeln!(out, "\n[[sites]]{place}");
    if !site.hosts.is_empty() {
        let _ = writeln!(out, "hosts = {}", quoted_list(&site.hosts));
    }
    keys(out, &site.keys);
    for one in &site.routes {
        route(out, one, &site.refused);
    }
}

fn route(out: &mut String, route: &Route, of_site: &[String]) {
    let place = route.place.as_ref().map_or(String::new(), |place| format!("  # {place}"));
    let _ = match route.paths.as_slice() {
        [path] if path == "/" => writeln!(out, "\n[[sites.routes]]{place}"),
        [path] => writeln!(out, "\n[[sites.routes]]\npath = {}{place}", quoted(path)),
        paths => writeln!(out, "\n[[sites.routes]]\npath = {}{place}", quoted_list(paths)),
    };
    let refused: Vec<&String> = of_site.iter().chain(&route.refused).collect();
    if refused.is_empty() {
        keys(out, &route.keys);
        return;
    }
    for why in refused {
        let _ = writeln!(out, "# Refused, because this was lost: {}", plain(why));
    }
    // The status is not 403, because nobody is denied: something has not been done yet.
    out.push_str("respond = 503\n");
    for key in &route.keys.0 {
        // The access rules are still right; the action waits for somebody to look at it.
        let mark = if Route::is_action(key.name) { "# " } else { "" };
        out.push_str(mark);
        line(out, key);
    }
}

fn keys(out: &mut String, keys: &Keys) {
    for key in &keys.0 {
        line(out, key);
    }
}

fn line(out: &mut String, key: &Key) {
    let value = match &key.value {
        Value::Text(text) if is_number(text) && key.name != "body" => text.clone(),
        value => written(value),
    };
    let _ = writeln!(out, "{} = {value}  # {}", key.name, key.place);
}

/// Whether a text is a decimal number of TOML.
fn is_number(text: &str) -> bool {
    (1..=18).contains(&text.len()) && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Number(number) => number.to_string(),
        Value::Switch(on) => on.to_string(),
        Value::List(list) => quoted_list(list),
        Value::Pairs(pairs) => written_pairs(pairs),
    }
}

/// Writes a table, or a list if a name is there twice: a table cannot have a key twice.
fn written_pairs(pairs: &[(String, String)]) -> String {
    let is_twice = |at: usize| pairs[..at].iter().any(|(name, _)| *name == pairs[at].0);
    if (0..pairs.len()).any(is_twice) {
        let texts: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        return quoted_list(&texts);
    }
    let each = pairs.iter().map(|(name, value)| {
        let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let bare = !name.is_empty() && name.bytes().all(is_bare);
        let name = if bare { name.clone() } else { quoted(name) };
        format!("{name} = {}", quoted(value))
    });
    format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
}

fn quoted_list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

/// Writes a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            sign if sign.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(sign));
            }
            sign => out.push(sign),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::{quoted, written_pairs};

    #[test]
    fn strings_and_tables() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());

        assert_eq!(r#""a\"b\\c\n\u0007""#, quoted("a\"b\\c\n\u{7}"));
        assert_eq!(r#"{ A = "1", "b c" = "2" }"#, written_pairs(&[pair("A", "1"), pair("b c", "2")]));
        assert_eq!(r#"["A=1", "A=2"]"#, written_pairs(&[pair("A", "1"), pair("A", "2")]));
    }
}
