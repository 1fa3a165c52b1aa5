//! The language of nginx.conf: words, quotes, blocks, comments, included files.

use std::iter::Peekable;
use std::str::CharIndices;
use std::sync::Arc;

use crate::model::{Mistake, Place};
use crate::text::include::Includes;

/// Limit of blocks in blocks: a location in a location in a server in http is four.
const DEPTH_MAX: usize = 32;

/// Limit of directives in all, because includes may multiply them.
const DIRECTIVES_MAX: usize = 100_000;

/// Files of parameters and media types, which contain nothing that Adyton needs.
const NOT_READ: [&str; 5] = ["mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params"];

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive {
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    pub(crate) place: Place,
    /// The directives between the braces.
    pub(super) block: Option<Vec<Directive>>,
}

impl Directive {
    /// Returns the directive as it was written, without its block.
    pub(crate) fn shown(&self) -> String {
        let mut out = self.name.clone();
        for arg in &self.args {
            out.push(' ');
            out.push_str(arg);
        }
        out
    }

    /// Returns an argument, or an empty text.
    pub(super) fn arg(&self, number: usize) -> &str {
        self.args.get(number).map_or("", String::as_str)
    }

    /// Returns the directives between the braces.
    pub(crate) fn inside(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }
}

/// Reads a file and all that it includes.
pub(super) fn read(
    file: &Arc<str>,
    text: &str,
    includes: &mut Includes<'_>,
) -> Result<Vec<Directive>, Mistake> {
    let mut count = 0;
    let mut parser = Parser { words: Words::new(file, text), includes, count: &mut count };
    let mut all = parser.block(0)?;
    if let Some(folder) = file.strip_suffix("/nginx.conf").filter(|folder| folder.starts_with('/')) {
        locate(&mut all, folder);
    }
    Ok(all)
}

/// Makes names of password files absolute: they are relative to the folder of nginx.conf.
fn locate(all: &mut [Directive], folder: &str) {
    for one in all {
        if let ("auth_basic_user_file", Some(file)) = (one.name.as_str(), one.args.first_mut())
            && !file.starts_with(['/', '$'])
        {
            *file = format!("{folder}/{file}");
        }
        locate(one.block.as_deref_mut().unwrap_or_default(), folder);
    }
}

struct Parser<'t, 'i, 'f> {
    words: Words<'t>,
    includes: &'i mut Includes<'f>,
    count: &'i mut usize,
}

impl Parser<'_, '_, '_> {
    /// Reads all directives up to the brace that ends the block, or up to the end of the file.
    fn block(&mut self, depth: usize) -> Result<Vec<Directive>, Mistake> {
        let mut all = Vec::new();
        let mut args: Vec<(String, Place)> = Vec::new();
        loop {
            let (word, place) = self.words.next()?;
            let wrong = |what: &str| Err(Mistake { place: place.clone(), what: what.to_owned() });
            match word {
                Word::Text(text) => args.push((text, place)),
                Word::End | Word::Close if !args.is_empty() => {
                    return wrong("a ; is missing in front of this");
                }
                Word::End if depth > 0 => return wrong("a } is missing"),
                Word::Close if depth == 0 => return wrong("there is no { for this }"),
                Word::End | Word::Close => return Ok(all),
                Word::Semicolon if args.is_empty() => {
                    return wrong("there is no directive in front of this ;");
                }
                Word::Open if args.is_empty() => return wrong("there is no directive in front of this {"),
                Word::Open if depth >= DEPTH_MAX => return wrong("blocks are nested too deep"),
                Word::Semicolon | Word::Open => {
                    *self.count += 1;
                    if *self.count > DIRECTIVES_MAX {
                        return wrong("there are too many directives");
                    }
                    let block = if word == Word::Open { Some(self.block(depth + 1)?) } else { None };
                    self.directive(std::mem::take(&mut args), block, depth, &mut all)?;
                }
            }
        }
    }

    /// Adds a directive, or the directives of the files that it includes.
    fn directive(
        &mut self,
        words: Vec<(String, Place)>,
        block: Option<Vec<Directive>>,
        depth: usize,
        all: &mut Vec<Directive>,
    ) -> Result<(), Mistake> {
        let mut words = words.into_iter();
        let Some((name, place)) = words.next() else { return Ok(()) };
        let args: Vec<String> = words.map(|(text, _)| text).collect();
        let (true, Some(pattern)) = (name == "include", args.first()) else {
            all.push(Directive { name, args, place, block });
            return Ok(());
        };
        let last = pattern.rsplit('/').next().unwrap_or(pattern);
        if NOT_READ.contains(&last) {
            return Ok(());
        }
        for found in self.includes.find(pattern, &place)? {
            let file: Arc<str> = found.name.into();
            self.includes.begin(&file, &found.text)?;
            let words = Words::new(&file, &found.text);
            let mut inner = Parser { words, includes: self.includes, count: self.count };
            // A block ends in the file in which it begins.
            all.extend(inner.file(depth)?);
            self.includes.end();
        }
        Ok(())
    }

    fn file(&mut self, depth: usize) -> Result<Vec<Directive>, Mistake> {
        if depth >= DEPTH_MAX {
            let place = Place { file: Arc::clone(&self.words.file), line: 1 };
            return Err(Mistake { place, what: "blocks are nested too deep".to_owned() });
        }
        self.block(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Text(String),
    Semicolon,
    Open,
    Close,
    End,
}

struct Words<'t> {
    file: Arc<str>,
    text: &'t str,
    signs: Peekable<CharIndices<'t>>,
    line: usize,
}

