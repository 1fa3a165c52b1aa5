//! The language of httpd.conf: lines, sections, included files, and conditions that are decided before anything else is
//! read.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use crate::apache::express;
use crate::apache::folders::context;
use crate::apache::language::known;
use crate::apache::language::line::Line;
use crate::model::{Draft, Mistake, Place};
use crate::text::include::Includes;

/// Limit of sections in sections.
const DEPTH_MAX: usize = 32;

/// Limit of directives in all.
const DIRECTIVES_MAX: usize = 100_000;

/// Limit of a line, and so of a value made of variables.
const LINE_BYTES_MAX: usize = 8192;

/// Directives whose first word is the name of a file.
const RELATIVE: [&str; 8] = [
    "authgroupfile",
    "authuserfile",
    "customlog",
    "documentroot",
    "errorlog",
    "wsgiaccessscript",
    "wsgiauthgroupscript",
    "wsgiauthuserscript",
];

/// Modules for which `IfModule` is true, besides the modules that `LoadModule` names: their directives are carried
/// over, or reported as losses. For any other module `IfModule` is false. So blocks for releases before 2.4
/// (`!mod_authz_core.c`) are skipped.
const MODULES: [&str; 24] = [
    "access_compat",
    "alias",
    "auth_basic",
    "auth_digest",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_groupfile",
    "authz_host",
    "authz_user",
    "autoindex",
    "deflate",
    "dir",
    "env",
    "expires",
    "filter",
    "headers",
    "log_config",
    "mime",
    "mpm_event",
    "rewrite",
    "setenvif",
    "ssl",
    "wsgi",
];

/// Reads a file and all that it includes.
pub(crate) fn read(
    file: &Arc<str>,
    text: &str,
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<Vec<Line>, Mistake> {
    // The `ServerRoot` that Apache was built with is not known here; on Debian it is the folder of the file.
    let is_of_folder = context::is_of_folder(file) || draft.folder.is_some();
    let folder = file.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let root = folder.filter(|folder| folder.starts_with('/') && !is_of_folder);
    let root = Root { folder: root, is_said: false };
    let start = express_start(file, includes)?;
    let knows_start = start.is_some();
    let defined = match start {
        Some(defined) => defined,
        None => environment(file, includes)?,
    };
    let mut reader = Reader {
        includes,
        draft,
        defined,
        knows_start,
        passed: HashSet::new(),
        modules: Vec::new(),
        root,
        is_of_folder,
        count: 0,
    };
    if let Some((line, sign)) = context::control(text).filter(|_| is_of_folder) {
        let place = Place { file: Arc::clone(file), line };
        return Err(Mistake {
            place,
            what: format!("a control character stands in this line: {}", sign.escape_unicode()),
        });
    }
    reader.file(file, text)
}

/// Returns the names and variables of a server's start, if `mod_wsgi-express` has written its files: `apachectl` stands
/// beside `httpd.conf`.
fn express_start(
    file: &Arc<str>,
    includes: &mut Includes<'_>,
) -> Result<Option<HashMap<String, String>>, Mistake> {
    if file.rsplit('/').next() != Some("httpd.conf") {
        return Ok(None);
    }
    // The bracket makes the name a pattern, so the file may be absent.
    let found = includes.find("apachect[l]", &Place { file: Arc::clone(file), line: 1 })?;
    for one in &found {
        let file: Arc<str> = one.name.clone().into();
        includes.begin(&file, &one.text)?;
        includes.end();
    }
    Ok(found.iter().find_map(|one| express::started_with(&one.text)))
}

/// Returns the variables that Debian's Apache is started with, from the file beside its own.
fn environment(file: &Arc<str>, includes: &mut Includes<'_>) -> Result<HashMap<String, String>, Mistake> {
    let mut all = HashMap::new();
    if file.rsplit('/').next() != Some("apache2.conf") {
        return Ok(all);
    }
    // The bracket makes the name a pattern, so the file may be absent.
    for found in includes.find("envvar[s]", &Place { file: Arc::clone(file), line: 1 })? {
        let file: Arc<str> = found.name.into();
        includes.begin(&file, &found.text)?;
        let lines = found.text.lines().filter_map(|line| line.trim().strip_prefix("export "));
        for (name, value) in lines.filter_map(|line| line.split_once('=')) {
            // `$SUFFIX` is the name of one of several instances; the first instance has no suffix.
            let value = value.trim_matches(['"', '\'']).replace("$SUFFIX", "");
            if !value.contains(['$', '`', ' ']) {
                all.insert(name.to_owned(), value);
            }
        }
        includes.end();
    }
    Ok(all)
}

/// The folder that names of files are relative to.
struct Root {
    folder: Option<String>,
    /// Whether `ServerRoot` names the folder.
    is_said: bool,
}

struct Reader<'i, 'f, 'd> {
    includes: &'i mut Includes<'f>,
    draft: &'d mut Draft,
    defined: HashMap<String, String>,
    /// Whether `defined` has all names that the server is started with.
    knows_start: bool,
    /// Names that are defined in sections whose condition is false.
    passed: HashSet<String>,
    modules: Vec<String>,
    root: Root,
    /// Whether the file is an `.htaccess`.
    is_of_folder: bool,
    count: usize,
}

