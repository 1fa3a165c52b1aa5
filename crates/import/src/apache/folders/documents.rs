//! `ErrorDocument` in the file of a folder.

use crate::apache::language::line::Line;
use crate::rules::folder_lines::{Document, ErrorDocument};

/// Splits off the lines with pages for errors, and returns the pages and the other lines. The last line for a status
/// counts.
pub(crate) fn take(lines: &[Line]) -> (Vec<ErrorDocument>, Vec<Line>) {
    let mut documents: Vec<ErrorDocument> = Vec::new();
    let mut others = Vec::new();
    for line in lines {
        if line.name != "errordocument" {
            others.push(line.clone());
            continue;
        }
        let status = line.arg(0).parse().ok().filter(|status| (400..600).contains(status));
        if status.is_some() {
            documents.retain(|earlier| earlier.status != status || earlier.document == Document::Malformed);
        }
        let (place, text) = (line.place.clone(), line.text.clone());
        documents.push(ErrorDocument { place, text, status, document: document(line) });
    }
    (documents, others)
}

/// Returns the kind of document that Apache takes the second word for.
fn document(line: &Line) -> Document {
    let [_, word] = line.args.as_slice() else { return Document::Malformed };
    if word.eq_ignore_ascii_case("default") {
        Document::Default
    } else if word.contains(' ') {
        Document::Text(word.clone())
    } else if word.starts_with('/') {
        Document::Path(word.clone())
    } else if is_url(word) {
        Document::Url
    } else {
        Document::Text(word.clone())
    }
}

/// Whether a word begins with a scheme.
fn is_url(word: &str) -> bool {
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    word.split_once(':').is_some_and(|(scheme, _)| !scheme.is_empty() && scheme.bytes().all(is_of_scheme))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::take;
    use crate::apache::language::lex;
    use crate::model::Draft;
    use crate::rules::folder_lines::Document::{self, Default, Malformed, Path, Text, Url};
    use crate::text::include::Includes;

    /// Statuses with their documents, and how many lines are left.
    type Taken = (Vec<(Option<u16>, Document)>, usize);

    fn read(text: &str) -> Result<Taken, String> {
        let mut include = |_: &str| Err("none".to_owned());
        let mut includes = Includes::new(&mut include);
        let file: Arc<str> = ".htaccess".into();
        let lines = lex::read(&file, text, &mut includes, &mut Draft::default());
        let (documents, others) = take(&lines.map_err(|mistake| mistake.to_string())?);
        Ok((documents.into_iter().map(|one| (one.status, one.document)).collect(), others.len()))
    }

    /// Each case is the lines of a folder's file, the documents, and how many lines are left.
    #[test]
    fn lines() {
        for (text, expected, left) in [
            ("ErrorDocument 404 /a.html", vec![(Some(404), Path("/a.html".to_owned()))], 0),
            ("errordocument 404 a.html", vec![(Some(404), Text("a.html".to_owned()))], 0),
            ("ErrorDocument 403 \"Not you: x\"", vec![(Some(403), Text("Not you: x".to_owned()))], 0),
            ("ErrorDocument 403 \"/not you\"", vec![(Some(403), Text("/not you".to_owned()))], 0),
            ("ErrorDocument 403 \"/no\"", vec![(Some(403), Path("/no".to_owned()))], 0),
            ("ErrorDocument 500 DEFAULT", vec![(Some(500), Default)], 0),
            ("ErrorDocument 500 https://a.example/", vec![(Some(500), Url)], 0),
            ("ErrorDocument 500 mailto:a", vec![(Some(500), Url)], 0),
            ("ErrorDocument 500 :a", vec![(Some(500), Text(":a".to_owned()))], 0),
            ("ErrorDocument 403 Not you", vec![(Some(403), Malformed)], 0),
            ("ErrorDocument 403", vec![(Some(403), Malformed)], 0),
            ("ErrorDocument 200 /a", vec![(None, Path("/a".to_owned()))], 0),
            ("ErrorDocument 600 /a\nErrorDocument x /a", vec![(None, Path("/a".to_owned())); 2], 0),
            (
                "ErrorDocument 404 /a\nErrorDocument 403 /b\nErrorDocument 404 default",
                vec![(Some(403), Path("/b".to_owned())), (Some(404), Default)],
                0,
            ),
            (
                "ErrorDocument 404\nErrorDocument 404 default",
                vec![(Some(404), Malformed), (Some(404), Default)],
                0,
            ),
            ("<Files x>\nErrorDocument 404 /a\n</Files>\nRequire all denied", Vec::new(), 2),
        ] {
            assert_eq!(Ok((expected, left)), read(text), "{text}");
        }
    }
}
