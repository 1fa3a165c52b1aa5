//! `DirectoryIndex` in the file of a folder.

use crate::apache::language::line::Line;
use crate::rules::folder_lines::Indexes;

/// Splits off the lines about index files, and returns the index files and the other lines. Each line adds to the lines
/// before it, and a line with `disabled` alone removes all names.
pub(crate) fn take(lines: Vec<Line>) -> (Option<Indexes>, Vec<Line>) {
    let (own, others): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.name == "directoryindex" && !line.is_section);
    let mut names: Vec<String> = Vec::new();
    for line in &own {
        if line.args.len() == 1 && line.says(0, "disabled") {
            names.clear();
        } else {
            names.extend(line.args.iter().cloned());
        }
    }
    let last = own.into_iter().next_back();
    (last.map(|line| Indexes { place: line.place, text: line.text, names }), others)
}

#[cfg(test)]
mod tests {
    use super::take;
    use crate::apache::language::line::Line;
    use crate::model::Place;

    #[test]
    fn lines() {
        let cases: [(&[&str], &[&str]); 6] = [
            (&["index.cgi index.html"], &["index.cgi", "index.html"]),
            (&["a", "b c"], &["a", "b", "c"]),
            (&["a", "disabled"], &[]),
            (&["a", "Disabled", "b"], &["b"]),
            (&["a disabled"], &["a", "disabled"]),
            (&[""], &[]),
        ];
        for (lines, expected) in cases {
            let line = |(args, number): (&&str, usize)| Line {
                name: "directoryindex".to_owned(),
                args: args.split_whitespace().map(str::to_owned).collect(),
                ..Line::lost_at("", args, &Place { file: "x".into(), line: number })
            };
            let mut all: Vec<Line> = lines.iter().zip(1..).map(line).collect();
            all.push(Line::lost_at("require", "", &Place { file: "x".into(), line: 9 }));
            let (indexes, others) = take(all);

            let found = indexes.map(|indexes| (indexes.place.line, indexes.names));
            assert_eq!(Some((lines.len(), expected.iter().map(ToString::to_string).collect())), found);
            assert_eq!(1, others.len());
        }
        assert_eq!((None, Vec::new()), take(Vec::new()));
    }
}
