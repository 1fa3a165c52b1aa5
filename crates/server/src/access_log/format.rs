//! The format of a line: read once, as a list of steps.

use adyton_http::Known;
use adyton_log::stamp::Stamp;

use super::record::Record;
use super::step::FormatStep;
use super::{json, line};

/// The way in which a line is made.
#[derive(Debug)]
pub(super) enum Format {
    /// Each of these steps writes its part, one after the other.
    Steps(Vec<FormatStep>),
    /// As one JSON object.
    Json,
}

impl Format {
    /// Reads `common`, `combined`, `json`, or atoms.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong, and where.
    pub(super) fn read(format: &str) -> Result<Self, String> {
        match format {
            "json" => Ok(Self::Json),
            "common" => read_steps(COMMON).map(Self::Steps),
            "combined" => read_steps(COMBINED).map(Self::Steps),
            atoms => read_steps(atoms).map(Self::Steps),
        }
    }

    /// Appends one line with its end.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>, record: &Record<'_>, stamp: &Stamp) {
        match self {
            Self::Steps(steps) => line::write(out, steps, record, stamp),
            Self::Json => json::write(out, record, stamp),
        }
    }
}

/// Reads `format`; the steps end with a line feed.
fn read_steps(format: &str) -> Result<Vec<FormatStep>, String> {
    if format.len() > FORMAT_BYTES_MAX {
        return Err(format!("the access log format is longer than {FORMAT_BYTES_MAX} bytes"));
    }
    if !format.contains('%') {
        return Err(format!(
            "the access log format \"{}\" is neither common, combined nor json, and has no atom such as %h",
            format.escape_debug()
        ));
    }
    let mut steps = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find(['%', '\\']) {
        push(&mut steps, FormatStep::Text(rest[..at].into()));
        let (sign, behind) = (&rest[at..=at], &rest[at + 1..]);
        let read = if sign == "%" { read_atom(behind) } else { read_escape(behind) };
        let (step, bytes) = read.map_err(|fault| {
            let position = format[..format.len() - behind.len()].chars().count();
            format!("{fault}, at character {position} of the access log format")
        })?;
        push(&mut steps, step);
        rest = &behind[bytes..];
    }
    push(&mut steps, FormatStep::Text(rest.into()));
    push(&mut steps, FormatStep::Text("\n".into()));
    Ok(steps)
}

/// Appends `step`; neighbouring pieces of text become one.
fn push(steps: &mut Vec<FormatStep>, step: FormatStep) {
    match (steps.last_mut(), step) {
        (Some(FormatStep::Text(last)), FormatStep::Text(text)) => last.extend_from_slice(&text),
        (_, FormatStep::Text(text)) if text.is_empty() => {}
        (_, step) => steps.push(step),
    }
}

/// Reads the text behind a `%`; returns the step and its length in bytes.
fn read_atom(behind: &str) -> Result<(FormatStep, usize), String> {
    if let Some(named) = behind.strip_prefix('{') {
        let Some((name, kind)) = named.split_once('}') else {
            return Err("%{ has no closing brace".to_owned());
        };
        return match kind.chars().next() {
            Some('i') => Ok((field(name)?, "{}i".len() + name.len())),
            Some('P') if name == "group" => {
                Ok((FormatStep::Text(adyton_log::group().unwrap_or("-").into()), "{group}P".len()))
            }
            kind => Err(unknown(&format!("{{{name}}}{}", kind.map(String::from).unwrap_or_default()))),
        };
    }
    if behind.starts_with(">s") {
        return Ok((FormatStep::Status, ">s".len()));
    }
    let Some(atom) = behind.chars().next() else {
        return Err("% stands alone; write %% for a percent sign".to_owned());
    };
    let step = match atom {
        '%' => FormatStep::Text("%".into()),
        'l' => FormatStep::Text("-".into()),
        'u' => FormatStep::User,
        'P' => FormatStep::Text(std::process::id().to_string().into()),
        'h' | 'a' => FormatStep::Client,
        't' => FormatStep::Time,
        'r' => FormatStep::RequestLine,
        'm' => FormatStep::Method,
        'U' => FormatStep::Path,
        'q' => FormatStep::Query,
        'H' => FormatStep::Protocol,
        's' => FormatStep::Status,
        'B' => FormatStep::Bytes,
        'b' => FormatStep::BytesOrDash,
        'D' => FormatStep::Microseconds,
        'T' => FormatStep::Seconds,
        'L' => FormatStep::Id,
        'v' => FormatStep::Site,
        _ => return Err(unknown(&atom.to_string())),
    };
    Ok((step, atom.len_utf8()))
}

