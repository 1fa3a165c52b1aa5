//! Spellings of values: addresses, sizes, times, rates, switches, mounts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

mod common;

use std::path::PathBuf;

use adyton_cli::{AccessLogFormat, Bind, Messages, StaticMount, Unit};
use adyton_log::sink::{Destination, SyslogAddress};
use common::{refusal, serve};

#[test]
fn addresses_are_read_and_written_back() {
    let tcp = |host: &str, port| Bind::Tcp { host: host.to_owned(), port };
    let cases = [
        ("127.0.0.1:8000", tcp("127.0.0.1", 8000), "127.0.0.1:8000"),
        ("localhost:0", tcp("localhost", 0), "localhost:0"),
        ("my_host-1.example:65535", tcp("my_host-1.example", 65535), "my_host-1.example:65535"),
        (":80", tcp("0.0.0.0", 80), "0.0.0.0:80"),
        ("[::1]:80", tcp("::1", 80), "[::1]:80"),
        ("[fe80::1%eth0]:80", tcp("fe80::1%eth0", 80), "[fe80::1%eth0]:80"),
        ("unix:/run/a.sock", Bind::Unix("/run/a.sock".into()), "unix:/run/a.sock"),
        ("unix:a:b", Bind::Unix("a:b".into()), "unix:a:b"),
        ("unix:@a b", Bind::Abstract("a b".into()), "unix:@a b"),
        ("unix:@@", Bind::Abstract("@".into()), "unix:@@"),
        ("unix:./@a", Bind::Unix("./@a".into()), "unix:./@a"),
        ("fd://3", Bind::Fd(3), "fd://3"),
    ];
    for (text, expected, written) in cases {
        let bind: Bind = text.parse().unwrap();
        assert_eq!(bind, expected, "{text}");
        assert_eq!(bind.to_string(), written, "{text}");
        assert_eq!(written.parse::<Bind>().unwrap(), expected, "{text}");
    }
}

#[test]
fn wrong_addresses_are_refused_with_the_right_form() {
    let long = format!("unix:/{}", "a".repeat(107));
    let long_name = format!("unix:@{}", "a".repeat(108));
    let cases = [
        ("8000", "write :8000"),
        ("localhost", "HOST:PORT"),
        ("http://localhost:80", "write the address alone: localhost:80"),
        ("::1:80", "[::1]:8000"),
        ("[::1", "[::1]:8000"),
        ("[::1]", "[::1]:8000"),
        ("[1.2.3.4]:80", "1.2.3.4 is not an IPv6 address"),
        ("a b:80", "\"a b\" is neither"),
        ("*:80", "0.0.0.0 is every address"),
        ("a:", "a port is a number"),
        ("a:+80", "a port is a number"),
        ("a:65536", "a port is a number"),
        ("a:-1", "a port is a number"),
        ("unix:", "path of the socket is missing"),
        (&long, "at most 107 bytes"),
        ("unix:@", "the name of the socket is missing"),
        (&long_name, "at most 108 bytes"),
        ("fd://", "fd://3"),
        ("fd://-1", "fd://3"),
        ("fd://99999999999", "fd://3"),
        ("", "HOST:PORT"),
    ];
    for (text, hint) in cases {
        let message = text.parse::<Bind>().unwrap_err();
        assert!(message.contains(hint), "{text:?}: {message}");
    }
}

#[test]
fn numbers_have_units() {
    let cases = [
        (Unit::Bytes, "0", Some(0)),
        (Unit::Bytes, "65536", Some(65536)),
        (Unit::Bytes, "64k", Some(65536)),
        (Unit::Bytes, "64K", Some(65536)),
        (Unit::Bytes, "1.5m", Some(3 << 19)),
        (Unit::Bytes, "1g", Some(1 << 30)),
        (Unit::Bytes, "18446744073709551615", Some(u64::MAX)),
        (Unit::Bytes, "18446744073709551616", None),
        (Unit::Bytes, "18446744073709551615k", None),
        (Unit::Bytes, "1.5", None),
        (Unit::Bytes, "0.1m", None),
        (Unit::Bytes, "64 k", None),
        (Unit::Bytes, "64kb", None),
        (Unit::Bytes, "k", None),
        (Unit::Bytes, "+1", None),
        (Unit::Bytes, "-1", None),
        (Unit::Bytes, "0x10", None),
        (Unit::Bytes, "1_000", None),
        (Unit::Bytes, "", None),
        (Unit::Bytes, ".5k", None),
        (Unit::Bytes, "1.k", None),
        (Unit::Bytes, "1.2.3k", None),
        (Unit::Bytes, "1.0000000k", None),
        (Unit::Bytes, "٣", None),
        (Unit::Duration, "500ms", Some(500)),
        (Unit::Duration, "30s", Some(30_000)),
        (Unit::Duration, "30", Some(30_000)),
        (Unit::Duration, "0.25", Some(250)),
        (Unit::Duration, "1.5s", Some(1_500)),
        (Unit::Duration, "2m", Some(120_000)),
        (Unit::Duration, "1h", Some(3_600_000)),
        (Unit::Duration, "0.5ms", None),
        (Unit::Duration, "1d", None),
        (Unit::Duration, "1m30s", None),
        (Unit::Rate, "500", Some(500)),
        (Unit::Rate, "500/s", Some(500)),
        (Unit::Rate, "2k/s", Some(2048)),
        (Unit::Rate, "/s", None),
        (Unit::Count, "4096", Some(4096)),
        (Unit::Count, "4k", None),
        (Unit::Count, "1.5", None),
    ];
    for (unit, text, expected) in cases {
        assert_eq!(unit.parse(text), expected, "{unit:?} {text:?}");
    }
}

