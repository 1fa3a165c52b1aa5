//! Lines of a terminal: sentences are broken between words, and cells line up.

/// Returns a name in a column of its own, and beside it the text, broken between words into lines of at most `columns`.
/// A word that is longer than a line, such as a URL, stays whole.
pub(crate) fn entry(name: &str, indent: usize, text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut line = format!("{name:indent$}");
    let mut has_word = false;
    for word in text.split_whitespace() {
        if has_word && width(&line) + 1 + width(word) > columns {
            out += &line;
            out.push('\n');
            (line, has_word) = (" ".repeat(indent), false);
        }
        if has_word {
            line.push(' ');
        }
        line += word;
        has_word = true;
    }
    out + &line + "\n"
}

/// Aligns the cells of rows to the right of their columns, but the cells of the column `left` to the left.
pub(crate) fn grid(rows: &[Vec<String>], left: usize) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of_column = |column: usize| {
        rows.iter().filter_map(move |row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(of_column).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column == left { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Appends blanks to numbers that have fewer decimals than others, so that the decimal points line up in a column that
/// is aligned to the right.
pub(crate) fn aligned(numbers: Vec<String>) -> Vec<String> {
    let behind = |number: &str| number.find('.').map_or(0, |point| number.len() - point);
    let most = numbers.iter().map(|number| behind(number)).max().unwrap_or(0);
    numbers.into_iter().map(|number| format!("{number}{}", " ".repeat(most - behind(&number)))).collect()
}

/// Returns how many columns of a terminal the text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words() {
        assert_eq!("server  one two\n        three\n", entry("server", 8, "one two three", 15));
        assert_eq!("server  one two\n        three\n", entry("server", 8, "one two three", 16));
        assert_eq!("http://long/url\nx\n", entry("", 0, "http://long/url x", 4));
    }

    #[test]
    fn cells_stand_below_one_another() {
        let rows = [["ms", "service"], ["p99.9", "1.000"], ["max", "1,000.000"]]
            .map(|row| row.map(str::to_owned).to_vec());

        assert_eq!(["ms       service", "p99.9      1.000", "max    1,000.000"].as_slice(), grid(&rows, 0));
    }

    #[test]
    fn points_line_up() {
        let numbers = ["1,152", "21.488", "3.1"].map(str::to_owned).to_vec();

        assert_eq!(["1,152    ", "21.488", "3.1  "].map(|text| text.trim_end().len()), [5, 6, 3]);
        assert_eq!(["1,152    ", "21.488", "3.1  "].as_slice(), aligned(numbers));
    }
}
