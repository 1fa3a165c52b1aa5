//! Directives that an `.htaccess` may contain: for any other directive in it, Apache answers all requests for the
//! folder with an error.

use crate::apache::language::known;
use crate::apache::language::line::Line;

/// Whether a file is a folder's own `.htaccess`, by its name.
pub(crate) fn is_of_folder(file: &str) -> bool {
    file.rsplit('/').next() == Some(".htaccess")
}

/// Returns the number of the first line with a control character in it, and the character. A tab is allowed, and so is
/// a carriage return at the end of a line.
pub(crate) fn control(text: &str) -> Option<(usize, char)> {
    let wrong = |sign: &char| sign.is_control() && *sign != '\t';
    let each = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    each.zip(1..).find_map(|(line, number)| line.chars().find(wrong).map(|sign| (number, sign)))
}

/// Moves lines that an `.htaccess` may not contain to the end, also out of sections: each such line denies everybody.
pub(crate) fn sift(lines: Vec<Line>) -> Vec<Line> {
    let mut wrong = Vec::new();
    let mut all = keep(lines, &mut wrong);
    all.append(&mut wrong);
    all
}

/// Returns the lines that an `.htaccess` may contain; adds the others to `wrong`.
fn keep(lines: Vec<Line>, wrong: &mut Vec<Line>) -> Vec<Line> {
    let mut kept = Vec::new();
    for mut line in lines {
        if let Some(name) = fault(&line) {
            wrong.push(line.lost(name));
            continue;
        }
        line.inside = keep(line.inside, wrong);
        kept.push(line);
    }
    kept
}

/// Returns the name for the fault of a line that an `.htaccess` may not contain; `None` if the line is allowed.
fn fault(line: &Line) -> Option<&'static str> {
    let name = line.name.as_str();
    if line.is_section {
        if SECTIONS.contains(&name) {
            return None;
        }
        return Some(if ELSEWHERE.contains(&name) { known::MISPLACED } else { known::UNKNOWN });
    }
    // A line that stands for a loss denies everybody already.
    if name.starts_with('(') || is_allowed(name) {
        return None;
    }
    if known::is_known(name) {
        return Some(known::MISPLACED);
    }
    known::restricts(line).is_none().then_some(known::UNKNOWN)
}

/// Whether a directive may stand in the file of a folder, by its name.
fn is_allowed(name: &str) -> bool {
    let is_of = |families: &[&str]| families.iter().any(|front| name.starts_with(front));
    DIRECTIVES.contains(&name) || is_of(&FAMILIES) && !NOT_OF_FAMILY.contains(&name)
}

/// Sections that may stand in an `.htaccess`. Sections with a decided condition have been resolved before.
const SECTIONS: [&str; 10] = [
    "else",
    "elseif",
    "files",
    "filesmatch",
    "if",
    "limit",
    "limitexcept",
    "requireall",
    "requireany",
    "requirenone",
];

/// Sections that may stand only in the server's own file.
const ELSEWHERE: [&str; 10] = [
    "authnprovideralias",
    "authzprovideralias",
    "directory",
    "directorymatch",
    "location",
    "locationmatch",
    "macro",
    "proxy",
    "proxymatch",
    "virtualhost",
];

/// Beginnings of the names of directives that may stand in an `.htaccess`.
const FAMILIES: [&str; 14] = [
    "anonymous",
    "authbasic",
    "authdb",
    "authdigest",
    "authldap",
    "cookie",
    "filter",
    "imap",
    "index",
    "meta",
    "python",
    "session",
    "ssi",
    "substitute",
];

/// Names with a beginning of `FAMILIES` that nevertheless may stand only in the server's own file.
const NOT_OF_FAMILY: [&str; 8] = [
    "authdigestnccheck",
    "authdigestshmemsize",
    "filtertrace",
    "pythonconnectionhandler",
    "pythonimport",
    "pythonpostreadrequesthandler",
    "pythontranshandler",
    "ssiendtag",
];

