//! Text that fits onto a terminal: lines that the terminal need not wrap, and lists that leave room for each other.

use adyton_sys::terminal::Size;

/// A list with its titles; only as many of its rows are shown as there is room for.
pub(crate) struct Section {
    titles: Vec<String>,
    rows: Vec<String>,
    /// Rows that are shown at most.
    most: usize,
}

impl Section {
    /// Makes a list; without rows it has no titles either.
    pub(crate) fn new(titles: Vec<String>, rows: Vec<String>, most: usize) -> Self {
        Self { titles: if rows.is_empty() { Vec::new() } else { titles }, rows, most }
    }

    /// Returns how many lines the list takes if there is room.
    fn wanted(&self) -> usize {
        self.titles.len() + self.rows.len().min(self.most.saturating_add(1))
    }

    /// Returns at most `lines` lines, the last of which says how many rows are missing.
    fn cut(mut self, lines: usize) -> Vec<String> {
        let room = lines.saturating_sub(self.titles.len());
        if room == 0 {
            return Vec::new();
        }
        let shown = self.rows.len().min(self.most);
        if shown < self.rows.len() || room < shown {
            let hidden = self.rows.split_off(shown.min(room - 1));
            self.rows.push(format!("... and {} more", hidden.len()));
        }
        self.titles.append(&mut self.rows);
        self.titles
    }
}

/// Returns a picture for a terminal of this size: the whole text, and below it as much of each list as there is room
/// for.
pub(crate) fn picture(text: &str, sections: Vec<Section>, size: Size) -> String {
    // The cursor stands on a line of its own.
    let room = size.rows.saturating_sub(1);
    let mut lines: Vec<String> = text.lines().flat_map(|line| wrapped(line, size.columns)).collect();
    let wanted: Vec<usize> = sections.iter().map(Section::wanted).collect();
    let given = shares(&wanted, room.saturating_sub(lines.len()));
    lines.extend(sections.into_iter().zip(given).flat_map(|(section, lines)| section.cut(lines)));
    lines.iter().take(room).map(|line| cut(line, size.columns) + "\n").collect()
}

/// Divides the room: the smallest list gets all lines that it wants if these are no more than a fair share, then the
/// next larger list.
fn shares(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&at| wanted[at]);
    let (mut given, mut room) = (vec![0; wanted.len()], room);
    for (before, at) in order.into_iter().enumerate() {
        given[at] = wanted[at].min(room / (wanted.len() - before));
        room -= given[at];
    }
    given
}

/// Breaks a line of text into several, behind commas and semicolons.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in line.split_inclusive([',', ';']) {
        match lines.last_mut() {
            Some(last) if width(last) + width(part) <= columns => last.push_str(part),
            _ => lines.push(part.trim_start().to_owned()),
        }
    }
    lines
}

/// Returns the beginning of a line that is too long.
fn cut(line: &str, columns: usize) -> String {
    const MORE: &str = "...";

    if width(line) <= columns {
        return line.to_owned();
    }
    let mut used = MORE.len();
    let fits = |character: &char| {
        used += width_of(*character);
        used <= columns
    };
    line.chars().take_while(fits).chain(MORE.chars()).take(columns).collect()
}

/// Returns the columns that a text takes at most.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// Returns the columns of a character: two from U+0300 on, where combining marks and East Asian scripts are, because
/// only a terminal's own table tells their width.
fn width_of(character: char) -> usize {
    if character < '\u{300}' { 1 } else { 2 }
}

/// Returns a text from outside without characters that would move the cursor or reorder the shown text.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => out.push(character),
            _ => out.extend(character.escape_debug()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use adyton_sys::terminal::Size;

    use super::{Section, cut, picture, printable, shares, width, wrapped};

    fn section(rows: usize, most: usize) -> Section {
        Section::new(vec![String::new(), "title".to_owned()], vec!["row".to_owned(); rows], most)
    }

    /// A list says how many rows are missing, for want of room or because there are too many; a list without rows is
    /// left out.
    #[test]
    fn lists() {
        for (rows, most, lines, shown, last) in [
            (3, 10, 100, 5, "row"),
            (3, 10, 5, 5, "row"),
            (3, 10, 4, 4, "... and 2 more"),
            (3, 10, 3, 3, "... and 3 more"),
            (3, 10, 2, 0, ""),
            (30, 10, 100, 13, "... and 20 more"),
            (30, 10, 13, 13, "... and 20 more"),
            (30, 10, 12, 12, "... and 21 more"),
            (30, usize::MAX, 100, 32, "row"),
            (0, 10, 100, 0, ""),
        ] {
            let found = section(rows, most).cut(lines);

            assert_eq!(
                (shown, last),
                (found.len(), found.last().map_or("", String::as_str)),
                "{rows} {lines}"
            );
        }
        assert_eq!(
            [13, 32, 0],
            [(30, 10), (30, usize::MAX), (0, 10)].map(|(n, most)| section(n, most).wanted())
        );
    }

    /// Small lists are shown whole, the others share the rest of the room, and no room is lost.
    #[test]
    fn room() {
        assert_eq!(vec![3, 2, 0], shares(&[3, 2, 0], 100));
        assert_eq!(vec![10, 4, 6], shares(&[30, 4, 6], 20));
        assert_eq!(vec![8, 4, 8], shares(&[30, 4, 30], 20));
        assert_eq!(vec![0, 0, 0], shares(&[30, 4, 30], 0));
    }

    /// No line is longer than the terminal is wide, and there are no more lines than it has rows.
    #[test]
    fn pictures() {
        for (columns, rows) in [(80, 24), (60, 24), (20, 10), (1, 1), (0, 0), (300, 200)] {
            let text = picture(
                "a headline, \u{b5}s, and some, more words\nsecond",
                vec![section(50, 99)],
                Size { columns, rows },
            );

            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            assert!(text.lines().count() < rows.max(1), "{text}");
            assert_eq!(rows > 9, text.starts_with("a headline"), "{text}");
        }
    }

    #[test]
    fn lines() {
        assert_eq!(vec!["one, 2;", "three,", "fourteen 14"], wrapped("one, 2; three, fourteen 14", 9));
        assert_eq!(
            ["whole", "ab...", "..."],
            [("whole", 5), ("abcdef", 5), ("abcdef", 3)].map(|(line, n)| cut(line, n))
        );
        assert_eq!("\u{65e5}...", cut("\u{65e5}\u{672c}\u{8a9e}", 5));
        assert_eq!("/a\"\\u{1b}[2J\\u{202e}\u{e4}", printable("/a\"\u{1b}[2J\u{202e}\u{e4}"));
    }
}