impl Reader<'_, '_, '_> {
    fn file(&mut self, file: &Arc<str>, text: &str) -> Result<Vec<Line>, Mistake> {
        // The innermost open section comes last; the file itself is the first.
        let mut open: Vec<Line> = vec![Line::top(file)];
        // Whether the condition of each open section was true where the section began; `None`: the section has no
        // condition.
        let mut decided: Vec<Option<bool>> = Vec::new();
        // Apache takes a byte order mark for a part of the first word.
        let text = if self.is_of_folder { text } else { text.trim_start_matches('\u{feff}') };
        for (number, text) in joined(text) {
            let place = Place { file: Arc::clone(file), line: number };
            let wrong = |what: String| Mistake { place: place.clone(), what };
            self.count += 1;
            if self.count > DIRECTIVES_MAX {
                return Err(wrong("there are too many directives".to_owned()));
            }
            let text = self.filled(&text);
            if let Some(name) = text.strip_prefix("</") {
                let name = name.trim_end_matches('>').trim().to_ascii_lowercase();
                let Some(closed) = open.pop().filter(|line| line.name == name && !open.is_empty()) else {
                    return Err(wrong(format!("there is no <{name}> for this end")));
                };
                self.close(closed, decided.pop().flatten(), &mut open);
                continue;
            }
            let line = line(&text, place.clone()).map_err(|what| wrong(what.to_owned()))?;
            if line.is_section {
                if open.len() > DEPTH_MAX {
                    return Err(wrong("sections are nested too deep".to_owned()));
                }
                decided.push(self.holds(&line));
                open.push(line);
            } else {
                // Lines of a section whose condition is false are kept for messages, and have no effect.
                let is_off = decided.contains(&Some(false));
                if is_off && line.name == "define" {
                    self.passed.insert(line.arg(0).to_owned());
                }
                let lines = if is_off { vec![line] } else { self.directive(line)? };
                if let Some(inner) = open.last_mut() {
                    inner.inside.extend(lines);
                }
            }
        }
        match open.pop() {
            Some(top) if open.is_empty() => Ok(top.inside),
            Some(line) => Err(Mistake { what: format!("<{}> has no end", line.name), place: line.place }),
            None => Ok(Vec::new()),
        }
    }

    /// Ends a section. If its condition is decided, the lines in the section take its place, or nothing does.
    fn close(&mut self, mut closed: Line, held: Option<bool>, open: &mut [Line]) {
        let is_doubted = self.is_doubted(&closed);
        let Some(outer) = open.last_mut() else { return };
        match held {
            None => outer.inside.push(closed),
            Some(true) => {
                let lets_in = is_doubted && lets_in(&closed);
                outer.inside.append(&mut closed.inside);
                if lets_in {
                    outer.inside.push(closed.lost(known::IN_DOUBT));
                }
            }
            // The loss of a macro's lines is reported where the macro is used.
            Some(false) if closed.name == "macro" => {}
            // The section is for an Apache without a module, and this module is taken to be present.
            Some(false) if closed.name == "ifmodule" && closed.arg(0).starts_with('!') => {}
            // Only one module runs processes and threads, and sections for the other modules of this kind have no
            // effect.
            Some(false) if closed.name == "ifmodule" && closed.arg(0).starts_with("mpm_") => {}
            Some(false) if closed.name == "ifdefine" && self.is_undefined(closed.arg(0)) => {}
            Some(false) if closed.name == "ifversion" && is_of_old_release(&closed) => {}
            Some(false) if !has_restriction(&closed) => {
                let shown = closed.text.trim_matches(['<', '>']).to_owned();
                let why = "this condition is taken as false, so its section is left out; check whether the condition is false";
                self.draft.lose(&closed.place, &shown, why);
            }
            // Here an additional line would be one more rule, and one rule is enough to let a client in.
            Some(false) if outer.name.starts_with("require") => {
                let shown = closed.text.trim_matches(['<', '>']).to_owned();
                self.draft.refuse_all(&closed.place, &shown, known::WHY_LEFT_OUT);
            }
            Some(false) => outer.inside.push(closed.lost(known::LEFT_OUT)),
        }
    }

    /// Whether a condition that is taken as true may be false: the start of the server may define the name.
    fn is_doubted(&self, section: &Line) -> bool {
        let name = section.arg(0);
        section.name == "ifdefine" && name.strip_prefix('!').is_some_and(|name| !self.is_undefined(name))
    }

    /// Whether a name of `IfDefine` is certainly not defined, or is reported elsewhere.
    fn is_undefined(&self, name: &str) -> bool {
        self.knows_start || self.passed.contains(name)
    }

    /// Whether the condition of a section holds; `None` if it has no condition that can be decided here.
    fn holds(&self, section: &Line) -> Option<bool> {
        let name = section.arg(0);
        let (name, negated) = name.strip_prefix('!').map_or((name, false), |name| (name, true));
        match section.name.as_str() {
            "ifmodule" => {
                let short =
                    name.trim_end_matches(".c").trim_end_matches("_module").trim_start_matches("mod_");
                let there = MODULES.contains(&short) || self.modules.iter().any(|module| module == short);
                Some(there != negated)
            }
            "ifdefine" => Some(self.defined.contains_key(name) != negated),
            // The files are taken to be for releases from 2.4 on.
            "ifversion" => Some(section.arg(0).starts_with('>') && is_before(section.arg(1), 2, 5)),
            // Sections of this kind cannot be decided; if a directive in such a section denies some clients, a message
            // reports it.
            "iffile" | "ifdirective" | "ifsection" | "macro" => Some(false),
            _ => None,
        }
    }

    /// Returns the directive itself, nothing, or the lines of included files.
    fn directive(&mut self, mut line: Line) -> Result<Vec<Line>, Mistake> {
        match line.name.as_str() {
            "loadmodule" | "define" | "undefine" | "serverroot" | "include" | "includeoptional"
                if self.is_of_folder =>
            {
                Ok(vec![line.lost(known::MISPLACED)])
            }
            "loadmodule" => {
                self.modules.push(line.arg(0).trim_end_matches("_module").to_owned());
                Ok(Vec::new())
            }
            "define" => {
                self.defined.insert(line.arg(0).to_owned(), line.arg(1).to_owned());
                Ok(Vec::new())
            }
            "serverroot" => {
                let folder = Some(line.arg(0).trim_end_matches('/').to_owned());
                self.root = Root { folder, is_said: true };
                Ok(Vec::new())
            }
            "undefine" => {
                self.defined.remove(line.arg(0));
                Ok(Vec::new())
            }
            name if RELATIVE.contains(&name) => {
                self.locate(&mut line);
                Ok(vec![line])
            }
            "include" | "includeoptional" => self.include(&line),
            _ => Ok(vec![line]),
        }
    }

    /// Makes the name of a file absolute.
    fn locate(&mut self, line: &mut Line) {
        let Some(first) = line.args.first_mut() else { return };
        if first.starts_with(['/', '|']) || first.starts_with("${") || first.starts_with("syslog") {
            return;
        }
        if let Some(folder) = &self.root.folder {
            *first = format!("{folder}/{first}");
        } else {
            let why =
                "in Apache this name is relative to ServerRoot, and here to the folder of the file of sites";
            self.draft.lose(&line.place, &line.text, why);
        }
    }

    fn include(&mut self, line: &Line) -> Result<Vec<Line>, Mistake> {
        let pattern = match &self.root {
            Root { folder: Some(root), is_said: true } if !line.arg(0).starts_with('/') => {
                format!("{root}/{}", line.arg(0))
            }
            _ => line.arg(0).to_owned(),
        };
        if pattern.contains("${") {
            return Ok(vec![line.lost(known::NOT_INCLUDED)]);
        }
        let found = self.includes.find(&pattern, &line.place);
        let found = if line.name == "includeoptional" { found.unwrap_or_default() } else { found? };
        let mut all = Vec::new();
        for one in found {
            let file: Arc<str> = one.name.into();
            self.includes.begin(&file, &one.text)?;
            all.extend(self.file(&file, &one.text)?);
            self.includes.end();
        }
        Ok(all)
    }

    /// Returns a line with the values of `Define` in the place of `${NAME}`.
    fn filled(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("${") {
            let Some(end) = rest[at..].find('}') else { break };
            let name = &rest[at + 2..at + end];
            out.push_str(&rest[..at]);
            match self.defined.get(name).filter(|value| out.len() + value.len() < LINE_BYTES_MAX) {
                Some(value) => out.push_str(value),
                None => out.push_str(&rest[at..=at + end]),
            }
            rest = &rest[at + end + 1..];
        }
        out + rest
    }
}

