//! `adyton bench curl ...`: a command line of curl, as browsers and API pages give them, as a request.
//!
//! Options that say what is sent are understood; those that say what happens to the answer are ignored, because every
//! answer is checked. Anything else is refused by name, so that nobody measures another request than he thinks.

use super::{Bench, Data};

/// What an option does.
#[derive(Clone, Copy)]
enum Does {
    /// Takes a value that is stored by this.
    Value(fn(&mut Curl, &str) -> Result<(), String>),
    /// Is stored by this.
    Alone(fn(&mut Curl)),
    /// Takes a value that does not matter here.
    IgnoredValue,
    /// Does not matter here.
    Ignored,
}

use Does::{Alone, Ignored, IgnoredValue, Value};

/// The options of curl(1) that are understood: the letter, the names, and what is done.
const OPTIONS: &[(Option<char>, &[&str], Does)] = &[
    (Some('X'), &["request"], Value(|curl, text| super::rows::set_method(&mut curl.bench, text))),
    (Some('H'), &["header"], Value(|curl, text| super::rows::set_header(&mut curl.bench, text))),
    (Some('d'), &["data", "data-ascii", "data-binary"], Value(Curl::data)),
    (None, &["data-raw"], Value(Curl::text)),
    (None, &["json"], Value(Curl::json)),
    (Some('F'), &["form"], Value(|curl, text| super::rows::set_form(&mut curl.bench, text))),
    (Some('b'), &["cookie"], Value(|curl, text| super::rows::set_cookie(&mut curl.bench, text))),
    (Some('A'), &["user-agent"], Value(|curl, text| curl.field("User-Agent", text))),
    (Some('e'), &["referer"], Value(|curl, text| curl.field("Referer", text))),
    (
        Some('u'),
        &["user"],
        Value(|curl, text| curl.field("Authorization", &format!("Basic {}", base64(text)))),
    ),
    (Some('I'), &["head"], Alone(|curl| curl.bench.method = Some("HEAD".to_owned()))),
    (None, &["compressed"], Alone(|curl| drop(curl.field("Accept-Encoding", "deflate, gzip, br, zstd")))),
    (None, &["url"], Value(Curl::url)),
    (
        None,
        &["unix-socket"],
        Value(|curl, text| {
            curl.socket = Some(text.to_owned());
            Ok(())
        }),
    ),
    (Some('o'), &["output"], IgnoredValue),
    (Some('w'), &["write-out"], IgnoredValue),
    (Some('m'), &["max-time"], IgnoredValue),
    (None, &["connect-timeout"], IgnoredValue),
    (Some('s'), &["silent"], Ignored),
    (Some('S'), &["show-error"], Ignored),
    (Some('i'), &["include", "show-headers"], Ignored),
    (Some('v'), &["verbose"], Ignored),
    (Some('k'), &["insecure"], Ignored),
    (Some('f'), &["fail"], Ignored),
    (Some('N'), &["no-buffer"], Ignored),
    (Some('O'), &["remote-name"], Ignored),
    (None, &["http1.1"], Ignored),
    // Of TCP's probes, and not of connections for several requests.
    (None, &["keepalive", "no-keepalive"], Ignored),
];

/// A command line while it is read.
struct Curl {
    bench: Bench,
    url: Option<String>,
    socket: Option<String>,
    /// Data without a type is that of a form, as curl says.
    has_data: bool,
}

/// Reads what stands behind the word `curl`, into what was read before it.
///
/// # Errors
///
/// A sentence about the first thing that is not understood.
pub(crate) fn read(bench: Bench, args: &[String]) -> Result<Bench, String> {
    let mut curl = Curl { bench, url: None, socket: None, has_data: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if let Some(long) = arg.strip_prefix("--") {
            let (name, joined) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let found = OPTIONS.iter().find(|(_, names, _)| names.contains(&name));
            let (_, _, does) = found.ok_or_else(|| unknown(&format!("--{name}")))?;
            curl.apply(*does, joined, &mut args, arg)?;
        } else if let Some(letters) = arg.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            curl.letters(letters, &mut args, arg)?;
        } else {
            curl.url(arg)?;
        }
    }
    let has_type = |(name, _): &(String, String)| name.eq_ignore_ascii_case("Content-Type");
    if curl.has_data && !curl.bench.headers.iter().any(has_type) {
        curl.field("Content-Type", "application/x-www-form-urlencoded")?;
    }
    let url = curl.url.ok_or("the command line of curl has no URL")?;
    curl.bench.url = match curl.socket {
        None => url,
        Some(socket) => {
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            curl.bench.headers.push(("Host".to_owned(), host.to_owned()));
            format!("unix:{socket}:/{path}")
        }
    };
    Ok(curl.bench)
}