/// Numbers are read back from the text that shows them: small numbers, powers, and their neighbours.
#[test]
fn numbers_are_shown_as_they_are_read() {
    let powers = (0..63).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
    let times = (0..5_000).map(|count| count * 500);
    for number in powers.chain(times) {
        for unit in [Unit::Count, Unit::Bytes, Unit::Duration, Unit::Rate] {
            let shown = unit.show(number);
            assert_eq!(unit.parse(&shown), Some(number), "{unit:?} {shown}");
        }
    }
    let cases =
        [(Unit::Bytes, 100 << 20, "100m"), (Unit::Duration, 60_000, "1m"), (Unit::Duration, 90_000, "90s")];
    for (unit, number, expected) in cases {
        assert_eq!(unit.show(number), expected);
    }
}

#[test]
fn switches_have_many_words_and_stand_alone() {
    let is_on = |flag: &str| serve(&[flag], &[]).unwrap().application.factory;
    for word in ["on", "ON", "true", "True", "yes", "1"] {
        assert!(is_on(&format!("--factory={word}")), "{word}");
    }
    for word in ["off", "false", "no", "0"] {
        assert!(!is_on(&format!("--factory={word}")), "{word}");
    }
    assert!(is_on("--factory"));
    assert_eq!(refusal(&["--factory=maybe"], &[]), "--factory maybe: a switch is on or off");
    assert!(refusal(&["--factory", "on"], &[]).ends_with("a switch its value as in --factory=on"));
}

#[test]
fn mounts_have_one_spelling() {
    let cases =
        [("/static=a", "/static"), ("/static/=a", "/static"), ("/=a", ""), ("/a/b-c_d.~=a", "/a/b-c_d.~")];
    for (text, prefix) in cases {
        let mount = StaticMount { prefix: prefix.to_owned(), dir: "a".into() };
        assert_eq!(text.parse(), Ok(mount), "{text}");
    }
    assert_eq!("/a=b=c".parse::<StaticMount>().unwrap().dir, PathBuf::from("b=c"));
    let wrong = [
        "", "/a", "a=b", "=b", "/a=", "//=b", "/a//b=c", "/./a=c", "/a/..=c", "/a%20=c", "/a?=c", "/ä=c",
        "/a b=c",
    ];
    for text in wrong {
        assert!(text.parse::<StaticMount>().is_err(), "{text}");
    }
}

#[test]
fn texts_are_checked_where_they_are_used_as_they_are() {
    let cases = [
        (["--server-header", "a\r\nb: c"], "visible ASCII"),
        (["--server-header", " a"], "no space at its ends"),
        (["--static-cache-control", "ä"], "visible ASCII"),
        (["--static-404", "../secret"], "beneath the folder"),
        (["--static-404", "/"], "beneath the folder"),
        (["--static-fallback", "a//b"], "beneath the folder"),
        (["--env", "NAME"], "NAME=VALUE"),
        (["--env", "=a"], "NAME=VALUE"),
        (["--access-log-format", "combind"], "choose common, combined, json"),
        (["--access-log-format", "%h\n"], "choose common, combined, json"),
        (["--log-level", "warn"], "choose debug, info, warning or error"),
        (["--threads", "0"], "from 1 to 4096"),
        (["--hand-over", "sometimes"], "choose auto, always or never"),
        (["--chdir", ""], "write a path"),
        (["--access-log", ""], "write the path of a file"),
    ];
    for (flags, hint) in cases {
        let message = refusal(&flags, &[]);
        assert!(message.starts_with(&flags.join(" ")) && message.contains(hint), "{message}");
    }
}

#[test]
fn logs_have_names_and_atoms() {
    let log = |value: &str| serve(&["--access-log", value], &[]).unwrap().logging.access_log;
    assert_eq!(log("off"), None);
    assert_eq!(log("-"), Some(Destination::Standard));
    assert_eq!(log("./off"), Some(Destination::File("./off".into())));
    assert_eq!(log("syslog"), Some(Destination::Syslog(SyslogAddress::Local("/dev/log".into()))));
    assert_eq!(log("syslog:/run/log"), Some(Destination::Syslog(SyslogAddress::Local("/run/log".into()))));
    assert_eq!(
        log("syslog:[::1]:514"),
        Some(Destination::Syslog(SyslogAddress::Remote("[::1]:514".to_owned())))
    );

    let format = |value: &str| serve(&["--access-log-format", value], &[]).unwrap().logging.access_log_format;
    assert_eq!(format("json").atoms(), None);
    assert!(format("combined").atoms().unwrap().starts_with(format("common").atoms().unwrap()));
    assert_eq!(format("%h %D"), AccessLogFormat::Atoms("%h %D".to_owned()));
}

#[test]
fn the_defaults_are_those_of_the_rules() {
    let Messages { request_line_bytes_max, header_bytes_max, header_fields_max, body_bytes_max, .. } =
        serve(&[], &[]).unwrap().messages;

    assert_eq!((request_line_bytes_max, header_bytes_max, header_fields_max), (8192, 65536, 100));
    assert_eq!(body_bytes_max, 104_857_600);
    assert_eq!(serve(&[], &[]).unwrap().messages.server_header.as_deref(), Some("adyton"));
    assert_eq!(serve(&["--server-header", "off"], &[]).unwrap().messages.server_header, None);
}