/// Returns the step that writes a field of the request.
fn field(name: &str) -> Result<FormatStep, String> {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token_byte) {
        return Err(format!("%{{{}}}i does not name a field", name.escape_debug()));
    }
    match Known::find(name.as_bytes()) {
        Known::Authorization | Known::Cookie | Known::ProxyAuthorization => Err(secret(name)),
        Known::Other if name.eq_ignore_ascii_case("Set-Cookie") => Err(secret(name)),
        Known::Other => Ok(FormatStep::OtherField(name.to_owned())),
        known => Ok(FormatStep::Field(known)),
    }
}

fn secret(name: &str) -> String {
    format!("%{{{name}}}i is refused: the field holds credentials, which must not get into a log")
}

fn unknown(atom: &str) -> String {
    format!("%{} is not known (known are {ATOMS})", atom.escape_debug())
}

/// Reads the text behind a backslash; returns the step and its length in bytes.
fn read_escape(behind: &str) -> Result<(FormatStep, usize), String> {
    let text = match behind.chars().next() {
        Some('n') => "\n",
        Some('t') => "\t",
        Some('"') => "\"",
        Some('\\') => "\\",
        Some(other) => {
            return Err(format!(r#"\{} is not known (known are \n, \t, \" and \\)"#, other.escape_debug()));
        }
        None => return Err(r"\ stands alone; write \\ for a backslash".to_owned()),
    };
    Ok((FormatStep::Text(text.into()), 1))
}

/// Atoms that [`read_atom`] knows, for the message about an unknown one.
const ATOMS: &str = "%h %a %l %u %t %r %m %U %q %H %s %>s %b %B %D %T %P %{group}P %v %L %{Name}i %%";

/// The common log format, which began with NCSA httpd.
const COMMON: &str = r#"%h %l %u %t "%r" %>s %b"#;
const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#;

/// Bounds the work and the length of a line; the longest format in Apache's manual has 80 bytes.
const FORMAT_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a format that is not read here is a failed test")]

    use super::*;

    /// The common format becomes as few steps as it can.
    #[test]
    fn text_is_joined() {
        let text = |text: &str| FormatStep::Text(text.into());
        let expected = vec![
            FormatStep::Client,
            text(" - "),
            FormatStep::User,
            text(" "),
            FormatStep::Time,
            text(" \""),
            FormatStep::RequestLine,
            text("\" "),
            FormatStep::Status,
            text(" "),
            FormatStep::BytesOrDash,
            text("\n"),
        ];

        assert_eq!(expected, read_steps(COMMON).unwrap());
        assert_eq!(vec![text("%a\t\n\"\\ü-\n")], read_steps(r#"%%a\t\n\"\\ü%l"#).unwrap());
    }

    #[test]
    fn wrong_formats_are_refused_with_the_place() {
        for (format, expected) in [
            ("", "neither common, combined nor json"),
            ("comon", "\"comon\" is neither common"),
            ("Combined", "\"Combined\" is neither"),
            ("%h %O", "%O is not known (known are %h %a"),
            ("%h %O", ", at character 4 of the access log format"),
            ("ü%é", "%é is not known"),
            ("ü%é", ", at character 2 of"),
            ("%<s", "%< is not known"),
            ("%>b", "%> is not known"),
            ("%400i", "%4 is not known"),
            ("%{Host}o", "%{Host}o is not known"),
            ("%{pid}P", "%{pid}P is not known"),
            ("%{Host}", "%{Host} is not known"),
            ("%{Host", "%{ has no closing brace"),
            ("%{}i", "%{}i does not name a field"),
            ("%{A b}i", "%{A b}i does not name a field"),
            ("%{A:}i", "%{A:}i does not name a field"),
            ("%h %", "% stands alone; write %%"),
            (r"%h \x", r"\x is not known"),
            (r"%h \", r"\ stands alone"),
            ("%{Cookie}i", "%{Cookie}i is refused: the field holds credentials"),
            ("%{set-cookie}i", "%{set-cookie}i is refused"),
            ("%{AUTHORIZATION}i", "%{AUTHORIZATION}i is refused"),
            ("%h %{Proxy-Authorization}i", "at character 4 of"),
        ] {
            let sentence = Format::read(format).unwrap_err();

            assert!(sentence.contains(expected), "{format}: {sentence}");
        }
    }

    #[test]
    fn a_format_has_a_limit() {
        assert!(Format::read(&"%".repeat(FORMAT_BYTES_MAX)).is_ok());
        assert!(Format::read(&"%".repeat(FORMAT_BYTES_MAX + 2)).unwrap_err().contains("1024 bytes"));
    }

    #[test]
    fn every_atom_that_is_offered_is_known() {
        for atom in ATOMS.split(' ') {
            assert!(Format::read(atom).is_ok(), "{atom}");
        }
    }
}