impl<'t> Words<'t> {
    fn new(file: &Arc<str>, text: &'t str) -> Words<'t> {
        Words { file: Arc::clone(file), text, signs: text.char_indices().peekable(), line: 1 }
    }

    fn take(&mut self) -> Option<char> {
        let (_, sign) = self.signs.next()?;
        if sign == '\n' {
            self.line += 1;
        }
        Some(sign)
    }

    fn peek(&mut self) -> Option<char> {
        self.signs.peek().map(|(_, sign)| *sign)
    }

    /// Returns the next word, and the place where it begins.
    fn next(&mut self) -> Result<(Word, Place), Mistake> {
        loop {
            match self.peek() {
                Some('#') => {
                    while self.peek().is_some_and(|sign| sign != '\n') {
                        self.take();
                    }
                }
                Some(sign) if sign.is_whitespace() || sign == '\u{feff}' => {
                    self.take();
                }
                _ => break,
            }
        }
        let place = Place { file: Arc::clone(&self.file), line: self.line };
        let word = match self.peek() {
            None => return Ok((Word::End, place)),
            Some(sign @ (';' | '{' | '}')) => {
                self.take();
                match sign {
                    ';' => Word::Semicolon,
                    '{' => Word::Open,
                    _ => Word::Close,
                }
            }
            Some(quote @ ('"' | '\'')) => {
                self.take();
                Word::Text(self.quoted(quote).ok_or_else(|| Mistake {
                    place: place.clone(),
                    what: format!("a {quote} that ends this is missing"),
                })?)
            }
            Some(_) => Word::Text(self.bare()),
        };
        Ok((word, place))
    }

    /// Reads up to the quote. A backslash escapes a quote or a backslash, or makes a letter a control character; in
    /// front of any other character it stays in the text.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut out = String::new();
        loop {
            match self.take()? {
                sign if sign == quote => return Some(out),
                '\\' => self.escaped(&mut out)?,
                sign => out.push(sign),
            }
        }
    }

    fn escaped(&mut self, out: &mut String) -> Option<()> {
        match self.take()? {
            sign @ ('"' | '\'' | '\\') => out.push(sign),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'n' => out.push('\n'),
            sign => out.extend(['\\', sign]),
        }
        Some(())
    }

    /// Reads up to a blank or the end of the directive; `${name}` is a part of the word.
    fn bare(&mut self) -> String {
        let mut out = String::new();
        while let Some(sign) = self.peek() {
            let is_variable = sign == '{' && out.ends_with('$');
            if sign.is_whitespace() || sign == ';' || (sign == '{' && !is_variable) {
                break;
            }
            let at = self.signs.peek().map_or(self.text.len(), |(at, _)| *at);
            self.take();
            if sign == '\\' {
                if self.escaped(&mut out).is_none() {
                    out.push('\\');
                }
            } else if is_variable && let Some(end) = self.text[at..].find('}') {
                let name = &self.text[at + 1..at + end];
                for _ in 0..=name.chars().count() {
                    self.take();
                }
                out.push_str(name);
            } else {
                out.push(sign);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::{Directive, read};
    use crate::text::include::{Found, Includes};

    fn parse(text: &str) -> Result<Vec<Directive>, String> {
        let mut find = |pattern: &str| -> Result<Vec<Found>, String> {
            let text = match pattern {
                "loop" => "include loop;",
                "unfinished" => "a {",
                _ => "b 1;",
            };
            Ok(vec![Found { name: pattern.to_owned(), text: text.to_owned() }])
        };
        read(&"x".into(), text, &mut Includes::new(&mut find)).map_err(|wrong| wrong.to_string())
    }

    fn flat(all: &[Directive]) -> String {
        let one = |one: &Directive| {
            let block = one.block.as_ref().map_or(";".to_owned(), |block| format!("{{{}}}", flat(block)));
            format!("{}@{}{block}", one.shown().replace(' ', "_"), one.place)
        };
        all.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_and_blocks() {
        let cases = [
            ("a b;", "a_b@x:1;"),
            ("# c\na 'b c' \"d\\\"\";", "a_b_c_d\"@x:2;"),
            ("a { b c; } d;", "a@x:1{b_c@x:1;} d@x:1;"),
            ("a ~ \\.php$ {}", "a_~_\\.php$@x:1{}"),
            ("a ${b}c;", "a_$bc@x:1;"),
            ("a\n{\ninclude y;\n}", "a@x:1{b_1@y:1;}"),
            ("include mime.types;", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(expected, flat(&parse(text).unwrap()), "{text}");
        }
    }

    #[test]
    fn mistakes() {
        let deep = "a {".repeat(40);
        let cases = [
            ("a", "x:1: a ; is missing in front of this"),
            ("a {\n", "x:2: a } is missing"),
            ("a; }", "x:1: there is no { for this }"),
            (";", "x:1: there is no directive in front of this ;"),
            ("{", "x:1: there is no directive in front of this {"),
            ("\n'a", "x:2: a ' that ends this is missing"),
            ("include loop;", "loop:1: this file includes itself"),
            ("include unfinished;", "unfinished:1: a } is missing"),
            (&deep, "x:1: blocks are nested too deep"),
        ];
        for (text, expected) in cases {
            assert_eq!(Err(expected.to_owned()), parse(text), "{text}");
        }
    }
}
