//! A line of httpd.conf: a directive, or a section with its lines.

use std::sync::Arc;

use crate::model::Place;

/// A directive, or a section with its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The name in small letters; the name of a section has no bracket.
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    /// The line as written.
    pub(crate) text: String,
    pub(crate) place: Place,
    pub(crate) inside: Vec<Line>,
    pub(crate) is_section: bool,
}

impl Line {
    pub(crate) fn arg(&self, number: usize) -> &str {
        self.args.get(number).map_or("", String::as_str)
    }

    /// Returns a line that stands for the loss of this one; `name` says why.
    pub(crate) fn lost(&self, name: &str) -> Line {
        Line::lost_at(name, self.text.trim_matches(['<', '>']), &self.place)
    }

    /// Returns a line that denies everybody: a lost restriction.
    pub(crate) fn lost_at(name: &str, text: &str, place: &Place) -> Line {
        Line {
            name: name.to_owned(),
            args: Vec::new(),
            text: text.to_owned(),
            place: place.clone(),
            inside: Vec::new(),
            is_section: false,
        }
    }

    /// Returns the first word, as it was written.
    pub(crate) fn name_as_written(&self) -> &str {
        self.text.split_whitespace().next().unwrap_or_default()
    }

    /// Whether an argument is this word, in any case.
    pub(crate) fn says(&self, number: usize, word: &str) -> bool {
        self.arg(number).eq_ignore_ascii_case(word)
    }

    /// Returns the section around the lines of a file.
    pub(super) fn top(file: &Arc<str>) -> Line {
        let place = Place { file: Arc::clone(file), line: 1 };
        Line {
            name: String::new(),
            args: Vec::new(),
            text: String::new(),
            place,
            inside: Vec::new(),
            is_section: true,
        }
    }
}
