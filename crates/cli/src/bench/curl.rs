//! `adyton bench curl ...`: makes the request of a command line of curl, such as browsers and API pages show.
//!
//! Options about the request are understood; options about the treatment of the answer are ignored, because every
//! answer is checked. Any other option is refused by name, so that the measured request is the intended one.

use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::curl_form;
use super::options::{Bench, Data};
use super::rows::{Field, add_part, field, file};

/// The effect of an option.
#[derive(Clone, Copy)]
enum Does {
    /// Takes a value, which this function stores.
    Value(fn(&mut Curl, &str) -> Result<(), String>),
    /// Takes no value; this function stores it.
    Alone(fn(&mut Curl)),
    /// Takes a value that does not matter here.
    IgnoredValue,
    /// Takes no value, and does not matter here.
    Ignored,
}

use Does::{Alone, Ignored, IgnoredValue, Value};

/// The media type of the data that `-d` and similar options give.
const FORM: &str = "application/x-www-form-urlencoded";

/// Characters that `--data-urlencode` escapes: all but the unreserved ones (RFC 3986 section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The options of curl(1) that are understood: the letter, the names, and the effect.
const OPTIONS: &[(Option<char>, &[&str], Does)] = &[
    (Some('X'), &["request"], Value(|curl, text| super::rows::set_method(&mut curl.bench, text))),
    (Some('H'), &["header"], Value(Curl::header)),
    (Some('d'), &["data", "data-ascii"], Value(|curl, text| curl.form_data(data(text, Data::Stripped)?))),
    (None, &["data-binary"], Value(|curl, text| curl.form_data(data(text, Data::File)?))),
    (None, &["data-raw"], Value(|curl, text| curl.form_data(Data::Text(text.to_owned())))),
    (None, &["data-urlencode"], Value(|curl, text| curl.form_data(Data::Text(urlencoded(text)?)))),
    (Some('G'), &["get"], Alone(|curl| curl.as_query = true)),
    (None, &["json"], Value(Curl::json)),
    (Some('F'), &["form"], Value(|curl, text| add_part(&mut curl.bench, curl_form::part(text)?))),
    (None, &["form-string"], Value(|curl, text| add_part(&mut curl.bench, curl_form::text_part(text)?))),
    (Some('b'), &["cookie"], Value(|curl, text| super::rows::add_cookie(&mut curl.fields, text))),
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
    // Redirects are not followed: a redirect is not a right answer.
    (Some('L'), &["location"], Ignored),
    (Some('O'), &["remote-name"], Ignored),
    (None, &["http1.1"], Ignored),
    // Both are about TCP keep-alive probes, and not about connections for several requests.
    (None, &["keepalive", "no-keepalive"], Ignored),
];

/// A command line while it is read.
struct Curl {
    bench: Bench,
    url: Option<String>,
    socket: Option<String>,
    /// Whether the data go into the URL.
    as_query: bool,
    /// Header fields that options of curl add, unless `-H` replaces them.
    fields: Vec<Field>,
}

/// Reads the words behind `curl`, and adds them to the options in front of `curl`.
///
/// # Errors
///
/// A sentence about the first thing that is not understood.
pub(crate) fn read(bench: Bench, args: &[String]) -> Result<Bench, String> {
    let mut curl = Curl::new(bench);
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
    curl.end()
}

impl Curl {
    fn new(mut bench: Bench) -> Self {
        let accept = ("Accept".to_owned(), "*/*".to_owned());
        // Cookies of options in front of `curl` are joined with those behind it.
        let (cookies, others) = bench.headers.drain(..).partition(|(name, _)| is_same(name, "Cookie"));
        bench.headers = others;
        let fields: Vec<Field> = [cookies, vec![accept]].concat();
        Self { bench, url: None, socket: None, as_query: false, fields }
    }