/// Whether a section denies some clients, or has a directive without which more would be seen.
fn has_restriction(section: &Line) -> bool {
    section.inside.iter().any(|line| {
        GUARDS.contains(&line.name.as_str())
            || line.name.starts_with("auth") && !line.says(0, "off")
            || leads_away(line)
            || known::restricts(line).is_some()
            || has_restriction(line)
    })
}

/// Directives that deny some clients, or without which clients might see more.
const GUARDS: [&str; 13] = [
    "require",
    "deny",
    "order",
    "satisfy",
    "sethandler",
    "addhandler",
    "requestheader",
    "user",
    "allowoverride",
    "servername",
    "serveralias",
    "sslengine",
    "virtualhost",
];

/// Whether a directive leads to TLS, or answers with an error.
fn leads_away(line: &Line) -> bool {
    const FAMILIES: [&str; 6] = ["redirect", "rewriterule", "proxypass", "alias", "scriptalias", "wsgi"];
    let is_error = |arg: &str| arg.starts_with('4') && arg.len() == 3;
    FAMILIES.iter().any(|front| line.name.starts_with(front))
        && line.args.iter().any(|arg| arg.starts_with("https:") || is_error(arg))
}

/// Whether a section lets some clients in.
fn lets_in(section: &Line) -> bool {
    section.inside.iter().any(|line| match line.name.as_str() {
        "require" => !line.says(1, "denied"),
        "allow" | "satisfy" => true,
        _ => lets_in(line),
    })
}

