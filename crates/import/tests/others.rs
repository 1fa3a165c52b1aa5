//! `httpd.conf`, Unit's JSON, `uwsgi.ini` and `gunicorn.conf.py` in, exact files of sites out, and exact messages about
//! files with mistakes.

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
fn apache() {
    common::cases(Kind::Apache, "apache");
}

/// An `.htaccess` counts only if `AllowOverride` lets it count, and then like a section of its folder.
#[test]
fn htaccess() {
    let files = [("/srv/a/.htaccess", "Require ip 10.0.0.1"), ("/srv/a/b/.htaccess", "Require all denied")];
    for (override_, has) in [("None", false), ("All", true)] {
        let text =
            format!("DocumentRoot /srv/a\n<Directory /srv/a>\nAllowOverride {override_}\n</Directory>");
        let made =
            with_files(Kind::Apache, "httpd.conf", &text, &files).map(|made| made.text).unwrap_or_default();

        assert_eq!(has, made.contains("allow = [\"10.0.0.1\"]  # /srv/a/.htaccess:1"), "{made}");
        assert_eq!(has, made.contains("path = \"/b/\""), "{made}");
    }
}

/// Debian's Apache is started with variables from a file beside its own.
#[test]
fn debian_variables() {
    let envvars = "unset HOME\nexport APACHE_RUN_USER=www-data\nexport APACHE_LOG_DIR=/var/log/apache2$SUFFIX\nexport LANG=$(x)\n";
    let text = "User ${APACHE_RUN_USER}\nErrorLog ${APACHE_LOG_DIR}/error.log\nDocumentRoot /srv/${LANG}\n";
    let made = |name: &str| {
        with_files(Kind::Apache, name, text, &[("envvars", envvars)])
            .map(|made| made.text)
            .unwrap_or_default()
    };
    let told = made("/etc/apache2/apache2.conf");

    assert!(told.contains("user = \"www-data\""), "{told}");
    assert!(told.contains("error-log = \"/var/log/apache2/error.log\""), "{told}");
    assert!(told.contains("respond = 503"), "{told}");
    assert!(!made("httpd.conf").contains("www-data"));
}

#[test]
fn mistakes() {
    let files = [("b.ini", "[uwsgi]\nini = b.ini")];
    let cases = [
        (Kind::Apache, "<Location /a>", "x:1: <location> has no end"),
        (Kind::Unit, "{}", "x:1: there are no listeners in it"),
        (Kind::Unit, "{\n\"a\": tru}", "x:2: this is no value"),
        (Kind::Uwsgi, "", "x:1: there is no section [uwsgi] in it"),
        (
            Kind::Uwsgi,
            "[uwsgi]\n\ninclude = a.ini",
            "x:3: a.ini: there is no such file; restrictions in it would be lost",
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
        ("x", "\n<VirtualHost *:80>\n", Some(Kind::Apache)),
        (".htaccess", "", Some(Kind::Apache)),
        ("site.ini", "a = b\n", None),
    ];
    for (name, text, expected) in cases {
        assert_eq!(expected, Kind::detect(name, text), "{name} {text}");
    }
}