    fn end(mut self) -> Result<Bench, String> {
        let mut url = self.url.take().ok_or("the command line of curl has no URL")?;
        if self.as_query {
            url = self.with_query(url)?;
        }
        self.bench.url = match self.socket.take() {
            None => url,
            Some(socket) => {
                let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                let (host, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                self.field("Host", host)?;
                format!("unix:{socket}:/{}", target.strip_prefix('/').unwrap_or(target))
            }
        };
        let Self { mut bench, mut fields, .. } = self;
        let empty = fields.iter().filter(|(_, value)| value.is_empty());
        bench.omitted.extend(empty.map(|(name, _)| name.clone()));
        let taken = bench.headers.iter().map(|(name, _)| name).chain(&bench.omitted);
        fields.retain(|(name, _)| !taken.clone().any(|other| is_same(other, name)));
        bench.headers.extend(fields);
        Ok(bench)
    }

    /// Returns the URL with the data as its query; if the URL has a query already, the data stand behind it. The
    /// request then has no body.
    fn with_query(&mut self, url: String) -> Result<String, String> {
        let data = match self.bench.data.take() {
            None => return Ok(url),
            Some(Data::Joined(all)) => all,
            Some(_) => return Err("curl -G: a form with files has its place in a body".to_owned()),
        };
        let texts = data.iter().map(|data| match data {
            Data::Text(text) => Ok(text.as_str()),
            _ => Err("curl -G: the content of a file is not put into the URL here; write the content out"
                .to_owned()),
        });
        let query = texts.collect::<Result<String, String>>()?;
        self.fields.retain(|(name, value)| (name.as_str(), value.as_str()) != ("Content-Type", FORM));
        let url = url.split_once('#').map_or(url.as_str(), |(url, _)| url);
        let joint = if url.contains('?') { '&' } else { '?' };
        Ok(format!("{url}{joint}{query}"))
    }

    /// Reads letters that stand together, as in `-sSXPOST`: the first letter that needs a value takes the rest as its
    /// value.
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

    /// Adds a header field, which replaces the default one; `NAME:` leaves the field out, and `NAME;` sends it empty.
    fn header(&mut self, text: &str) -> Result<(), String> {
        let empty = text.strip_suffix(';').filter(|name| !name.contains(':'));
        match (empty, field(text)) {
            (Some(name), _) => self.bench.headers.push(field(&format!("{name}:"))?),
            (None, Ok((name, value))) if value.is_empty() => self.bench.omitted.push(name),
            (None, Ok(field)) => self.bench.headers.push(field),
            (None, Err(why)) => return Err(why),
        }
        Ok(())
    }

    /// Sets the header field of an option, which `-H` replaces; the last value applies.
    fn field(&mut self, name: &str, value: &str) -> Result<(), String> {
        let field = field(&format!("{name}:{value}"))?;
        self.fields.retain(|(other, _)| other != name);
        self.fields.push(field);
        Ok(())
    }

    /// Adds data of a form; several are joined with `&`, and the media type becomes that of a form.
    fn form_data(&mut self, data: Data) -> Result<(), String> {
        if self.bench.data.is_some() {
            self.add(Data::Text("&".to_owned()))?;
        }
        if !self.fields.iter().any(|(name, _)| name == "Content-Type") {
            self.field("Content-Type", FORM)?;
        }
        self.add(data)
    }

    fn json(&mut self, text: &str) -> Result<(), String> {
        self.field("Content-Type", "application/json")?;
        self.field("Accept", "application/json")?;
        self.add(data(text, Data::File)?)
    }

    fn add(&mut self, data: Data) -> Result<(), String> {
        match self.bench.data.get_or_insert_with(|| Data::Joined(Vec::new())) {
            Data::Joined(all) => {
                all.push(data);
                Ok(())
            }
            _ => {
                Err("a body was given before: it can be a form, or data behind curl, but not both".to_owned())
            }
        }
    }
}

/// Reads a text, or the name of a file behind `@`.
fn data(text: &str, of_file: fn(PathBuf) -> Data) -> Result<Data, String> {
    let name = text.strip_prefix('@');
    name.map_or_else(|| Ok(Data::Text(text.to_owned())), |name| Ok(of_file(file(name)?)))
}

/// Reads `CONTENT`, `=CONTENT` or `NAME=CONTENT`, and encodes the content as in a form.
fn urlencoded(text: &str) -> Result<String, String> {
    let (name, content) = text.split_once('=').map_or((None, text), |(name, rest)| (Some(name), rest));
    if name.is_none() && content.contains('@') {
        return Err(
            "the content of a file is not encoded here; encode it, and give it to --data-binary".to_owned()
        );
    }
    let encoded = utf8_percent_encode(content, ESCAPED).to_string().replace("%20", "+");
    Ok(match name {
        None | Some("") => encoded,
        Some(name) => format!("{name}={encoded}"),
    })
}

/// Whether two names of header fields are the same, in any case (RFC 9110 section 5.1).
fn is_same(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

fn unknown(option: &str) -> String {
    format!("curl {option} is not understood here; use the options of adyton bench, in front of curl")
}

/// Encodes in Base64 (RFC 4648 section 4).
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

    fn headers(line: &str) -> Vec<String> {
        let bench = of(&format!("http://a/ {line}")).unwrap();
        bench.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    fn data_of(line: &str) -> Vec<Data> {
        match of(&format!("http://a/ {line}")).unwrap().data {
            Some(Data::Joined(all)) => all,
            other => other.into_iter().collect(),
        }
    }

    fn text(text: &str) -> Data {
        Data::Text(text.to_owned())
    }

    #[test]
    fn what_browsers_copy() {
        let bench =
            of("http://a/b -X PUT -H Accept:_text/html --data-raw x=1 -d y=2 --compressed -sSL").unwrap();

        assert_eq!(("http://a/b", Some("PUT")), (bench.url.as_str(), bench.method.as_deref()));
        assert_eq!(Some(Data::Joined(["x=1", "&", "y=2"].map(text).to_vec())), bench.data);
        let names: Vec<&str> = bench.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(vec!["Accept", "Content-Type", "Accept-Encoding"], names);
    }

    /// The command line that Postman copies.
    #[test]
    fn long_options() {
        let line = "--location --request POST http://a/ --header A:_b --form f=\"g\" --data-raw x";
        assert!(of(line).unwrap_err().ends_with("not both"));
        let bench = of("--location --request POST http://a/ --header A:_b --form f=\"g\"").unwrap();

        assert_eq!(Some(Data::Form(vec![super::super::FormPart::new("f", text("g"))])), bench.data);
    }

    #[test]
    fn a_header_takes_the_place_of_what_options_send() {
        assert_eq!(vec!["Accept: */*"], headers("-s"));
        assert_eq!(
            vec!["accept-encoding: br", "Accept: */*"],
            headers("--compressed -H accept-encoding:_br")
        );
        assert_eq!(vec!["User-Agent: c", "Accept: */*"], headers("-A a -H User-Agent:_c -A b"));
        assert_eq!(vec!["Accept: */*", "Referer: b"], headers("-e a -e b"));
        assert_eq!(
            vec!["Content-Type: a/b", "Accept: application/json"],
            headers("--json 1 -H Content-Type:a/b")
        );
        assert_eq!(vec!["Cookie: a=b", "Accept: */*"], headers("-b c=d -H Cookie:a=b"));
        assert_eq!(vec!["Authorization: x", "Accept: */*"], headers("-H Authorization:x -u a:b"));
        assert_eq!(Vec::<String>::new(), headers("-H Accept:"));
        assert_eq!(vec!["X-Empty: ", "Accept: */*"], headers("-H X-Empty;"));
        assert_eq!(vec!["Host: b".to_owned()], {
            let bench = of("--unix-socket s http://a/ -H Host:b -H accept:").unwrap();
            bench.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        });
    }

    #[test]
    fn what_is_not_to_be_sent() {
        let words =
            ["http://a/", "-A", "", "-H", "Host:", "-H", "content-type:", "-d", "x"].map(str::to_owned);
        let bench = read(Bench::default(), &words).unwrap();

        assert_eq!(vec!["Host", "content-type", "User-Agent"], bench.omitted);
        assert_eq!(vec![("Accept".to_owned(), "*/*".to_owned())], bench.headers);
    }

    #[test]
    fn cookies_in_front_are_joined() {
        let headers = vec![("cookie".to_owned(), "a=b".to_owned()), ("C".to_owned(), "d".to_owned())];
        let words = ["http://a/", "-b", "e=f", "-H", "Accept:"].map(str::to_owned);
        let bench = read(Bench { headers, ..Bench::default() }, &words).unwrap();

        let expected = [("C", "d"), ("cookie", "a=b; e=f")];
        assert_eq!(expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(), bench.headers);
    }

    #[test]
    fn data_is_joined() {
        assert_eq!(vec![Data::Stripped("f".into()), text("&"), text("x")], data_of("-d @f -d x"));
        assert_eq!(vec![Data::File("f".into())], data_of("--data-binary @f"));
        assert_eq!(vec![Data::Stripped("/dev/stdin".into())], data_of("-d @-"));
        assert_eq!(vec![text("@f")], data_of("--data-raw @f"));
        assert_eq!(vec![text("{"), text("}")], data_of("--json { --json }"));
        assert_eq!(vec![text("")], data_of("-d "));
    }

    /// The encoded bytes must be the same as the bytes that curl 7.88 sends.
    #[test]
    fn data_is_encoded() {
        let bytes = "a=b c+\u{e9}&~/'";
        let words = ["http://a/", "--data-urlencode", bytes, "-d", "q", "--data-urlencode", "=x=y z"];
        let bench = read(Bench::default(), &words.map(str::to_owned)).unwrap();

        let expected = ["a=b+c%2B%C3%A9%26~%2F%27", "&", "q", "&", "x%3Dy+z"].map(text).to_vec();
        assert_eq!(Some(Data::Joined(expected)), bench.data);
    }

    #[test]
    fn data_in_the_url() {
        for (line, expected) in [
            ("-G http://a/b -d x=1 --data-urlencode y=_", "http://a/b?x=1&y=+"),
            ("http://a/b?c#d -d x=1 -G", "http://a/b?c&x=1"),
            ("http://a/b -G", "http://a/b"),
        ] {
            let bench = of(line).unwrap();

            assert_eq!((expected, None, None), (bench.url.as_str(), bench.data, bench.method));
            assert_eq!(vec![("Accept".to_owned(), "*/*".to_owned())], bench.headers);
        }
    }

    /// curl's `--no-keepalive` is about TCP keep-alive probes.
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
        assert_eq!("unix:s:/?x=1", of("--unix-socket s http://foo?x=1").unwrap().url);
        let bench = Bench { headers: bench.headers[1..].to_vec(), ..bench };
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
        for line in [
            "-H A:b",
            "http://a http://b",
            "http://a -H",
            "http://a --retry 3",
            "http://a -d @",
            "http://a -A a\nb",
            "http://a -G -d @f",
            "http://a -G -F a=b",
            "http://a --data-urlencode a@f",
        ] {
            assert!(of(line).is_err(), "{line}");
        }
    }
}
