//! The options of `adyton bench`, in the order of its help.

use std::path::PathBuf;

use super::options::{Bench, Check, Data, FormPart};
use crate::settings::row::{Kind, Row};
use crate::settings::units::{Unit, digits};

/// Defaults of the fields of a row.
const ROW: Row<Bench> = Row::EMPTY;

const LOAD: Row<Bench> = Row { group: "Load", ..ROW };
const REQUEST: Row<Bench> = Row { group: "Request", ..ROW };
const CHECKS: Row<Bench> = Row { group: "What is right", ..ROW };
const OUTPUT: Row<Bench> = Row { group: "Result", ..ROW };

/// Returns a count, whose range fits into 32 bits.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

const fn count(least: u64, most: u64, set: fn(&mut Bench, u64)) -> Kind<Bench> {
    Kind::Number { unit: Unit::Count, least, most, set }
}

const fn time(least: u64, set: fn(&mut Bench, u64)) -> Kind<Bench> {
    Kind::Number { unit: Unit::Duration, least, most: 86_400_000, set }
}

/// Every option.
pub static ROWS: &[Row<Bench>] = &[
    Row {
        name: "connections",
        short: Some('c'),
        kind: count(1, 65_536, |bench, number| bench.connections = small(number)),
        default: "64",
        example: "120",
        help: "connections at the same time",
        detail: "The number for all threads together, and at least one for each thread.",
        ..LOAD
    },
    Row {
        name: "threads",
        short: Some('t'),
        kind: count(1, 256, |bench, number| bench.threads = small(number)),
        default: "1",
        example: "2",
        help: "threads, each with an event loop of its own",
        detail: "One thread is enough until the report says that the generator measured itself. More threads help \
                 only if there are CPUs that the server does not need.",
        ..LOAD
    },
    Row {
        name: "duration",
        short: Some('d'),
        kind: time(100, |bench, ms| bench.duration_ms = ms),
        default: "10s",
        example: "1m",
        help: "how long to measure, after the warm-up",
        detail: "Requests under way at the end are counted as such, and not as answered.",
        ..LOAD
    },
    Row {
        name: "requests",
        short: Some('n'),
        kind: count(0, 1 << 50, |bench, number| bench.requests = number),
        default: "0",
        example: "10000",
        help: "measure this many requests instead; 0: use the duration",
        detail: "The measurement ends when each of them has an answer, or an error. It cannot be combined with a \
                 duration.",
        ..LOAD
    },
    Row {
        name: "keep-alive",
        short: Some('k'),
        kind: Kind::Switch { set: |bench, on| bench.keep_alive = on },
        default: "on",
        example: "off",
        help: "send several requests over a connection",
        detail: "Off, each request has a connection of its own, and the time for connecting counts.",
        ..LOAD
    },
    Row {
        name: "no-keepalive",
        // This row stands behind the row of `keep-alive`, and its default `off` changes nothing.
        kind: Kind::Switch { set: |bench, on| bench.keep_alive &= !on },
        default: "off",
        example: "on",
        help: "a connection for each request: the same as -k=off",
        detail: "By default connections are kept alive. In ab it is the other way round: there, -k keeps them alive.",
        ..LOAD
    },
    Row {
        name: "pipeline",
        kind: count(1, 1024, |bench, number| bench.pipeline = small(number)),
        default: "1",
        example: "16",
        help: "requests under way on a connection at once",
        detail: "Browsers never send the next request before the answer to the last has come, so figures with more \
                 than 1 say little about users.",
        ..LOAD
    },
    Row {
        name: "rate",
        kind: count(1, 100_000_000, |bench, number| bench.rate = Some(number)),
        example: "5000",
        help: "requests that are due each second, whatever the server does",
        detail: "An open loop: requests come as from users, who do not wait for one another, and the time of an \
                 answer begins when its request was due. Without a rate each connection sends its next request when \
                 the last one is answered (a closed loop), and a server that stalls gets no requests meanwhile.",
        ..LOAD
    },
    Row {
        name: "find-rate",
        kind: Kind::Form { shape: "CONDITION", set: set_find_rate },
        example: "p99<50ms",
        help: "search for the highest rate at which a condition holds",
        detail: "The condition is an upper bound on a time, cpu or errors. The search runs one open loop after the \
                 other, each for the duration, at rates between the highest that held and the lowest that did not, \
                 until these two differ by a twentieth at most; the rate that it finds must hold once more. If an \
                 answer is not right, or a request finds no connection, the condition does not hold. The right answer \
                 is learnt once, before the search. Requests are spaced as `--arrivals` says.",
        ..LOAD
    },
    Row {
        name: "arrivals",
        kind: Kind::Choice {
            words: &["constant", "poisson"],
            set: |bench, index| bench.poisson = index == 1,
        },
        default: "constant",
        example: "poisson",
        help: "how requests with a rate are spaced in time",
        detail: "`constant`: at equal intervals. `poisson`: at random, independent of one another, as from many \
                 users: sometimes several at once.",
        ..LOAD
    },
    Row {
        name: "seed",
        kind: count(0, u64::MAX, |bench, number| bench.seed = number),
        default: "1",
        example: "7",
        help: "seed of random times and draws",
        detail: "The same seed gives the same times, and draws the same URLs in each thread.",
        ..LOAD
    },
    Row {
        name: "slow-readers",
        kind: count(0, 10_000, |bench, number| bench.slow_readers = small(number)),
        default: "0",
        example: "20",
        help: "clients beside the load that read their answers slowly",
        detail: "Each of them opens a connection for each request. Their answers count in no figure of the load, but \
                 are checked: the report says how many were right, how many the server cut off, and at what age. A \
                 slow reader burdens the server only if the answer is longer than the buffers of the kernel.",
        ..LOAD
    },
    Row {
        name: "slow-senders",
        kind: count(0, 10_000, |bench, number| bench.slow_senders = small(number)),
        default: "0",
        example: "20",
        help: "clients beside the load that send a byte at a time",
        detail: "Like slow readers, but these clients send the request slowly, each byte in a packet of its own.",
        ..LOAD
    },
    Row {
        name: "slow-uploads",
        kind: count(0, 10_000, |bench, number| bench.slow_uploads = small(number)),
        default: "0",
        example: "20",
        help: "clients beside the load that send a body a byte at a time",
        detail: "The head comes at once, so that the server knows how much is to come. They need a body to send: --data or \
                 --form, which the load sends, too.",
        ..LOAD
    },
    Row {
        name: "slow-rate",
        kind: Kind::Number {
            unit: Unit::Rate,
            least: 1,
            most: 1 << 20,
            set: |bench, rate| bench.slow_rate_bytes_per_second = rate,
        },
        default: "1k",
        example: "100",
        help: "speed of each slow client, in bytes per second",
        detail: "With the default a request takes a tenth of a second, and an answer of 10 KB ten seconds. Each byte \
                 of a slow sender is a system call of this program and one of the server: twenty senders at 1k are \
                 20,000 calls a second on each side.",
        ..LOAD
    },
    Row {
        name: "warm-up",
        kind: time(0, |bench, ms| bench.warm_up_ms = ms),
        default: "1s",
        example: "5s",
        help: "time of load before the measurement, counted in no figure",
        detail: "Connections are made, caches fill, and slow starts end.",
        ..LOAD
    },
    Row {
        name: "timeout",
        kind: time(10, |bench, ms| bench.timeout_ms = ms),
        default: "5s",
        example: "1s",
        help: "give up an answer that takes longer",
        detail: "The connection is closed, and a new one replaces it; the report says how many answers were given up.",
        ..LOAD
    },
    Row {
        name: "deadline",
        kind: time(1, |bench, ms| bench.deadline_ms = Some(ms)),
        example: "200ms",
        help: "report how many right answers came within this time",
        detail: "With a rate, the time begins when the request was due, else when it was sent. Late answers are right \
                 all the same, and count in all other figures.",
        ..LOAD
    },
    Row {
        name: "method",
        short: Some('X'),
        kind: Kind::Form { shape: "METHOD", set: set_method },
        example: "HEAD",
        help: "the method; GET, or POST with a body",
        detail: "Any token of RFC 9110, in capitals as servers want it.",
        ..REQUEST
    },
    Row {
        name: "header",
        short: Some('H'),
        kind: Kind::Form { shape: "NAME:VALUE", set: set_header },
        example: "Accept:text/html",
        repeatable: true,
        help: "a field of every request",
        detail: "A field of the name Host, User-Agent, Content-Length or Connection replaces the default one; a \
                 length must be that of the body. With Transfer-Encoding:chunked the body is sent in chunks of 16 \
                 KiB.",
        ..REQUEST
    },
    Row {
        name: "data",
        kind: Kind::Form { shape: "TEXT|@FILE", set: set_data },
        example: "@order.json",
        help: "the body of every request",
        detail: "As typed, or the content of a file; @- is standard input. Set its type with a header.",
        ..REQUEST
    },
    Row {
        name: "form",
        short: Some('F'),
        kind: Kind::Form { shape: "NAME=TEXT|@FILE", set: set_form },
        example: "photo=@cat.jpg",
        repeatable: true,
        help: "a field of a form that every request sends",
        detail: "As a browser uploads it: multipart/form-data. Another multipart type can be set with a header, \
                 without a boundary.",
        ..REQUEST
    },
    Row {
        name: "cookie",
        short: Some('b'),
        kind: Kind::Form { shape: "NAME=VALUE", set: set_cookie },
        example: "session=1234",
        repeatable: true,
        help: "a cookie of every request",
        detail: "Cookies that the server sets are not taken over: all requests are the same.",
        ..REQUEST
    },
    Row {
        name: "urls",
        kind: Kind::Path { shape: "FILE", set: |bench, path| bench.urls = Some(path) },
        example: "urls.txt",
        help: "request the URLs of a list instead, drawn by weight",
        detail: "A line is [WEIGHT] [METHOD] URL; the URL may be a path, the default weight is 1, and # begins a \
                 comment. All URLs must be on the server of the command line's URL, which is itself not requested. \
                 Header fields go with every request; a body goes with all methods except GET and HEAD. Each URL has \
                 a right answer of its own, and its counts and times are reported.",
        ..REQUEST
    },
    Row {
        name: "expect-status",
        kind: Kind::Form { shape: "CODE[,CODE...]", set: set_statuses },
        example: "200,304",
        help: "statuses that are right; any 2xx unless given",
        detail: "An answer with another status counts as an error, and in no other figure.",
        ..CHECKS
    },
    Row {
        name: "check",
        kind: Kind::Choice {
            words: &["body", "sample", "length", "nothing"],
            set: |bench, index| {
                bench.check = [Check::Body, Check::Sample, Check::Length, Check::Nothing][index];
            },
        },
        default: "body",
        example: "length",
        help: "part of each body that must be as in the first answer",
        detail: "`body`: every byte. `sample`: the number of bytes, and every byte of one body in 16, drawn with the \
                 seed: for large bodies, if comparing keeps this program busy. `length`: the number of bytes, for \
                 pages that show the time. `nothing`: for pages whose length varies, too; the body must still have \
                 the length that the head of the answer promises. Answers to HEAD have no body: the length in their \
                 heads is compared, except with `nothing`.",
        ..CHECKS
    },
    Row {
        name: "expect-body",
        kind: Kind::Path { shape: "FILE", set: |bench, path| bench.expect_body = Some(path) },
        example: "expected.html",
        help: "the right body, instead of the first answer's",
        detail: "If the first answer has another body, nothing is measured.",
        ..CHECKS
    },
    Row {
        name: "expect-sha256",
        kind: Kind::Form { shape: "HEX", set: set_sha256 },
        example: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        help: "the SHA-256 that the body of the first answer must have",
        detail: "All later answers must be the same, byte by byte.",
        ..CHECKS
    },
    Row {
        name: "count-hits",
        kind: Kind::Switch { set: |bench, on| bench.count_hits = on },
        default: "off",
        example: "on",
        help: "compare the answers with the requests that the application has seen",
        detail: "If the application is wrapped in the middleware adyton.counting, the middleware is asked before and \
                 after the load. If not, an Adyton server on this machine that has a supervisor is asked how often it \
                 has called the application. The run is invalid if answers came out of a cache, or requests were made \
                 twice.",
        ..CHECKS
    },
    Row {
        name: "accept",
        kind: Kind::Choice {
            words: ACCEPTED,
            set: |bench, index| {
                bench.accepted.extend(ACCEPTED.get(index).filter(|word| !bench.accepted.contains(word)));
            },
        },
        example: "foreign-load",
        repeatable: true,
        help: "show figures of a run that other programs disturbed, marked as disturbed",
        detail: "For desktops, which always have something else to do: instead of INVALID the report says DISTURBED, \
                 and by what. `foreign-load`: other programs kept more than a tenth of a CPU busy. `steal`: the \
                 hypervisor gave more than 2 % of the CPU time to other machines. Rates that --find-rate finds are \
                 then marked `at least`. No other gate can be accepted.",
        ..OUTPUT
    },
    Row {
        name: "fail-if",
        kind: Kind::Form { shape: "CONDITION", set: set_condition },
        example: "p99>50ms",
        repeatable: true,
        help: "exit with 1 if this holds",
        detail: "A figure, one of < and >, and a bound: p50, p90, p95, p99, p99.9, p99.99, max or mean with a time; \
                 rate, errors or cpu (microseconds a request) with a number. With a rate, the time begins when a \
                 request was due. A run that is invalid exits with 1 always.",
        ..OUTPUT
    },
    Row {
        name: "output",
        short: Some('o'),
        kind: Kind::Path { shape: "FILE", set: |bench, path| bench.output.push(path) },
        example: "report.html",
        repeatable: true,
        help: "write the report to a file: .html .json .md .csv .hlog",
        detail: "The name says the format: a page with plots that needs nothing else, JSON, Markdown, CSV, or the \
                 times as a log of HdrHistogram.",
        ..OUTPUT
    },
    Row {
        name: "save",
        kind: Kind::Form { shape: "NAME", set: |bench, name| set_name(&mut bench.save, name) },
        example: "main",
        help: "keep the report, to compare later ones with it",
        detail: "As .adyton-bench/NAME.json in the working directory. A report that is invalid, or of a run that was \
                 interrupted, is not kept.",
        ..OUTPUT
    },
    Row {
        name: "baseline",
        kind: Kind::Form { shape: "NAME", set: |bench, name| set_name(&mut bench.baseline, name) },
        example: "main",
        help: "compare with the report that was kept under this name",
        detail: "With an interval for the ratio of the rates; a difference within the noise is not reported as a \
                 difference.",
        ..OUTPUT
    },
    Row {
        name: "debug",
        kind: Kind::Switch { set: |bench, on| bench.debug = on },
        default: "off",
        example: "on",
        help: "show one request and its answer, and measure nothing",
        detail: "Both are shown byte for byte, except that a long body is cut. If an answer did not come whole, the \
                 part that came is shown, and why it ended.",
        ..OUTPUT
    },
    Row {
        name: "json",
        kind: Kind::Switch { set: |bench, on| bench.json = on },
        default: "off",
        example: "on",
        help: "print the report as JSON",
        detail: "For programs: everything that was counted, and the reasons if the run is invalid.",
        ..OUTPUT
    },
];

