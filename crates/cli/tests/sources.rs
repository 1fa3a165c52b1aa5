//! Precedence of flag, keyword, variable and default, and messages about wrong names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

mod common;

use adyton_cli::Settings;
use common::{keywords, refusal, run, serve};

#[test]
fn the_flag_counts_before_the_variable_before_the_default() {
    let backlog =
        |flags: &[&str], variables: &[(&str, &str)]| serve(flags, variables).unwrap().listening.backlog;
    let variable = [("ADYTON_BACKLOG", "10")];

    assert_eq!(backlog(&[], &[]), 4096);
    assert_eq!(backlog(&[], &variable), 10);
    assert_eq!(backlog(&["--backlog", "20"], &variable), 20);
    assert_eq!(backlog(&["--backlog", "20", "--backlog=30"], &variable), 30);
    assert_eq!(backlog(&[], &[("ADYTON_BACKLOG", "")]), 4096);
    assert_eq!(keywords(&[("backlog", &["20"])], &variable).unwrap().listening.backlog, 20);
    assert_eq!(keywords(&[("backlog", &[])], &variable).unwrap().listening.backlog, 10);
}

#[test]
fn lists_replace_the_weaker_list() {
    let paths = |flags: &[&str]| {
        let settings = serve(flags, &[("ADYTON_PYTHON_PATH", "a,b,")]).unwrap();
        settings.application.python_path.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    };

    assert_eq!(paths(&[]), ["a", "b"]);
    assert_eq!(paths(&["--python-path", "c,d", "--python-path", "e"]), ["c,d", "e"]);
}

/// Flags, variables, and the addresses that they make.
type Address = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn the_address_has_one_source() {
    let cases: [Address; 12] = [
        (&[], &[], &["127.0.0.1:8000"]),
        (&["--bind", ":1", "-b", "unix:a"], &[], &["0.0.0.0:1", "unix:a"]),
        (&["--port", "1"], &[], &["127.0.0.1:1"]),
        (&["--host", "::1"], &[], &["[::1]:8000"]),
        (&["--host", "[::1]", "-p", "1"], &[], &["[::1]:1"]),
        (&["--port", "1"], &[("ADYTON_BIND", ":2")], &["127.0.0.1:1"]),
        (&["--bind", ":1"], &[("ADYTON_PORT", "2"), ("ADYTON_HOST", "a")], &["0.0.0.0:1"]),
        (&["--host", "a"], &[("ADYTON_PORT", "2")], &["a:2"]),
        (&[], &[("PORT", "2")], &["0.0.0.0:2"]),
        (&["--host", "a"], &[("PORT", "2")], &["a:2"]),
        (&["--port", "1"], &[("PORT", "2")], &["127.0.0.1:1"]),
        (&[], &[("PORT", "not read"), ("ADYTON_BIND", "a:1,b:2")], &["a:1", "b:2"]),
    ];
    for (flags, variables, expected) in cases {
        let settings = serve(flags, variables).unwrap();
        let addresses: Vec<String> = settings.listening.bind.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, expected, "{flags:?} {variables:?}");
    }
}

#[test]
fn two_addresses_of_equal_weight_are_refused() {
    assert_eq!(
        refusal(&["--bind", ":1", "--port", "2"], &[]),
        "--bind and --port are both given; --bind alone says host and port"
    );
    assert_eq!(
        refusal(&[], &[("ADYTON_BIND", ":1"), ("ADYTON_HOST", "a")]),
        "ADYTON_BIND and ADYTON_HOST are both given; ADYTON_BIND alone says host and port"
    );
    let failure = keywords(&[("bind", &[":1"]), ("host", &["a"])], &[]).unwrap_err();
    assert_eq!(failure.message, "bind and host are both given; bind alone says host and port");
}

#[test]
fn platform_variables_are_honoured_below_ours() {
    let temp_dir = |variables: &[(&str, &str)]| serve(&[], variables).unwrap().messages.temp_dir;

    assert_eq!(temp_dir(&[]).to_str(), Some("/tmp"));
    assert_eq!(temp_dir(&[("TMPDIR", "/a")]).to_str(), Some("/a"));
    assert_eq!(temp_dir(&[("TMPDIR", "/a"), ("ADYTON_TEMP_DIR", "/b")]).to_str(), Some("/b"));
    assert_eq!(refusal(&[], &[("PORT", "x")]), "PORT=x: a port is a number from 0 to 65535");
}

