//! Values as JSON and Python write them, each with its line; an expression that has to be run is no literal.

use std::iter;

/// The language of the literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Json,
    Python,
}

/// A value, and the line where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) item: Item,
}

/// A value by its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Null,
    Switch(bool),
    /// The number as written, or in decimal digits if it is whole.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// The entries, in the order of the text.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Returns a text, or a number as text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.item {
            Item::Text(text) | Item::Number(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value with this name, if this is a table that has one.
    pub(crate) fn find(&self, name: &str) -> Option<&Node> {
        self.pairs().iter().find(|(other, _)| other == name).map(|(_, node)| node)
    }

    /// Returns the entries of a table; none for other values.
    pub(crate) fn pairs(&self) -> &[(String, Node)] {
        if let Item::Map(pairs) = &self.item { pairs } else { &[] }
    }

    /// Returns the values of a list, or the value itself if it is no list.
    pub(crate) fn each(&self) -> &[Node] {
        if let Item::List(list) = &self.item { list } else { std::slice::from_ref(self) }
    }
}

/// The line of a mistake, and the sentence about it.
pub(super) type Wrong = (usize, &'static str);

/// Limit of values in values; a deeper nesting is no configuration.
const DEPTH_MAX: usize = 64;

/// Reads a text from a place on.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'t> {
    rest: &'t str,
    pub(crate) line: usize,
    dialect: Dialect,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str, dialect: Dialect) -> Cursor<'t> {
        Cursor { rest: text.trim_start_matches('\u{feff}'), line: 1, dialect }
    }

    /// Returns the text that has not been read.
    pub(crate) fn rest(&self) -> &'t str {
        self.rest
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(crate) fn take(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.rest = &self.rest[sign.len_utf8()..];
        self.line += usize::from(sign == '\n');
        Some(sign)
    }

    fn takes(&mut self, word: &str) -> bool {
        let has = self.rest.starts_with(word);
        if has {
            self.rest = &self.rest[word.len()..];
        }
        has
    }

    /// Skips blanks, line ends if `lines`, and comments of Python.
    pub(crate) fn skip(&mut self, lines: bool) {
        while let Some(sign) = self.peek() {
            if sign == '#' && self.dialect == Dialect::Python {
                while self.peek().is_some_and(|sign| sign != '\n') {
                    self.take();
                }
            } else if !sign.is_whitespace() || (sign == '\n' && !lines) {
                return;
            } else {
                self.take();
            }
        }
    }

    /// Reads the whole text as one value.
    pub(crate) fn whole(mut self) -> Result<Node, Wrong> {
        let node = self.value(0)?;
        self.skip(true);
        if self.rest.is_empty() { Ok(node) } else { Err((self.line, "something stands behind the end")) }
    }

    /// Reads the next value; inside brackets lines may end anywhere.
    pub(crate) fn value(&mut self, depth: usize) -> Result<Node, Wrong> {
        self.skip(depth > 0 || self.dialect == Dialect::Json);
        let line = self.line;
        if depth > DEPTH_MAX {
            return Err((line, "values are nested too deep"));
        }
        let item = match self.peek() {
            Some('[') => self.list(']', depth)?,
            Some('(') if self.dialect == Dialect::Python => self.list(')', depth)?,
            Some('{') => self.map(depth)?,
            Some('"') => self.texts(depth)?,
            Some('\'' | 'r' | 'R' | 'u' | 'U' | 'b' | 'B') if self.dialect == Dialect::Python => {
                self.texts(depth)?
            }
            Some(sign) if sign.is_ascii_digit() || matches!(sign, '-' | '.') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { line, item })
    }

    fn word(&mut self) -> Result<Item, Wrong> {
        let words = match self.dialect {
            Dialect::Json => {
                [("true", Item::Switch(true)), ("false", Item::Switch(false)), ("null", Item::Null)]
            }
            Dialect::Python => {
                [("True", Item::Switch(true)), ("False", Item::Switch(false)), ("None", Item::Null)]
            }
        };
        for (word, item) in words {
            if self.takes(word) {
                return Ok(item);
            }
        }
        Err((self.line, "this is no value"))
    }

    fn number(&mut self) -> Result<Item, Wrong> {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '+' | '_');
        let end = self.rest.find(|sign| !is_part(sign)).unwrap_or(self.rest.len());
        let text = self.rest[..end].replace('_', "");
        self.rest = &self.rest[end..];
        let fronts = [("0o", 8), ("0x", 16), ("0b", 2)];
        let based = fronts.iter().find_map(|(front, base)| Some((text.strip_prefix(front)?, *base)));
        if let Some((digits, base)) = based {
            let number = u64::from_str_radix(digits, base).map_err(|_| (self.line, "this is no number"))?;
            return Ok(Item::Number(number.to_string()));
        }
        if text.parse::<f64>().is_err() || text.contains(['n', 'N']) {
            return Err((self.line, "this is no number"));
        }
        Ok(Item::Number(text))
    }

    /// Reads a list, or in Python one value in brackets.
    fn list(&mut self, end: char, depth: usize) -> Result<Item, Wrong> {
        self.take();
        let (mut all, mut has_comma) = (Vec::new(), false);
        loop {
            self.skip(true);
            if self.peek() == Some(end) {
                self.take();
                let is_bare = end == ')' && all.len() == 1 && !has_comma;
                let only = if is_bare { all.pop() } else { None };
                return Ok(only.map_or(Item::List(all), |node: Node| node.item));
            }
            if !all.is_empty() && !has_comma {
                return Err((self.line, "a comma is missing"));
            }
            all.push(self.value(depth + 1)?);
            self.skip(true);
            has_comma = self.takes(",");
        }
    }

    fn map(&mut self, depth: usize) -> Result<Item, Wrong> {
        self.take();
        let (mut all, mut has_comma) = (Vec::<(String, Node)>::new(), true);
        loop {
            self.skip(true);
            if self.takes("}") {
                return Ok(Item::Map(all));
            }
            if !has_comma {
                return Err((self.line, "a comma is missing"));
            }
            let Node { item: Item::Text(name), .. } = self.value(depth + 1)? else {
                return Err((self.line, "a name is a text"));
            };
            self.skip(true);
            if !self.takes(":") {
                return Err((self.line, "a colon is missing"));
            }
            // The last value of a name counts.
            all.retain(|(other, _)| *other != name);
            all.push((name, self.value(depth + 1)?));
            self.skip(true);
            has_comma = self.takes(",");
        }
    }

    /// Reads a text; in Python texts that follow each other are one.
    fn texts(&mut self, depth: usize) -> Result<Item, Wrong> {
        let mut out = String::new();
        loop {
            self.one_text(&mut out)?;
            if self.dialect == Dialect::Json {
                return Ok(Item::Text(out));
            }
            let mut ahead = self.clone();
            ahead.skip(depth > 0);
            if !matches!(ahead.peek(), Some('"' | '\'')) {
                return Ok(Item::Text(out));
            }
            *self = ahead;
        }
    }

    fn one_text(&mut self, out: &mut String) -> Result<(), Wrong> {
        let line = self.line;
        let front = self.rest.find(['"', '\'']).map_or("", |at| &self.rest[..at]);
        let is_raw = matches!(front, "r" | "R");
        if !is_raw && !matches!(front, "" | "u" | "U" | "b" | "B") {
            return Err((line, "this is no value"));
        }
        self.rest = &self.rest[front.len()..];
        let Some(quote) = self.peek() else { return Err((line, "this is no value")) };
        let triple: String = iter::repeat_n(quote, 3).collect();
        let end = if self.dialect == Dialect::Python && self.takes(&triple) {
            triple
        } else {
            self.take();
            quote.to_string()
        };
        while !self.takes(&end) {
            match self.take() {
                None => return Err((line, "this text has no end")),
                Some('\n') if end.len() == 1 => return Err((line, "this text has no end")),
                Some('\\') if is_raw => {
                    out.push('\\');
                    out.extend(self.take());
                }
                Some('\\') => self.escape(out)?,
                Some(sign) => out.push(sign),
            }
        }
        Ok(())
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Wrong> {
        let line = self.line;
        let sign = self.take().ok_or((line, "this text has no end"))?;
        match sign {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\'' | '\\' | '/' => out.push(sign),
            '\n' => {}
            'u' => {
                let digits = self.rest.get(..4).ok_or((line, "this escape has no end"))?;
                let code = u32::from_str_radix(digits, 16).map_err(|_| (line, "this is no escape"))?;
                self.rest = &self.rest[4..];
                // Half of a surrogate pair stands for nothing alone, and host names and paths have none.
                out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            sign => out.extend(['\\', sign]),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Dialect, Item, Node};

    fn shown(node: &Node) -> String {
        match &node.item {
            Item::Null => "null".to_owned(),
            Item::Switch(on) => on.to_string(),
            Item::Number(number) => number.clone(),
            Item::Text(text) => format!("{text:?}"),
            Item::List(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Item::Map(pairs) => {
                let each = pairs.iter().map(|(name, node)| format!("{name}@{}:{}", node.line, shown(node)));
                format!("{{{}}}", each.collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn json() {
        let cases = [
            ("{\"a\": [1, true,\n null], \"b\":\n{}}", "{a@1:[1 true null] b@3:{}}"),
            (r#""a\u0041\/\n""#, "\"aA/\\n\""),
            ("{\"a\": 1 \"b\": 2}", "1: a comma is missing"),
            ("{\"a\" 1}", "1: a colon is missing"),
            ("\n\"a", "2: this text has no end"),
            ("[1", "1: a comma is missing"),
            ("True", "1: this is no value"),
            ("1 2", "1: something stands behind the end"),
        ];
        for (text, expected) in cases {
            let found = Cursor::new(text, Dialect::Json).whole();
            let found = found.map_or_else(|(line, what)| format!("{line}: {what}"), |node| shown(&node));
            assert_eq!(expected, found, "{text}");
        }
    }

    #[test]
    fn python() {
        let cases = [
            ("'a' \"b\"", "\"ab\""),
            ("r'\\n'", "\"\\\\n\""),
            ("'''a\nb'''", "\"a\\nb\""),
            ("('a',)", "[\"a\"]"),
            ("('a')", "\"a\""),
            ("(\n'a' # c\n'b')", "\"ab\""),
            ("0o27", "23"),
            ("1_000", "1000"),
            ("{'a': None, }", "{a@1:null}"),
            ("f'a'", "1: this is no value"),
            ("nan", "1: this is no value"),
            ("-inf", "1: this is no number"),
        ];
        for (text, expected) in cases {
            let found = Cursor::new(text, Dialect::Python).whole();
            let found = found.map_or_else(|(line, what)| format!("{line}: {what}"), |node| shown(&node));
            assert_eq!(expected, found, "{text}");
        }
        let deep = "[".repeat(1_000);
        assert!(Cursor::new(&deep, Dialect::Python).whole().is_err());
    }
}