impl Curl {
    /// `-sSXPOST`: letters together, of which one that takes a value takes the rest.
    fn letters<'a>(
        &mut self,
        letters: &'a str,
        args: &mut impl Iterator<Item = &'a String>,
        arg: &str,
    ) -> Result<(), String> {
        for (at, letter) in letters.char_indices() {
            let found = OPTIONS.iter().find(|(short, ..)| *short == Some(letter));
            let (_, _, does) = found.ok_or_else(|| unknown(&format!("-{letter}")))?;
            if matches!(does, Value(_) | IgnoredValue) {
                let rest = &letters[at + letter.len_utf8()..];
                return self.apply(*does, Some(rest).filter(|rest| !rest.is_empty()), args, arg);
            }
            self.apply(*does, None, args, arg)?;
        }
        Ok(())
    }

    fn apply<'a>(
        &mut self,
        does: Does,
        joined: Option<&'a str>,
        args: &mut impl Iterator<Item = &'a String>,
        arg: &str,
    ) -> Result<(), String> {
        let mut value = || {
            let value = joined.or_else(|| args.next().map(String::as_str));
            value.ok_or_else(|| format!("curl {arg} needs a value"))
        };
        match does {
            Value(set) => set(self, value()?).map_err(|why| format!("curl {arg}: {why}")),
            Alone(set) => {
                set(self);
                Ok(())
            }
            IgnoredValue => value().map(drop),
            Ignored => Ok(()),
        }
    }

    fn url(&mut self, text: &str) -> Result<(), String> {
        match self.url.replace(text.to_owned()) {
            None => Ok(()),
            Some(_) => Err("one URL is measured at a time".to_owned()),
        }
    }

    fn field(&mut self, name: &str, value: &str) -> Result<(), String> {
        super::rows::set_header(&mut self.bench, &format!("{name}: {value}"))
    }

    fn data(&mut self, text: &str) -> Result<(), String> {
        if text.starts_with('@') {
            if self.bench.data.is_some() {
                return Err("several bodies of which one is a file are not understood".to_owned());
            }
            self.has_data = true;
            return super::rows::set_data(&mut self.bench, text);
        }
        self.text(text)
    }

    /// Several are joined, as fields of a form are.
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.has_data = true;
        self.bench.data = Some(Data::Text(match self.bench.data.take() {
            None => text.to_owned(),
            Some(Data::Text(before)) => format!("{before}&{text}"),
            Some(_) => return Err("text and files in one body are not understood".to_owned()),
        }));
        Ok(())
    }

    fn json(&mut self, text: &str) -> Result<(), String> {
        super::rows::set_data(&mut self.bench, text)?;
        self.field("Content-Type", "application/json")?;
        self.field("Accept", "application/json")
    }
}

fn unknown(option: &str) -> String {
    format!("curl {option} is not understood here; say it with the options of adyton bench, in front of curl")
}

/// RFC 4648 section 4.
fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits =
            group.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[bits >> (18 - 6 * place) & 63];
            out.push(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    fn of(line: &str) -> Result<Bench, String> {
        let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
        read(Bench::default(), &words)
    }

    #[test]
    fn what_browsers_copy() {
        let bench =
            of("http://a/b -X PUT -H Accept:_text/html --data-raw x=1 -d y=2 --compressed -sSL").unwrap_err();
        assert!(bench.starts_with("curl -L is not understood"), "{bench}");
        let bench =
            of("http://a/b -XPUT -H Accept:_text/html --data-raw x=1 -d y=2 --compressed -sS").unwrap();

        assert_eq!(("http://a/b", Some("PUT")), (bench.url.as_str(), bench.method.as_deref()));
        assert_eq!(Some(Data::Text("x=1&y=2".to_owned())), bench.data);
        let names: Vec<&str> = bench.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(vec!["Accept", "Accept-Encoding", "Content-Type"], names);
    }

    /// curl means TCP's probes by it.
    #[test]
    fn keepalive_is_another() {
        let kept = Bench { keep_alive: true, ..Bench::default() };
        let line = ["http://a/", "--no-keepalive", "-k"].map(str::to_owned);

        assert!(read(kept, &line).unwrap().keep_alive);
    }

    #[test]
    fn users_and_sockets() {
        let bench = of("-u aladdin:opensesame --unix-socket /run/a.sock http://b/c?d").unwrap();

        assert_eq!("unix:/run/a.sock:/c?d", bench.url);
        assert_eq!(("Authorization", "Basic YWxhZGRpbjpvcGVuc2VzYW1l"), {
            let (name, value) = &bench.headers[0];
            (name.as_str(), value.as_str())
        });
        assert_eq!(("Host", "b"), (bench.headers[1].0.as_str(), bench.headers[1].1.as_str()));
        assert_eq!(
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="],
            ["", "f", "fo", "foo", "foob"].map(base64).each_ref().map(String::as_str)
        );
    }

    #[test]
    fn what_is_refused() {
        for line in
            ["-H A:b", "http://a http://b", "http://a -H", "http://a --retry 3", "http://a -d x -d @f"]
        {
            assert!(of(line).is_err(), "{line}");
        }
    }
}
