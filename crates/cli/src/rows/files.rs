//! Static files: what is served from disk, and how.

use std::path::PathBuf;
use std::str::FromStr;

use crate::settings::may_set::MaySet;
use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// Static files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the user, not a state of ours")]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Files {
    pub statics: Vec<StaticMount>,
    pub static_listing: bool,
    pub static_cache_control: Option<String>,
    /// Relative to the folder that is served.
    pub static_404: Option<String>,
    /// Relative to the folder that is served.
    pub static_fallback: Option<String>,
    pub static_fall_through: bool,
    pub static_precompressed: bool,
    pub static_symlinks: bool,
    /// The words for the keys that folders may set in their `.adyton.toml`; the field `htaccess` holds the words for
    /// `.htaccess` files.
    pub may_set: MaySet,
    pub htaccess: MaySet,
    /// Names of the files that are read like Apache's `.htaccess`; empty: that name alone.
    pub htaccess_names: Vec<String>,
    pub static_cache_bytes_max: u64,
    pub static_cache_file_bytes_max: u64,
}

impl<S: Has<Files>> Section<S> for Files {
    const HEADING: &'static str = "Static files";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "static",
            short: Some('s'),
            kind: Kind::Form {
                shape: "PREFIX=DIR",
                set: |settings, text| text.parse().map(|mount| settings.as_mut().statics.push(mount)),
            },
            example: "/=.",
            repeatable: true,
            help: "serve a folder under a prefix of the path",
            detail: "`--static /static=static/` answers `/static/site.css` with `static/site.css`, without asking the \
                     application. The longest matching prefix applies, and `/app` does not match `/apple`. Files \
                     whose names begin with a dot, sources and devices are never served. If the folder does not exist \
                     at the start, a warning is logged, and the folder is served as soon as it exists.",
            ..Self::ROW
        },
        Row {
            name: "static-listing",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().static_listing = on },
            default: "off",
            example: "on",
            help: "list folders that have no index.html",
            detail: "The default is `off`, because a list shows files that no page links to: a folder without \
                     `index.html` is answered 404.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "static-cache-control",
            kind: Kind::Form {
                shape: "TEXT",
                set: |settings, text| {
                    field_value(text).map(|value| settings.as_mut().static_cache_control = Some(value))
                },
            },
            example: "public, max-age=3600",
            help: "Cache-Control field of static files",
            detail: "Sent as it is. Without this field, browsers guess how long a file is fresh, and ask again with \
                     its ETag.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "static-404",
            kind: Kind::Form {
                shape: "FILE",
                set: |settings, text| beneath(text).map(|path| settings.as_mut().static_404 = Some(path)),
            },
            example: "404.html",
            help: "page for missing files, with status 404",
            detail: "A file beneath the folder that is served.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "static-fallback",
            kind: Kind::Form {
                shape: "FILE",
                set: |settings, text| {
                    beneath(text).map(|path| settings.as_mut().static_fallback = Some(path))
                },
            },
            example: "index.html",
            help: "page for missing files, with status 200",
            detail: "For single-page applications, which choose the view in the browser. The page answers only \
                     requests that accept HTML and whose path has no extension in its last segment, so that a missing \
                     script stays a 404. It is a file beneath the folder that is served.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "static-fall-through",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().static_fall_through = on },
            default: "off",
            example: "on",
            help: "let the application answer for missing files",
            detail: "Off: a file that is missing under a static prefix is a 404, at no cost for the application.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "static-precompressed",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().static_precompressed = on },
            default: "on",
            example: "off",
            help: "send .br, .zst and .gz neighbours of a file",
            detail: "A neighbour is sent if the client accepts its encoding and the neighbour is not older than the \
                     file. If there are no such files, `off` saves looking for them on the disk.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "static-symlinks",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().static_symlinks = on },
            default: "off",
            example: "on",
            help: "follow symbolic links beneath the folder",
            detail: "Even when on, a link that leads out of the folder is a 404.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "may-set",
            kind: Kind::Form { shape: "WORD", set: |settings, text| settings.as_mut().may_set.add(text) },
            example: "headers",
            repeatable: true,
            help: "keys that folders may set in an .adyton.toml",
            detail: "Such a file applies to its folder and to all folders beneath. The word `allow` stands for the \
                     keys `allow` and `deny`, `auth` for all keys with that prefix, `headers` also for `add-headers` \
                     and `remove-headers`, `cache-control` for itself, `errors` for `error-pages`, and `redirect` for \
                     tables `[[redirects]]`. With `cgi`, a folder may have its programs run, by `cgi = true`, or by \
                     interpreters that `cgi-interpreters` names; with `scripts`, it may make its Python files pages, \
                     by `scripts = true`; with `index`, it may name the files that answer for the folder itself. A \
                     client has to be let in by the route and by each folder on the way. A change applies within a \
                     second. If such a file has a mistake, or a key that these words do not allow, the mistake is \
                     logged, and everything beneath the folder is answered 500. With this setting, paths are compared \
                     in their decoded form, also on the command line, and symbolic links are not followed. In a file \
                     of sites, the list of a route replaces that of its site; with `none`, folders may set no key.",
            scope: Scope::Route,
            clear: Some(|settings| settings.as_mut().may_set = MaySet::default()),
            ..Self::ROW
        },
        Row {
            name: "htaccess",
            kind: Kind::Form { shape: "WORD", set: |settings, text| settings.as_mut().htaccess.add(text) },
            example: "auth",
            repeatable: true,
            help: "keys that folders may set in an .htaccess",
            detail: "Like `may-set`, with the same words, for files in Apache's format. If a directive that restricts \
                     access cannot be carried over, everything beneath the folder is answered 500; other directives \
                     that this server does not support are logged.",
            scope: Scope::Route,
            clear: Some(|settings| settings.as_mut().htaccess = MaySet::default()),
            ..Self::ROW
        },
        Row {
            name: "htaccess-names",
            kind: Kind::Form {
                shape: "NAME",
                set: |settings, text| {
                    htaccess_name(text).map(|name| settings.as_mut().htaccess_names.push(name))
                },
            },
            example: ".settings",
            repeatable: true,
            help: "names of the files that htaccess reads",
            detail: "The default is `.htaccess`. In each folder only the first of these files that exists is read, as \
                     with `AccessFileName` in Apache. The names must begin with a dot, so that the files are never \
                     served. In a file of sites, the list of a route replaces that of its site.",
            scope: Scope::Route,
            clear: Some(|settings| settings.as_mut().htaccess_names = Vec::new()),
            ..Self::ROW
        },
        Row {
            name: "static-cache-bytes-max",
            kind: bytes(1 << 40, |settings, number| settings.as_mut().static_cache_bytes_max = number),
            default: "32m",
            example: "256m",
            help: "memory for small files, of all folders",
            detail: "All folders share this cache. A file in the cache is sent without opening it, and is never \
                     stale: its size, times and inode are compared with the disk. 0 turns the cache off.",
            ..Self::ROW
        },
        Row {
            name: "static-cache-file-bytes-max",
            kind: bytes(1 << 30, |settings, number| settings.as_mut().static_cache_file_bytes_max = number),
            default: "8k",
            example: "64k",
            help: "largest file whose content is kept in memory",
            detail: "The kernel sends larger files from its own cache, which costs less than a copy in the server.",
            ..Self::ROW
        },
    ];
}

