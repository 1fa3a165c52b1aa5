//! A field of a form as curl's `-F` has it: `NAME=TEXT`, `NAME=@FILE` or `NAME=<FILE`, each with `;type=` and
//! `;filename=` behind it.
//!
//! A text or the name of a file ends at a semicolon, unless it stands in double quotes, as Postman writes it.

use super::options::{Data, FormPart};
use super::rows::file;

const TYPE: &str = "type=";
const FILENAME: &str = "filename=";

/// A part as `-F` has it.
///
/// # Errors
///
/// Half a sentence that says what is wrong.
pub(super) fn part(text: &str) -> Result<FormPart, String> {
    let (name, value) = split(text)?;
    let (mut part, mut rest) = if let Some(path) = value.strip_prefix('@') {
        let (path, rest) = word(path)?;
        (FormPart::new(name, Data::File(file(&path)?)), rest)
    } else if let Some(path) = value.strip_prefix('<') {
        // The file's content is sent as a text, without a file name.
        let (path, rest) = word(path)?;
        (FormPart { filename: None, ..FormPart::new(name, Data::File(file(&path)?)) }, rest)
    } else {
        let (text, rest) = word(value)?;
        (FormPart::new(name, Data::Text(text)), rest)
    };
    while !rest.is_empty() {
        let parameter = rest.trim_start_matches(';').trim_start();
        let (place, (found, behind)) = if let Some(found) = parameter.strip_prefix(TYPE) {
            (&mut part.media_type, media_type(found))
        } else if let Some(found) = parameter.strip_prefix(FILENAME) {
            (&mut part.filename, word(found)?)
        } else {
            return Err(format!(
                "{parameter} is not understood; put a text that has semicolons into double quotes"
            ));
        };
        *place = Some(found);
        rest = behind;
    }
    Ok(part)
}

/// A part as `--form-string` has it: all of it is text.
///
/// # Errors
///
/// Half a sentence that says what is wrong.
pub(super) fn text_part(text: &str) -> Result<FormPart, String> {
    let (name, value) = split(text)?;
    Ok(FormPart::new(name, Data::Text(value.to_owned())))
}

fn split(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| "write NAME=TEXT or NAME=@FILE".to_owned())
}

/// Splits off a word, and returns it with the rest. The word ends at a semicolon, or stands in quotes; inside quotes, a
/// backslash escapes quotes and backslashes.
fn word(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
        return Ok((word.to_owned(), rest));
    };
    let mut word = String::new();
    let mut letters = quoted.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((word, &quoted[at + 1..])),
            '\\' => {
                let escaped = letters.next_if(|(_, next)| ['"', '\\'].contains(next));
                word.push(escaped.map_or('\\', |(_, next)| next));
            }
            _ => word.push(letter),
        }
    }
    Err("the quotes have no end".to_owned())
}

/// Splits off a media type, which may have parameters of its own, and returns it with the rest.
fn media_type(text: &str) -> (String, &str) {
    let ends = text.match_indices(';').map(|(at, _)| at);
    let end = ends.into_iter().find(|at| text[at + 1..].trim_start().starts_with(FILENAME));
    let (found, rest) = text.split_at(end.unwrap_or(text.len()));
    (found.to_owned(), rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    /// The value, the name of the file and the type.
    fn of(text: &str) -> (Data, Option<String>, Option<String>) {
        let FormPart { value, filename, media_type, .. } = part(text).unwrap();
        (value, filename, media_type)
    }

    #[test]
    fn files_have_names_and_types() {
        let file = |path: &str, name: Option<&str>, media_type: Option<&str>| {
            (Data::File(path.into()), name.map(str::to_owned), media_type.map(str::to_owned))
        };

        assert_eq!(file("a/cat.jpg", Some("cat.jpg"), None), of("f=@a/cat.jpg"));
        assert_eq!(
            file("c.jpg", Some("x.png"), Some("image/png")),
            of("f=@c.jpg;type=image/png;filename=x.png")
        );
        assert_eq!(
            file("a;b", Some("x;y"), Some("text/plain; charset=utf-8")),
            of("f=@\"a;b\"; filename=\"x;y\";type=text/plain; charset=utf-8")
        );
        assert_eq!(file("a", None, None), of("f=<a"));
    }

    #[test]
    fn texts_end_at_a_semicolon_unless_quoted() {
        let text = |text: &str, media_type: Option<&str>| {
            (Data::Text(text.to_owned()), None, media_type.map(str::to_owned))
        };

        assert_eq!(text("{}", Some("application/json")), of("a={};type=application/json"));
        assert_eq!(text("b \"c\" \\d\\", None), of(r#"a="b \"c\" \d\\""#));
        assert_eq!(Data::Text("b;c=@d".to_owned()), text_part("a=b;c=@d").unwrap().value);
        for wrong in ["a", "a=b;c", "a=\"b", "a=\"b\"c", "a=@", "a=@;type=b/c"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }
}
