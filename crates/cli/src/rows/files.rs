//! Static files: what is served from disk, and how.

use crate::settings::row::{Kind, Row, Scope};
use crate::settings::typed::Settings;
use crate::settings::units::Unit;

const GROUP: Row = Row { group: "Static files", ..Row::EMPTY };

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "static",
        short: Some('s'),
        kind: Kind::Form {
            shape: "PREFIX=DIR",
            set: |settings, text| text.parse().map(|mount| settings.statics.push(mount)),
        },
        example: "/=.",
        repeatable: true,
        help: "serve a folder under a prefix of the path",
        detail: "`--static /static=static/` answers `/static/site.css` with `static/site.css`, without asking \
                 the application. The longest prefix that fits counts, and `/app` does not fit `/apple`. Files \
                 that begin with a dot, sources and devices are never served. A folder that does not exist yet is a \
                 warning at the start, and is served as soon as it does.",
        ..GROUP
    },
    Row {
        name: "static-listing",
        kind: Kind::Switch { set: |settings, on| settings.static_listing = on },
        default: "off",
        example: "on",
        help: "list folders that have no index.html",
        detail: "Off, because a list shows files that no page links to; such a folder is then a 404.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "static-cache-control",
        kind: Kind::Form {
            shape: "TEXT",
            set: |settings, text| field_value(text).map(|value| settings.static_cache_control = Some(value)),
        },
        example: "public, max-age=3600",
        help: "Cache-Control field of static files",
        detail: "Sent as it is. Without it browsers guess how long a file is fresh, and ask again with its ETag.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "static-404",
        kind: Kind::Form {
            shape: "FILE",
            set: |settings, text| beneath(text).map(|path| settings.static_404 = Some(path)),
        },
        example: "404.html",
        help: "page for what does not exist, status 404",
        detail: "A file beneath the folder that is served.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "static-fallback",
        kind: Kind::Form {
            shape: "FILE",
            set: |settings, text| beneath(text).map(|path| settings.static_fallback = Some(path)),
        },
        example: "index.html",
        help: "page for what does not exist, status 200",
        detail: "For applications of one page that route in the browser. Only for requests that accept HTML and \
                 whose last part has no extension, so that a missing script stays a 404. A file beneath the \
                 folder that is served.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "static-fall-through",
        kind: Kind::Switch { set: |settings, on| settings.static_fall_through = on },
        default: "off",
        example: "on",
        help: "let the application answer for missing files",
        detail: "Off: a file that is missing under a static prefix is a 404, at no cost for the application.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "static-precompressed",
        kind: Kind::Switch { set: |settings, on| settings.static_precompressed = on },
        default: "on",
        example: "off",
        help: "send .br, .zst and .gz neighbours of a file",
        detail: "When the client accepts the encoding and the neighbour is not older than the file. Off saves \
                 the look at the disk for neighbours when there are none.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "static-symlinks",
        kind: Kind::Switch { set: |settings, on| settings.static_symlinks = on },
        default: "off",
        example: "on",
        help: "follow symbolic links beneath the folder",
        detail: "Even when on, a link that leads out of the folder is a 404.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "may-set",
        kind: Kind::Form { shape: "WORD", set: |settings, text| settings.may_set.add(text) },
        example: "headers",
        repeatable: true,
        help: "what folders may say in an .adyton.toml",
        detail: "For the folder that it stands in, and all beneath it. `allow` are `allow` and `deny`, `auth` all keys that begin so, \
                 `headers` also `add-headers` and `remove-headers`, `cache-control` itself, `errors` is `error-pages`, `redirect` are \
                 tables `[[redirects]]`, `cgi` has programs in the folder run, with `cgi = true`, or by programs that `cgi-interpreters` \
                 names, `scripts` has its Python files be pages, with `scripts = true`, and `index` is `index`, the files that answer for the folder. To be let in, a client has to be let in by the route and by each folder on the way. A \
                 change counts within a second. What is wrong in such a file, or not among these words, is told in the log, and \
                 all beneath it is answered 500. Paths are compared in their decoded form, also on the command line; symbolic links \
                 are not followed. In a file, the list of a route counts in place of that of its site; `none` lets folders say nothing.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "htaccess",
        kind: Kind::Form { shape: "WORD", set: |settings, text| settings.htaccess.add(text) },
        example: "auth",
        repeatable: true,
        help: "what folders may say in an .htaccess",
        detail: "As `may-set`, with the same words, for files as Apache reads them. What keeps somebody out and cannot be carried \
                 over has all beneath the folder answered 500; what keeps nobody out is told in the log.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "htaccess-names",
        kind: Kind::Form {
            shape: "NAME",
            set: |settings, text| htaccess_name(text).map(|name| settings.htaccess_names.push(name)),
        },
        example: ".settings",
        repeatable: true,
        help: "names of the files that htaccess is about",
        detail: "Without it `.htaccess`. In each folder the first one that is there is read, and no other, as with `AccessFileName` \
                 in Apache. They begin with a dot, so that they are never served. In a file, the list of a route counts in place of that \
                 of its site.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "static-cache-bytes-max",
        kind: bytes(1 << 40, |settings, number| settings.static_cache_bytes_max = number),
        default: "32m",
        example: "256m",
        help: "memory for small files, of all folders",
        detail: "All folders share it. A file in it is answered without opening it, and never stale: its size, times and inode are \
                 compared with the disk. 0 turns it off.",
        ..GROUP
    },
    Row {
        name: "static-cache-file-bytes-max",
        kind: bytes(1 << 30, |settings, number| settings.static_cache_file_bytes_max = number),
        default: "8k",
        example: "64k",
        help: "largest file whose content is kept in memory",
        detail: "Above this the kernel sends the file from its own cache, which costs less than a copy of ours.",
        ..GROUP
    },
];

const fn bytes(most: u64, set: fn(&mut Settings, u64)) -> Kind {
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

/// Checks a path that cannot leave the folder it is beneath; slashes in front of it are dropped.
fn beneath(text: &str) -> Result<String, String> {
    let path = text.trim_start_matches('/');
    if path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("write a file beneath the folder that is served, as in errors/404.html".to_owned());
    }
    Ok(path.to_owned())
}

/// Checks a name of a file that is read as those of Apache, and never served.
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