/// A folder of files under a prefix of the URL's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticMount {
    /// The prefix without a slash at its end: `/static`, or empty for the root.
    pub prefix: String,
    /// The folder.
    pub dir: PathBuf,
}

impl FromStr for StaticMount {
    type Err = String;

    fn from_str(text: &str) -> Result<StaticMount, String> {
        let (prefix, dir) = text.split_once('=').ok_or("write PREFIX=DIR, as in /static=static/")?;
        if !prefix.starts_with('/') {
            return Err("the prefix starts with a slash, as in /static=static/".to_owned());
        }
        if dir.is_empty() {
            return Err("the folder behind the equals sign is missing".to_owned());
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        // The prefix is compared with the raw path, so it must have one spelling only.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_segment =
            |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_plain);
        if !prefix.split('/').skip(1).all(is_segment) {
            return Err("a prefix has letters, digits and -._~ between single slashes".to_owned());
        }
        Ok(StaticMount { prefix: prefix.to_owned(), dir: dir.into() })
    }
}

const fn bytes<S>(most: u64, set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Bytes, least: 0, most, set }
}

/// Checks a field value of RFC 9110 section 5.5, in ASCII: it is sent as it is.
pub(super) fn field_value(text: &str) -> Result<String, String> {
    let is_visible = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if text.is_empty() || text.trim() != text || !text.bytes().all(is_visible) {
        return Err("a field has visible ASCII characters, and no space at its ends".to_owned());
    }
    Ok(text.to_owned())
}

/// Checks that a path cannot leave its folder; slashes in front of the path are dropped.
fn beneath(text: &str) -> Result<String, String> {
    let path = text.trim_start_matches('/');
    if path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("write a file beneath the folder that is served, as in errors/404.html".to_owned());
    }
    Ok(path.to_owned())
}

/// Checks a name of a file that is read like Apache's `.htaccess`, and never served.
fn htaccess_name(text: &str) -> Result<String, String> {
    // A folder `.well-known` at the top is served.
    let is_served = !text.starts_with('.') || text == ".well-known";
    if is_served || matches!(text, "." | "..") || text.contains(['/', '\0']) {
        return Err(
            "such a name begins with a dot and has no slash, as .htaccess, so that its file is never served"
                .to_owned(),
        );
    }
    if text == ".adyton.toml" {
        return Err("a file of this name is read for may-set".to_owned());
    }
    Ok(text.to_owned())
}
