//! Unit's JSON, uwsgi.ini and gunicorn.conf.py in, exact files of sites out, and exact sentences about what is none of them.

mod common;

use adyton_import::Kind;
use common::with_files;

#[test]
fn gunicorn() {
    common::cases(Kind::Gunicorn, "gunicorn");
}

#[test]
fn uwsgi() {
    common::cases(Kind::Uwsgi, "uwsgi");
}

#[test]
fn unit() {
    common::cases(Kind::Unit, "unit");
}

#[test]
fn mistakes() {
    let files = [("b.ini", "[uwsgi]\nini = b.ini")];
    let cases = [
        (Kind::Uwsgi, "", "x:1: there is no section [uwsgi] in it"),
        (
            Kind::Uwsgi,
            "[uwsgi]\n\ninclude = a.ini",
            "x:3: a.ini: there is no such file; what it restricts would be lost",
        ),
        (Kind::Uwsgi, "[uwsgi]\ninclude = b.ini", "b.ini:1: this file includes itself"),
    ];
    for (kind, text, expected) in cases {
        let found = with_files(kind, "x", text, &files).map(|made| made.text);

        assert_eq!(Err(expected.to_owned()), found, "{text}");
    }
}

#[test]
fn kinds_are_found_out() {
    let cases = [
        ("nginx.conf", "", Some(Kind::Nginx)),
        ("site", "# a\nserver {\n}\n", Some(Kind::Nginx)),
        ("gunicorn.conf.py", "", Some(Kind::Gunicorn)),
        ("config.json", "\n{\"listeners\": {}}", Some(Kind::Unit)),
        ("site.ini", "# a\n[uwsgi]\n", Some(Kind::Uwsgi)),
        ("site.ini", "a = b\n", None),
    ];
    for (name, text, expected) in cases {
        assert_eq!(expected, Kind::detect(name, text), "{name} {text}");
    }
}
