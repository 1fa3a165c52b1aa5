//! Handlers in the file of a folder, which say which of its files are run.
//!
//! Only lines at the top of the file are taken, where they count for the folder and all beneath it; lines in a section
//! are treated like all other directives.

use crate::apache::language::line::Line;
use crate::rules::folder_handlers::{FolderHandlers, Handler};

/// Splits off the lines about handlers, and returns the handlers and the other lines.
pub(crate) fn take(lines: &[Line]) -> (FolderHandlers, Vec<Line>) {
    let mut handlers = FolderHandlers::default();
    let mut others = Vec::new();
    for line in lines {
        match line.name.as_str() {
            "options" if !line.is_section => {
                read_options(&mut handlers, line);
                let is_more = |word: &&String| !is_exec(word);
                let args: Vec<String> = line.args.iter().filter(is_more).cloned().collect();
                if !args.is_empty() {
                    others.push(Line { args, ..line.clone() });
                }
            }
            "sethandler" if line.args.len() == 1 => match handler(line.arg(0)) {
                _ if line.says(0, "none") => handlers.all = Some(None),
                Some(handler) => handlers.all = Some(Some(handler)),
                None => handlers.unknown.push(format!("{}: {}", line.place, line.text)),
            },
            "addhandler" if line.args.len() > 1 => match handler(line.arg(0)) {
                Some(handler) => {
                    handlers.ends.extend(line.args[1..].iter().map(|end| (dotted(end), handler)));
                }
                // These handlers send files; the importer reads such lines itself.
                None if matches!(line.arg(0), "type-map" | "send-as-is") => others.push(line.clone()),
                None => handlers.unknown.push(format!("{}: {}", line.place, line.text)),
            },
            "removehandler" => {
                handlers.ends.extend(line.args.iter().map(|end| (dotted(end), Handler::Default)));
            }
            _ => others.push(line.clone()),
        }
    }
    (handlers, others)
}

/// Reads `Options`, as far as they are about programs.
fn read_options(handlers: &mut FolderHandlers, line: &Line) {
    let is_relative = line.args.iter().all(|arg| arg.starts_with(['+', '-']));
    for word in line.args.iter().filter(|word| is_exec(word)) {
        handlers.executes = Some(!word.starts_with('-'));
    }
    let says = |other: &str| line.args.iter().any(|word| word.eq_ignore_ascii_case(other));
    if !is_relative && !line.args.iter().any(|word| is_exec(word)) {
        // Words without a sign replace all options that were on; `All` contains `ExecCGI`.
        handlers.executes = Some(says("all"));
    }
}

fn is_exec(word: &str) -> bool {
    word.trim_start_matches(['+', '-']).eq_ignore_ascii_case("execcgi")
}

/// Returns the end of a name with its dot, in small letters: `pl` and `.pl` are the same end.
fn dotted(end: &str) -> String {
    format!(".{}", end.trim_start_matches('.').to_ascii_lowercase())
}

/// Returns a handler by its name, which Apache compares in small letters.
fn handler(name: &str) -> Option<Handler> {
    match name.to_ascii_lowercase().as_str() {
        "cgi-script" => Some(Handler::Cgi),
        "wsgi-script" => Some(Handler::Wsgi),
        "default-handler" => Some(Handler::Default),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::take;
    use crate::apache::language::lex;
    use crate::model::Draft;
    use crate::rules::folder_handlers::{FolderHandlers, Handler};
    use crate::text::include::Includes;

    fn read(text: &str) -> Result<(FolderHandlers, usize), String> {
        let mut include = |_: &str| Err("none".to_owned());
        let mut includes = Includes::new(&mut include);
        let file: Arc<str> = ".htaccess".into();
        let lines = lex::read(&file, text, &mut includes, &mut Draft::default());
        let lines = lines.map_err(|mistake| mistake.to_string())?;
        let (handlers, others) = take(&lines);
        Ok((handlers, others.len()))
    }

    /// Each case is the lines of a folder's file, the handlers, and how many lines are left.
    #[test]
    fn lines() {
        let empty = FolderHandlers::default;
        let ends =
            |ends: &[(&str, Handler)]| ends.iter().map(|(end, way)| ((*end).to_owned(), *way)).collect();
        for (text, expected, left) in [
            ("Options +ExecCGI", FolderHandlers { executes: Some(true), ..empty() }, 0),
            ("options -execcgi +Indexes", FolderHandlers { executes: Some(false), ..empty() }, 1),
            ("Options Indexes", FolderHandlers { executes: Some(false), ..empty() }, 1),
            ("Options +Indexes", empty(), 1),
            ("Options All", FolderHandlers { executes: Some(true), ..empty() }, 1),
            (
                "AddHandler CGI-script .CGI pl\nRemoveHandler .pl",
                FolderHandlers {
                    ends: ends(&[(".cgi", Handler::Cgi), (".pl", Handler::Cgi), (".pl", Handler::Default)]),
                    ..empty()
                },
                0,
            ),
            ("SetHandler wsgi-script", FolderHandlers { all: Some(Some(Handler::Wsgi)), ..empty() }, 0),
            ("SetHandler None", FolderHandlers { all: Some(None), ..empty() }, 0),
            (
                "<IfModule mod_mime.c>\nAddHandler cgi-script .a\n</IfModule>",
                FolderHandlers { ends: ends(&[(".a", Handler::Cgi)]), ..empty() },
                0,
            ),
            ("<Files x>\nSetHandler cgi-script\n</Files>", empty(), 1),
            ("AddHandler type-map .var", empty(), 1),
            ("Require all denied", empty(), 1),
        ] {
            assert_eq!(Ok((expected, left)), read(text), "{text}");
        }
        let unknown = read("AddHandler mod_python .py\nSetHandler application/x-httpd-php");

        assert_eq!(Ok(2), unknown.map(|(handlers, _)| handlers.unknown.len()));
    }
}
