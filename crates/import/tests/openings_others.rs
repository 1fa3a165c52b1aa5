//! Restrictions of Unit, uWSGI and gunicorn that a file of sites cannot say: a table for each kind.

#![allow(clippy::panic, reason = "a test ends at its first surprise")]

mod common;

use adyton_import::Kind;
use common::Opening;

/// Returns a Unit configuration with these steps, each on a line of its own from 3 on.
fn unit(steps: &[&str]) -> String {
    let app = r#""shop": {"type": "python", "module": "shop"}, "php": {"type": "php", "root": "/srv"}"#;
    format!(
        "{{\"listeners\": {{\"*:80\": {{\"pass\": \"routes\"}}}},\n\"routes\": [\n{}\n],\n\"applications\": {{{app}}}}}",
        steps.join(",\n")
    )
}

const REST: &str = r#"{"action": {"share": "/srv$uri"}}"#;

/// Checks each step in front of one that serves everything: the error names its line, and the path refuses.
fn first_of_two(cases: &[(&str, &str)]) {
    for (step, path) in cases {
        let text = unit(&[step, REST]);
        common::openings(Kind::Unit, "x.json", &[], &[Opening { text: &text, line: 3, path }]);
    }
}

/// A lost step would leave its requests to a later step, so it refuses all requests that it may match.
#[test]
fn conditions_of_unit() {
    first_of_two(&[
        (r#"{"match": {"uri": "/a/*", "if": "$cookie_a"}, "action": {"return": 403}}"#, "/a/"),
        (
            r#"{"match": {"uri": "/a/*", "cookies": {"a": "b"}}, "action": {"pass": "applications/shop"}}"#,
            "/a/",
        ),
        (r#"{"match": {"uri": "/a/*", "scheme": "https"}, "action": {"return": 204}}"#, "/a/"),
        (r#"{"match": {"uri": "!/a/*"}, "action": {"pass": "applications/shop"}}"#, "/"),
        (r#"{"match": {"uri": "~\\.php$"}, "action": {"pass": "applications/php"}}"#, "/"),
        (r#"{"match": {"uri": "/a*"}, "action": {"return": 301, "location": "https://a.example/"}}"#, "/"),
        (r#"{"match": {"uri": "/a/*", "source": "10.0.0.1-10.0.0.9"}, "action": {"return": 204}}"#, "/a/"),
        (r#"{"match": {"uri": "/a/*", "headers": {"X-A": "~x"}}, "action": {"return": 204}}"#, "/a/"),
        (r#"{"match": {"uri": "/a/*", "host": "!a.example"}, "action": {"return": 403}}"#, "/a/"),
        (
            r#"{"match": {"uri": "/a/*", "host": "a.*.example"}, "action": {"pass": "applications/shop"}}"#,
            "/a/",
        ),
        (r#"{"match": {"uri": "/a/*", "host": "~a"}, "action": {"share": "/other$uri"}}"#, "/a/"),
        // A step behind the rewrite may refuse the new path.
        (
            r#"{"match": {"uri": "/a/*"}, "action": {"rewrite": "/denied$uri", "pass": "applications/shop"}}"#,
            "/a/",
        ),
        (
            r#"{"match": {"uri": "/a/*"}, "action": {"share": "/srv$uri", "types": ["!text/x-python"]}}"#,
            "/a/",
        ),
    ]);
    let many: Vec<String> = (0..600)
        .map(|number| format!(r#"{{"match": {{"uri": "/{number}"}}, "action": {{"return": 403}}}}"#))
        .collect();
    let mut steps: Vec<&str> = many.iter().map(String::as_str).collect();
    steps.push(REST);
    common::openings(Kind::Unit, "x.json", &[], &[Opening { text: &unit(&steps), line: 503, path: "/" }]);
}

/// Steps before a lost one are served.
#[test]
fn steps_before_one_that_is_lost() {
    let text = unit(&[
        r#"{"match": {"uri": "/b/*"}, "action": {"return": 204}}"#,
        r#"{"match": {"uri": "~x"}, "action": {"return": 403}}"#,
        REST,
    ]);
    let made = common::with_files(Kind::Unit, "x.json", &text, &[]).unwrap_or_else(|why| panic!("{why}"));

    assert!(made.text.contains("path = \"/b/\"  # x.json:3\nrespond = 204"), "{}", made.text);
    assert!(!made.text.contains("\nfiles = "), "{}", made.text);
}

#[test]
fn users_of_unit() {
    let app =
        |user: &str, more: &str| format!(r#"{{"type": "python", "module": "shop", "user": "{user}"{more}}}"#);
    let two = |first: &str, second: &str| {
        format!(
            "{{\"listeners\": {{\"*:80\": {{\"pass\": \"routes\"}}}}, \"routes\": [\
             {{\"match\": {{\"uri\": \"/a/*\"}}, \"action\": {{\"pass\": \"applications/a\"}}}},\n\
             {{\"action\": {{\"pass\": \"applications/b\"}}}}], \"applications\": {{\n\"a\": {first},\n\"b\": {second}}}}}"
        )
    };
    let texts = [
        (two(&app("ann", ""), &app("bob", "")), 4, "/"),
        // An application without a user runs as the user of unitd.
        (two(&app("ann", ""), r#"{"type": "python", "module": "shop"}"#), 4, "/"),
        (two(r#"{"type": "python", "module": "shop"}"#, &app("bob", "")), 4, "/"),
        (two(&app("", ""), &app("", "")), 3, ""),
        (two(&app("ann", ""), &app("ann", r#", "isolation": {"rootfs": "/srv/root"}"#)), 4, "/"),
    ];
    for (text, line, path) in &texts {
        common::openings(Kind::Unit, "x.json", &[], &[Opening { text, line: *line, path }]);
    }
    let same = two(&app("ann", ""), &app("ann", ""));
    common::kept(
        Kind::Unit,
        "x.json",
        &[],
        &[(&same, "user = \"ann\""), (&unit(&[REST]), "the user of unitd")],
    );
    let forwarded =
        unit(&[REST]).replace("\"routes\"}}", "\"routes\", \"forwarded\": {\"client_ip\": \"X\"}}}");
    common::openings(Kind::Unit, "x.json", &[], &[Opening { text: &forwarded, line: 1, path: "" }]);
}

/// Checks lines of `[uwsgi]` beside an application, from line 3 on.
fn uwsgi(cases: &[(&str, usize, &str)]) {
    let texts: Vec<String> =
        cases.iter().map(|(text, ..)| format!("[uwsgi]\nmodule = shop\n{text}\n")).collect();
    let cases: Vec<Opening<'_>> =
        texts.iter().zip(cases).map(|(text, (_, line, path))| Opening { text, line: *line, path }).collect();
    common::openings(Kind::Uwsgi, "x.ini", &[], &cases);
}

#[test]
fn openings_of_uwsgi() {
    uwsgi(&[
        // Conditions.
        ("if-env = STAGE\nuid = www-data\nendif =", 3, ""),
        ("if-not-env = STAGE\nhttp-socket = :80\nendif =", 3, ""),
        ("if-exists = /etc/closed\nendif =", 3, ""),
        ("for = a b\nmount = /%(_)=%(_).py\nendfor =", 3, ""),
        // Rules.
        ("route = ^/a break:403", 3, ""),
        ("route-if = equal:${HTTP_X};%(secret) break:403", 3, ""),
        ("final-route = ^/a rewrite:/denied", 3, ""),
        ("response-route-status = 200 break:403", 3, ""),
        // Ways to TLS.
        ("http = :80\nhttp-to-https = :8080", 4, ""),
        ("https = :443,a.pem,a.key,HIGH,ca.pem", 3, ""),
        // Names of hosts.
        ("mount = a.example=other.py", 3, ""),
        ("vhost = true", 3, ""),
        ("vhost-host = true", 3, ""),
        // Users.
        ("uid = @(/etc/user)", 3, ""),
        ("uid = $(USER)", 3, ""),
        ("gid = %(group)", 3, ""),
        ("uid = ", 3, ""),
        ("immediate-uid = $(USER)", 3, ""),
        ("chroot = /srv/root", 3, ""),
        ("namespace = /srv/root", 3, ""),
        // Keys that ask somebody before a request is answered.
        ("strange-auth = yes", 3, ""),
        ("deny-list = /etc/list", 3, ""),
        // Files that the application answers.
        ("static-map = /static=/srv\nstatic-skip-ext = .php", 4, "/static/"),
    ]);
    common::kept(
        Kind::Uwsgi,
        "x.ini",
        &[],
        &[
            ("[uwsgi]\nmodule = shop\nimmediate-uid = www-data", "user = \"www-data\""),
            (
                "[uwsgi]\nmodule = shop\nhttp-to-https = :80\nhttps = :443,a,b",
                "the proxy in front, which has TLS",
            ),
            ("[uwsgi]\nmodule = shop\ndel-header = X-Inside", "remove-headers = [\"X-Inside\"]"),
            ("[uwsgi]\nmodule = shop\nadd-header = X-A: b", "add-headers = { X-A = \"b\" }"),
            ("[uwsgi]\nmodule = shop\nvhost = false", "app = "),
        ],
    );
}

/// Code that may assign the names that deny some clients or choose the user is refused.
#[test]
fn openings_of_gunicorn() {
    let cases = [
        ("user = os.environ[\"USER\"]", 2),
        ("user: str = name()", 2),
        ("if os.geteuid() == 0:\n    user = \"www-data\"", 3),
        ("if os.geteuid() == 0: user = \"www-data\"", 2),
        ("for name in names:\n    group = name", 3),
        ("from settings import *", 2),
        ("from settings import bind, user", 2),
        ("globals().update(settings)", 2),
        ("cert_reqs = ssl.CERT_REQUIRED", 2),
        ("cert_reqs = 2", 2),
        ("def pre_request(worker, req):\n    raise ValueError", 2),
        ("user = \"\"", 2),
    ];
    for (text, line) in cases {
        let text = format!("wsgi_app = \"shop\"\n{text}\n");

        common::openings(Kind::Gunicorn, "x.py", &[], &[Opening { text: &text, line, path: "" }]);
    }
    common::kept(
        Kind::Gunicorn,
        "x.py",
        &[],
        &[
            ("wsgi_app = \"shop\"\nuser = \"www-data\"", "user = \"www-data\""),
            ("wsgi_app = \"shop\"\ndef post_fork(server, worker):\n    user = 1\n    group = 2\n", "app = "),
            ("wsgi_app = \"shop\"\nfrom os import environ, path\nworkers = len(environ)", "app = "),
        ],
    );
    let clear =
        "wsgi_app = \"shop\"\nbind = \":443\"\nif path.exists(\"a.pem\"):\n    certfile = \"a.pem\"\n";
    let made = common::with_files(Kind::Gunicorn, "x.py", clear, &[]).unwrap_or_else(|why| panic!("{why}"));
    assert!(!made.text.contains("\nbind = "), "what had TLS is served in the clear\n{}", made.text);
}