#[test]
fn wrong_names_get_the_nearest_right_one() {
    let cases = [
        ("--keep-alive-tiemout", "--keep-alive-tiemout is not a setting; did you mean --keep-alive-timeout?"),
        ("--bnid=:1", "--bnid is not a setting; did you mean --bind?"),
        ("--header-bytes", "--header-bytes is not a setting; did you mean --header-bytes-max?"),
        ("--accesslog", "--accesslog is not a setting; did you mean --access-log?"),
        ("--python_path", "--python_path is not a setting; did you mean --python-path?"),
        ("--zzzzzz", "--zzzzzz is not a setting; adyton serve --help lists them all"),
        ("-z", "-z is not a setting; adyton serve --help lists them all"),
    ];
    for (flag, expected) in cases {
        assert_eq!(refusal(&[flag], &[]), expected);
    }
    assert_eq!(
        refusal(&[], &[("ADYTON_KEEPALIVE_TIMEOUT", "1")]),
        "ADYTON_KEEPALIVE_TIMEOUT is not a setting; did you mean ADYTON_KEEP_ALIVE_TIMEOUT?"
    );
    let failure = keywords(&[("header_byte_max", &["1k"])], &[]).unwrap_err();
    assert_eq!(failure.message, "header_byte_max is not a setting; did you mean header_bytes_max?");
}

#[test]
fn options_of_other_servers_are_known() {
    let cases = [
        ("--workers=4", "--workers is not a setting; here it is --processes"),
        ("-w4", "-w is not a setting; here it is --processes"),
        ("--timeout", "--timeout is not a setting; here it is --request-timeout"),
        ("--http-socket", "--http-socket is not a setting; here it is --bind"),
        (
            "--limit-request-field_size",
            "--limit-request-field_size is not a setting; here it is --header-field-bytes-max",
        ),
        ("--certfile", "--certfile is not a setting; TLS is the work of a proxy in front"),
        (
            "-c",
            "-c is not a setting; settings are flags or ADYTON_* variables, or stand in a file of sites: adyton serve site.toml",
        ),
        ("--master", "--master is not a setting; it is always so"),
        ("--access-logfile", "--access-logfile is not a setting; did you mean --access-log?"),
    ];
    for (flag, expected) in cases {
        assert_eq!(refusal(&[flag], &[]), expected);
    }
    assert_eq!(
        refusal(&[], &[("ADYTON_WORKERS", "4")]),
        "ADYTON_WORKERS is not a setting; here it is ADYTON_PROCESSES"
    );
    let failure = keywords(&[("timeout", &["30"])], &[]).unwrap_err();
    assert_eq!(failure.message, "timeout is not a setting; here it is request_timeout");
}

#[test]
fn wrong_values_name_their_source() {
    let expected = "backlog=0: out of range, which is from 1 to 65535";

    assert_eq!(refusal(&["--backlog", "0"], &[]), format!("--{}", expected.replace('=', " ")));
    assert_eq!(refusal(&[], &[("ADYTON_BACKLOG", "0")]), expected.replace("backlog", "ADYTON_BACKLOG"));
    assert_eq!(keywords(&[("backlog", &["0"])], &[]).unwrap_err().message, expected);
    assert_eq!(
        keywords(&[("backlog", &["1", "2"])], &[]).unwrap_err().message,
        "backlog takes one value, not 2"
    );
    assert_eq!(refusal(&["--backlog"], &[]), "--backlog needs a value, as in --backlog 1024");
    assert_eq!(
        refusal(&["--bind", "--factory"], &[]),
        "--bind needs a value, as in --bind unix:/run/adyton/site.sock"
    );
}

#[test]
fn other_variables_are_nobody_s_business() {
    let variables = [
        ("PATH", "/bin"),
        ("ADYTON", "x"),
        ("MY_ADYTON_BIND", "x"),
        // Kubernetes sets these in every container beside a service called `adyton`.
        ("ADYTON_SERVICE_HOST", "10.0.0.1"),
        ("ADYTON_SERVICE_PORT_HTTP", "80"),
        ("ADYTON_PORT", "tcp://10.0.0.1:80"),
        ("ADYTON_PORT_80_TCP_ADDR", "10.0.0.1"),
    ];

    assert_eq!(serve(&[], &variables), serve(&[], &[]));
}

#[test]
fn commands_are_few() {
    let cases: [(&[&str], &str); 6] = [
        (&["serv"], "serv is not a command; did you mean adyton serve?"),
        (&["hello.py"], "hello.py is not a command; did you mean adyton serve hello.py?"),
        (
            &["serve"],
            "nothing to serve: give a target, such as mysite.wsgi:application, hello.py or ./public",
        ),
        (
            &["check"],
            "nothing to check: give a target, such as mysite.wsgi:application, hello.py or ./public",
        ),
        (&["serve", "a", "b"], "b is one argument too many: adyton serve takes one target"),
        (&["help", "bnid"], "bnid is not a setting; did you mean --bind?"),
    ];
    for (words, expected) in cases {
        let failure = run(words, &[]).unwrap_err();
        assert_eq!((failure.message.as_str(), failure.status), (expected, 2));
    }
}

#[test]
fn a_program_brings_its_own_target() {
    let Settings { target, located, .. } = keywords(&[], &[]).unwrap();

    assert_eq!((target, located), (None, None));
}