/// Whether a section is for releases before 2.4 alone.
fn is_of_old_release(section: &Line) -> bool {
    match section.args.as_slice() {
        [sign, release] if sign.starts_with('<') => is_before(release, 2, 5),
        [sign, release] if sign == "=" || sign == "==" => is_before(release, 2, 4),
        [release] => is_before(release, 2, 4),
        _ => false,
    }
}

/// Whether a release comes before `major.minor`, as `2.4.10` before 2.5.
fn is_before(release: &str, major: u32, minor: u32) -> bool {
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    (parts.next().unwrap_or(u32::MAX), parts.next().unwrap_or(0)) < (major, minor)
}

/// Joins each line that ends in a backslash with the next line; leaves out blank lines and comments.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut whole = line.trim_end_matches('\r').to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            match lines.next() {
                Some((_, more)) => whole.push_str(more.trim_end_matches('\r')),
                None => break,
            }
        }
        let whole = whole.trim_matches(is_blank);
        if !whole.is_empty() && !whole.starts_with('#') {
            all.push((number + 1, whole.to_owned()));
        }
    }
    all
}

/// Whether a character separates words; characters beyond ASCII do not.
fn is_blank(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\r' | '\n' | '\u{b}' | '\u{c}')
}

/// Splits a line into its words.
fn line(text: &str, place: Place) -> Result<Line, &'static str> {
    let section = text.strip_prefix('<');
    let body = match section {
        Some(body) => body.strip_suffix('>').ok_or("a > that ends this is missing")?,
        None => text,
    };
    let end = body.find(is_blank).unwrap_or(body.len());
    let name = body[..end].to_ascii_lowercase();
    if name.is_empty() {
        return Err("this section has no name");
    }
    let args = words(&body[end..], name.starts_with("wsgi"))?;
    Ok(Line { name, args, text: text.to_owned(), place, inside: Vec::new(), is_section: section.is_some() })
}

/// Returns the words of a line; a word of a `mod_wsgi` directive may be `name='value with blanks'`.
fn words(text: &str, are_options: bool) -> Result<Vec<String>, &'static str> {
    let mut all = Vec::new();
    let mut signs = text.chars().peekable();
    loop {
        while signs.next_if(|sign| is_blank(*sign)).is_some() {}
        if signs.peek().is_none() {
            return Ok(all);
        }
        let mut word = String::new();
        if !quoted(&mut signs, &mut word)? {
            while let Some(sign) = signs.next_if(|sign| !is_blank(*sign)) {
                word.push(sign);
                if sign == '=' && are_options && quoted(&mut signs, &mut word)? {
                    break;
                }
            }
        }
        all.push(word);
    }
}