/// Checks of the machine that a user may accept as failed: they notice disturbances that come neither from the server
/// nor from this program.
const ACCEPTED: &[&str] = &["foreign-load", "steal"];

/// Whether the text is a token (RFC 9110 section 5.6.2).
fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

pub(super) fn set_method(bench: &mut Bench, text: &str) -> Result<(), String> {
    if !is_token(text) {
        return Err("a method is a word, as GET".to_owned());
    }
    bench.method = Some(text.to_owned());
    Ok(())
}

/// Name and value of a header field.
pub(super) type Field = (String, String);

pub(super) fn field(text: &str) -> Result<Field, String> {
    let (name, value) = text.split_once(':').ok_or("write NAME:VALUE")?;
    if !is_token(name) || value.chars().any(char::is_control) {
        return Err("write NAME:VALUE, without control characters".to_owned());
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

fn set_header(bench: &mut Bench, text: &str) -> Result<(), String> {
    bench.headers.push(field(text)?);
    Ok(())
}

/// Reads the name of a file behind `@`; a hyphen is standard input, as everywhere.
pub(super) fn file(name: &str) -> Result<PathBuf, String> {
    match name {
        "" => Err("the name of the file is missing behind @".to_owned()),
        "-" => Ok("/dev/stdin".into()),
        name => Ok(name.into()),
    }
}

fn text_or_file(text: &str) -> Result<Data, String> {
    let name = text.strip_prefix('@');
    name.map_or_else(|| Ok(Data::Text(text.to_owned())), |name| Ok(Data::File(file(name)?)))
}

fn set_data(bench: &mut Bench, text: &str) -> Result<(), String> {
    bench.data = Some(text_or_file(text)?);
    Ok(())
}

fn set_form(bench: &mut Bench, text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=TEXT or NAME=@FILE")?;
    add_part(bench, FormPart::new(name, text_or_file(value)?))
}

impl FormPart {
    /// Makes a part as browsers send it: a file is sent with the last component of its path as its name.
    pub(super) fn new(name: &str, value: Data) -> Self {
        let filename = match &value {
            Data::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            _ => None,
        };
        Self { name: name.to_owned(), value, filename, media_type: None }
    }
}

pub(super) fn add_part(bench: &mut Bench, part: FormPart) -> Result<(), String> {
    if part.name.is_empty() || part.name.chars().any(|letter| letter.is_control() || letter == '"') {
        return Err("the name of a field has no quotes and no control characters".to_owned());
    }
    let said = [&part.filename, &part.media_type].into_iter().flatten();
    if said.flat_map(|text| text.chars()).any(char::is_control) {
        return Err("the name of a file and its type have no control characters".to_owned());
    }
    match &mut bench.data {
        None => bench.data = Some(Data::Form(vec![part])),
        Some(Data::Form(parts)) => parts.push(part),
        Some(_) => return Err("a body is a form, or data, and not both".to_owned()),
    }
    Ok(())
}

fn set_cookie(bench: &mut Bench, text: &str) -> Result<(), String> {
    add_cookie(&mut bench.headers, text)
}

/// Adds cookies to the one field for all of them (RFC 6265 section 5.4).
pub(super) fn add_cookie(fields: &mut Vec<Field>, text: &str) -> Result<(), String> {
    if !text.contains('=') {
        return Err("write NAME=VALUE".to_owned());
    }
    let (name, value) = field(&format!("Cookie: {text}"))?;
    match fields.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
        None => fields.push((name, value)),
        Some((_, cookies)) => *cookies = format!("{cookies}; {value}"),
    }
    Ok(())
}

fn set_statuses(bench: &mut Bench, text: &str) -> Result<(), String> {
    for code in text.split(',') {
        let status = digits(code.trim())
            .and_then(|code| code.parse().ok())
            .filter(|status| (200..1000).contains(status));
        bench.expect_status.push(status.ok_or("a status is a number from 200 to 999")?);
    }
    Ok(())
}

fn set_sha256(bench: &mut Bench, text: &str) -> Result<(), String> {
    let mut hash = [0; 32];
    let is_hex = text.len() == 2 * hash.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (index, byte) in hash.iter_mut().enumerate().filter(|_| is_hex) {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap_or_default();
    }
    bench.expect_sha256 = Some(is_hex.then_some(hash).ok_or("a SHA-256 has 64 hexadecimal digits")?);
    Ok(())
}

fn set_find_rate(bench: &mut Bench, text: &str) -> Result<(), String> {
    if !text.contains(['<', '>']) {
        return Err("write a condition as p99<50ms".to_owned());
    }
    bench.find_rate = Some(text.to_owned());
    Ok(())
}

fn set_name(place: &mut Option<String>, text: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if text.is_empty() || text.starts_with('.') || !text.bytes().all(is_plain) {
        return Err("a name has letters, digits, and -_. within".to_owned());
    }
    *place = Some(text.to_owned());
    Ok(())
}

fn set_condition(bench: &mut Bench, text: &str) -> Result<(), String> {
    if !text.contains(['<', '>']) {
        return Err("write a condition as p99>50ms".to_owned());
    }
    bench.fail_if.push(text.to_owned());
    Ok(())
}
