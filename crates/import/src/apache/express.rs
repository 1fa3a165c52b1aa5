//! Files that `mod_wsgi-express setup-server` writes beside its `httpd.conf`: names and variables of its start, and
//! scripts that run its application.

use std::collections::HashMap;
use std::sync::Arc;

use crate::apache::language::line::Line;
use crate::model::{Draft, Mistake};
use crate::text::include::{Found, Includes};

/// Name of a directive that stands for a handler; no file contains it. Its arguments: the handler's name, its script,
/// the script's target, the application's name in the target, and the mount path.
pub(super) const HANDLER: &str = "(handler)";

/// Returns the names of `-D` and the variables with which the `apachectl` of mod_wsgi-express starts the server.
pub(super) fn started_with(apachectl: &str) -> Option<HashMap<String, String>> {
    if !apachectl.contains("mod_wsgi-express") {
        return None;
    }
    let mut all: HashMap<String, String> = HashMap::new();
    for line in apachectl.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        let Some(value) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else { continue };
        if name == "HTTPD_ARGS" {
            let defined = value.split_whitespace().filter_map(|word| word.strip_prefix("-D"));
            all.extend(defined.map(|name| (name.to_owned(), String::new())));
        } else if let Some(value) = filled(value, &all).filter(|_| is_name(name)) {
            all.insert(name.to_owned(), value);
        }
    }
    Some(all)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Expands a value of the shell: `${NAME:-other}` is `other`, unless the name is known.
fn filled(value: &str, known: &HashMap<String, String>) -> Option<String> {
    let Some(inside) = value.strip_prefix("${").and_then(|value| value.strip_suffix('}')) else {
        return (!value.contains(['$', '`'])).then(|| value.to_owned());
    };
    match inside.split_once(":-") {
        Some((name, other)) => known.get(name).cloned().or_else(|| filled(other, known)),
        None => known.get(inside).cloned(),
    }
}

/// Reads the scripts of `WSGIHandlerScript`; a script that express itself has written says which application it runs.
pub(super) fn handlers(
    lines: &[Line],
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<Vec<Line>, Mistake> {
    let mut all = Vec::new();
    for line in lines.iter().filter(|line| line.name == "wsgihandlerscript") {
        // The bracket makes the name a pattern, so the file may be absent.
        let Some((front, last)) = line.arg(1).split_at_checked(line.arg(1).len().saturating_sub(1)) else {
            continue;
        };
        for found in includes.find(&format!("{front}[{last}]"), &line.place)? {
            let file: Arc<str> = found.name.clone().into();
            includes.begin(&file, &found.text)?;
            includes.end();
            match handler(&found) {
                Ok(args) => all.push(Line {
                    name: HANDLER.to_owned(),
                    args: line.args.iter().take(2).cloned().chain(args).collect(),
                    ..line.clone()
                }),
                Err(why) => draft.lose(&line.place, &line.text, why),
            }
        }
    }
    Ok(all)
}

/// Returns the target, the application's name in it, and the mount path, from a script that `mod_wsgi-express` has
/// written.
fn handler(found: &Found) -> Result<[String; 3], &'static str> {
    let said = |name: &str| assigned(&found.text, name).map(str::to_owned);
    let (Some(target), Some(kind), Some(name), Some(path)) =
        (said("entry_point"), said("application_type"), said("callable_object"), said("mount_point"))
    else {
        return Err(
            "a script that answers for names of files is not called here; write a route for the application that it runs",
        );
    };
    match kind.as_str() {
        "script" | "module" => Ok([target, name, path]),
        _ => Err(
            "give the application that the Paste script makes a name in a module, and write app = \"module:name\"",
        ),
    }
}

/// Returns the text that a Python script assigns to a name: `name = r'text'`.
fn assigned<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
    let value = value.strip_prefix('r').unwrap_or(value).trim_end();
    value.strip_prefix('\'')?.strip_suffix('\'').filter(|value| !value.contains(['\'', '\\']))
}

/// Returns the handlers that are known to a site.
pub(super) fn known<'l>(sections: &[&'l [Line]]) -> impl Iterator<Item = &'l Line> + use<'l> {
    sections.first().copied().unwrap_or_default().iter().filter(|line| line.name == HANDLER)
}

/// Returns the handler that a rule of these sections gives requests to, and whether files take precedence over it.
pub(super) fn rule<'l>(sections: &[&'l [Line]]) -> Option<(&'l Line, bool)> {
    let (mut found, mut has_files) = (None, false);
    for line in sections.iter().flat_map(|section| section.iter()) {
        match line.name.as_str() {
            "rewritecond" if is_of_files(line) => has_files |= line.says(1, "!-f"),
            "rewriterule" if handler_of(line).is_some() => found = Some((line, has_files)),
            _ => {}
        }
    }
    found
}

/// Returns the handler that `RewriteRule .* - [H=wsgi-handler]` names.
pub(super) fn handler_of(rule: &Line) -> Option<&str> {
    let is_every = matches!(rule.arg(0), ".*" | "^" | "^.*$") && rule.arg(1) == "-";
    let name = rule.arg(2).strip_prefix("[H=").and_then(|rest| rest.strip_suffix(']'));
    name.filter(|name| is_every && !name.contains(','))
}

/// Whether a condition excludes files, folders or the status page from a rule.
fn is_of_files(line: &Line) -> bool {
    let status = line.arg(0) == "%{REQUEST_URI}" && line.arg(1) == "!/server-status";
    status || (line.arg(0) == "%{REQUEST_FILENAME}" && matches!(line.arg(1), "!-f" | "!-d"))
}

/// Whether a directive is part of a rule that leads to a known handler.
pub(super) fn is_of_rule(line: &Line, handlers: &[&Line]) -> bool {
    match line.name.as_str() {
        "rewritecond" => !handlers.is_empty() && is_of_files(line),
        "rewriterule" => {
            handler_of(line).is_some_and(|name| handlers.iter().any(|handler| handler.arg(0) == name))
        }
        "wsgihandlerscript" => handlers.iter().any(|handler| handler.arg(0) == line.arg(0)),
        // Workers load the application before they get requests, as this directive asks.
        "wsgiimportscript" => handlers.iter().any(|handler| handler.arg(1) == line.arg(0)),
        "rewriteoptions" => !handlers.is_empty() && line.says(0, "inheritdownbefore"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{assigned, started_with};

    #[test]
    fn starts() {
        let text = "# ['mod_wsgi-express', 'setup-server']\nHTTPD_ARGS=\"-f x -DA -DB_1\"\nR=\"${R:-www}\"\n\
                    U=\"${U:-${R}}\"\nV=\"${X}\"\nW=\"`id`\"\nR=\"${R:-other}\"";
        let mut all: Vec<(String, String)> = started_with(text).unwrap_or_default().into_iter().collect();
        all.sort();
        let names: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();

        assert_eq!(["A=", "B_1=", "R=www", "U=www"].as_slice(), names);
        assert_eq!(None, started_with("HTTPD_ARGS=\"-DA\""));
    }

    #[test]
    fn assignments() {
        let text = "import os\na = r'/srv/a.wsgi'\nb = 'x'\nc = None\nd = 'a\\'b'\n";

        assert_eq!(
            [Some("/srv/a.wsgi"), Some("x"), None, None, None],
            ["a", "b", "c", "d", "e"].map(|name| assigned(text, name))
        );
    }
}