/// Takes the text in quotes, if it begins with a quote.
fn quoted(signs: &mut Peekable<Chars<'_>>, word: &mut String) -> Result<bool, &'static str> {
    let Some(first) = signs.next_if(|sign| matches!(sign, '"' | '\'')) else { return Ok(false) };
    loop {
        match signs.next().ok_or("a quote that ends this is missing")? {
            sign if sign == first => return Ok(true),
            // A backslash escapes only the quote, or a backslash in front of one.
            '\\' if signs.peek().is_some_and(|sign| *sign == first || *sign == '\\') => {
                word.extend(signs.next());
            }
            sign => word.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::read;
    use crate::apache::language::line::Line;
    use crate::model::Draft;
    use crate::text::include::{Found, Includes};

    fn parse(text: &str) -> Result<Vec<Line>, String> {
        let mut find = |pattern: &str| -> Result<Vec<Found>, String> {
            let text = if pattern == "loop" { "Include loop" } else { "B 1" };
            Ok(vec![Found { name: pattern.to_owned(), text: text.to_owned() }])
        };
        read(&"x".into(), text, &mut Includes::new(&mut find), &mut Draft::default())
            .map_err(|wrong| wrong.to_string())
    }

    fn flat(all: &[Line]) -> String {
        let one = |line: &Line| {
            let inside = if line.is_section { format!("{{{}}}", flat(&line.inside)) } else { String::new() };
            format!("{}({})@{}{inside}", line.name, line.args.join("|"), line.place.line)
        };
        all.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_and_sections() {
        let cases = [
            ("A b 'c d' \"e\\\"f\"", "a(b|c d|e\"f)@1"),
            ("# c\nA \\\n b", "a(b)@2"),
            ("<A /b>\nC\n</a>", "a(/b)@1{c()@2}"),
            ("<IfModule mod_alias.c>\nC\n</IfModule>\n<IfModule !mod_alias.c>\nD\n</IfModule>", "c()@2"),
            ("LoadModule odd_module x.so\n<IfModule odd_module>\nC\n</IfModule>", "c()@3"),
            ("<IfDefine X>\nC\n</IfDefine>\n<IfVersion >= 2.4>\nD\n</IfVersion>", "d()@5"),
            ("<IfModule !odd.c>\nLoadModule odd_module x.so\nC\n</IfModule>", "c()@3"),
            ("<IfDefine X>\nLoadModule odd_module x.so\n</IfDefine>\n<IfModule odd.c>\nC\n</IfModule>", ""),
            (
                "Define X\n<IfDefine X>\nInclude y\n</IfDefine>\n<IfDefine Y>\nInclude loop\n</IfDefine>",
                "b(1)@1",
            ),
            ("Define X /srv\nA ${X}/a ${Y}", "a(/srv/a|${Y})@2"),
            ("Include y", "b(1)@1"),
            ("<IfVersion 2.2>\nC\n</IfVersion>\n<IfVersion >= 2.9>\nD\n</IfVersion>", ""),
            ("<IfVersion < 2.4>\nDeny from all\n</IfVersion>", ""),
            ("<IfVersion ~ x>\nDeny from all\n</IfVersion>", "(left out)()@1"),
            ("<IfFile /x>\nRequire user a\n</IfFile>", "(left out)()@1"),
            ("<IfDefine !X>\nAllow from all\n</IfDefine>", "allow(from|all)@2 (in doubt)()@1"),
            ("<Macro M $a>\nRequire all denied\n</Macro>\nUse M b", "use(M|b)@4"),
            ("Define X a\nUnDefine X\nA ${X}", "a(${X})@3"),
            ("Include ${X}/y", "(not included)()@1"),
            ("WSGIa b='c d' e", "wsgia(b=c d|e)@1"),
            ("A b='c d'", "a(b='c|d')@1"),
        ];
        for (text, expected) in cases {
            assert_eq!(expected, flat(&parse(text).unwrap()), "{text}");
        }
    }

    #[test]
    fn mistakes() {
        let deep = "<A>\n".repeat(40);
        let cases = [
            ("<A>\nB", "x:1: <a> has no end"),
            ("</A>", "x:1: there is no <a> for this end"),
            ("<A>\n</B>", "x:2: there is no <b> for this end"),
            ("A 'b", "x:1: a quote that ends this is missing"),
            ("<A", "x:1: a > that ends this is missing"),
            ("Include loop", "loop:1: this file includes itself"),
            (&deep, "x:33: sections are nested too deep"),
        ];
        for (text, expected) in cases {
            assert_eq!(Err(expected.to_owned()), parse(text), "{text}");
        }
    }
}