/// Directives whose description in Apache's manual says `Context: .htaccess`, without the families.
const DIRECTIVES: [&str; 126] = [
    "acceptpathinfo",
    "action",
    "addalt",
    "addaltbyencoding",
    "addaltbytype",
    "addcharset",
    "adddefaultcharset",
    "adddescription",
    "addencoding",
    "addhandler",
    "addicon",
    "addiconbyencoding",
    "addiconbytype",
    "addinputfilter",
    "addlanguage",
    "addoutputfilter",
    "addoutputfilterbytype",
    "addtype",
    "allow",
    "authgroupfile",
    "authmerging",
    "authname",
    "authncacheprovidefor",
    "authncachetimeout",
    "authtype",
    "authuserfile",
    "authzdbmtype",
    "authzsendforbiddenonfailure",
    "browsermatch",
    "browsermatchnocase",
    "cachedisable",
    "cgimapextension",
    "cgipassauth",
    "cgivar",
    "charsetdefault",
    "charsetoptions",
    "charsetsourceenc",
    "checkcaseonly",
    "checkspelling",
    "contentdigest",
    "defaulticon",
    "defaultlanguage",
    "defaulttype",
    "deflateinflatelimitrequestbody",
    "deflateinflateratioburst",
    "deflateinflateratiolimit",
    "deny",
    "directorycheckhandler",
    "directoryindex",
    "directoryindexredirect",
    "directoryslash",
    "enablemmap",
    "enablesendfile",
    "error",
    "errordocument",
    "expiresactive",
    "expiresbytype",
    "expiresdefault",
    "fallbackresource",
    "fancyindexing",
    "fileetag",
    "forcelanguagepriority",
    "forcetype",
    "header",
    "headername",
    "languagepriority",
    "limitrequestbody",
    "limitxmlrequestbody",
    "multiviewsmatch",
    "options",
    "order",
    "passenv",
    "readmename",
    "redirect",
    "redirectmatch",
    "redirectpermanent",
    "redirecttemp",
    "removecharset",
    "removeencoding",
    "removehandler",
    "removeinputfilter",
    "removelanguage",
    "removeoutputfilter",
    "removetype",
    "requestheader",
    "require",
    "rewritebase",
    "rewritecond",
    "rewriteengine",
    "rewriteoptions",
    "rewriterule",
    "rlimitcpu",
    "rlimitmem",
    "rlimitnproc",
    "satisfy",
    "serversignature",
    "setenv",
    "setenvif",
    "setenvifexpr",
    "setenvifnocase",
    "sethandler",
    "setinputfilter",
    "setoutputfilter",
    "sslciphersuite",
    "ssloptions",
    "sslrenegbuffersize",
    "sslrequire",
    "sslrequiressl",
    "sslusername",
    "sslverifyclient",
    "sslverifydepth",
    "unsetenv",
    "wsgiaccessscript",
    "wsgiapplicationgroup",
    "wsgiauthgroupscript",
    "wsgiauthuserscript",
    "wsgicallableobject",
    "wsgicasesensitivity",
    "wsgienablesendfile",
    "wsgierroroverride",
    "wsgigroupauthoritative",
    "wsgipassauthorization",
    "wsgiprocessgroup",
    "wsgiscriptreloading",
    "wsgiuserauthoritative",
    "xbithack",
];

#[cfg(test)]
mod tests {
    use super::{control, fault};
    use crate::apache::language::line::Line;
    use crate::model::Place;

    #[test]
    fn what_may_stand_there() {
        let place = Place { file: "x".into(), line: 1 };
        let cases = [
            ("require", false, None),
            ("require", true, Some("(unknown)")),
            ("files", true, None),
            ("files", false, Some("(unknown)")),
            ("directory", true, Some("(misplaced)")),
            ("virtualhost", true, Some("(misplaced)")),
            ("virtualhost", false, Some("(unknown)")),
            ("scriptalias", false, Some("(misplaced)")),
            ("documentroot", false, Some("(misplaced)")),
            ("proxypass", false, Some("(misplaced)")),
            ("rewritemap", false, Some("(misplaced)")),
            ("authdigestqop", false, None),
            ("authdigestshmemsize", false, Some("(misplaced)")),
            ("requir", false, Some("(unknown)")),
            ("\u{feff}require", false, Some("(unknown)")),
            // The name looks like a restriction, so another check reports it.
            ("modguard", false, None),
            ("(left out)", false, None),
        ];
        for (name, is_section, expected) in cases {
            let line = Line { name: name.to_owned(), is_section, ..Line::lost_at("", name, &place) };

            assert_eq!(expected, fault(&line), "{name}");
        }
    }

    #[test]
    fn control_characters() {
        let cases = [
            ("a\tb\r\nc\r\n", None),
            ("a\nb\r c\n", Some((2, '\r'))),
            ("a\0", Some((1, '\0'))),
            ("a\r\r\n", Some((1, '\r'))),
            ("\u{c}", Some((1, '\u{c}'))),
            ("\n\n# \u{1b}[0m", Some((3, '\u{1b}'))),
            ("\u{85}", Some((1, '\u{85}'))),
        ];
        for (text, expected) in cases {
            assert_eq!(expected, control(text), "{text:?}");
        }
    }
}
