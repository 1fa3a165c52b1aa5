//! Directives that are not carried over, and the reason for each.

use super::lex::Directive;
use super::password;
use crate::model::Draft;
use crate::rules::fields;

/// Notes the loss of a directive that has no counterpart.
pub(super) fn tell(directive: &Directive, draft: &mut Draft) {
    let name = directive.name.as_str();
    if ALWAYS_SO.contains(&name) || OF_GATEWAYS.iter().any(|prefix| name.starts_with(prefix)) {
        return;
    }
    let (place, shown) = (&directive.place, directive.shown());
    match REASONS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        Some((_, why)) => draft.lose(place, &shown, why),
        None => draft.lose(place, &shown, "this is not known here; see whether it restricts anything"),
    }
}

/// Returns the reason, if a directive denies some clients in a way that has no counterpart.
pub(super) fn restricts(directive: &Directive) -> Option<&'static str> {
    let name = directive.name.as_str();
    if PARTS.contains(&name) || password::NAMES.contains(&name) {
        return None;
    }
    if name == "perl" {
        return Some(CODE);
    }
    if let Some((_, why)) = RESTRICTIONS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return Some(why);
    }
    // A directive of an unknown module is judged by its name.
    let is_strange = !matches!(name, "access_log" | "allow" | "deny") && !ALWAYS_SO.contains(&name);
    let is_told = OF_GATEWAYS
        .iter()
        .chain(REASONS.iter().map(|(prefix, _)| prefix))
        .any(|prefix| name.starts_with(prefix));
    (is_strange && !is_told && DOUBTS.iter().any(|word| name.to_ascii_lowercase().contains(word)))
        .then_some("this is not known here, and by its name it may keep somebody out")
}

/// Words in names of directives that deny some clients.
const DOUBTS: [&str; 14] = [
    "access",
    "allow",
    "auth",
    "block",
    "captcha",
    "challenge",
    "deny",
    "denied",
    "forbid",
    "guard",
    "protect",
    "restrict",
    "secur",
    "verify",
];

/// Directives that need no counterpart: Adyton always does what they say, or they are about the inside of nginx.
const ALWAYS_SO: [&str; 41] = [
    "aio",
    "charset",
    "daemon",
    "default_type",
    "directio",
    "disable_symlinks",
    "etag",
    "events",
    "if_modified_since",
    "keepalive_disable",
    "lingering_close",
    "lingering_time",
    "lingering_timeout",
    "load_module",
    "lock_file",
    "log_not_found",
    "master_process",
    "max_ranges",
    "merge_slashes",
    "open_file_cache",
    "open_file_cache_errors",
    "open_file_cache_min_uses",
    "open_file_cache_valid",
    "output_buffers",
    "pcre_jit",
    "pid",
    "postpone_output",
    "read_ahead",
    "reset_timedout_connection",
    "sendfile",
    "sendfile_max_chunk",
    "server_names_hash_bucket_size",
    "server_names_hash_max_size",
    "server_tokens",
    "tcp_nodelay",
    "tcp_nopush",
    "types",
    "types_hash_bucket_size",
    "types_hash_max_size",
    "worker_cpu_affinity",
    "worker_rlimit_nofile",
];

/// Prefixes of directives that belong to `proxy_pass` and its like, whose loss is reported.
const OF_GATEWAYS: [&str; 7] = ["proxy_", "fastcgi_", "uwsgi_", "scgi_", "grpc_", "upstream", "memcached_"];

const VARIABLES: &str =
    "variables do not exist here; a route can test if-headers, if-query, methods and remote";

/// The reason why a `rewrite` is lost.
pub(super) const REWRITE: &str = "a redirect has the form rewrite ^/old/(.*)$ /new/$1 permanent; for another path of the same site write rewrite = \"^/old/(.*)$ -> /new/{1}\"";

/// Beginnings of names of directives, with the reasons for their loss.
const REASONS: [(&str, &str); 25] = [
    ("gzip", "compress = true compresses answers; write it where that is wanted"),
    ("brotli", "compress = true compresses answers; write it where that is wanted"),
    ("ssl", "TLS is the work of a proxy in front"),
    ("http2", "HTTP/2 is the work of a proxy in front"),
    ("http3", "HTTP/3 is the work of a proxy in front"),
    ("quic", "HTTP/3 is the work of a proxy in front"),
    ("error_page", "error pages are a key of a site: error-pages = { STATUS = \"FILE\" }"),
    ("recursive_error_pages", "error-pages are files, so one error page cannot lead to another"),
    ("real_ip_", "which proxies are trusted is said once, by trusted-proxies and trusted-fields in [server]"),
    ("limit_req", "rate-limit and rate-burst say how many requests a client may send"),
    ("limit_conn", "connections-per-address-max limits connections"),
    ("limit_rate", "the rate at which an answer is sent is not limited"),
    ("log_format", "here log formats are written with Apache's atoms, in access-log-format"),
    ("sub_filter", "bodies are not changed on the way"),
    ("auth_", "here users come only from files of htpasswd; write auth = \"basic:FILE\" in the route"),
    ("map", VARIABLES),
    ("geo", VARIABLES),
    ("split_clients", VARIABLES),
    ("set", VARIABLES),
    ("index", "only index.html is looked for in a folder"),
    ("resolver", "host names are not looked up"),
    ("stream", "TCP is not passed on"),
    ("mail", "mail is not passed on"),
    ("add_trailer", "trailers are not added"),
    ("rewrite", REWRITE),
];

/// Directives that say how, and not whether, clients are asked for something.
const PARTS: [&str; 6] = [
    "auth_delay",
    "auth_jwt_key_file",
    "auth_jwt_key_request",
    "auth_request_set",
    "set_real_ip_recursive",
    "if_modified_since",
];

const CODE: &str = "code inside nginx is not run, and this code may keep clients out, or answer requests; allow-python has a Python function decide";

/// Beginnings of names of directives that deny clients, so that their loss is an error, with the reasons.
const RESTRICTIONS: [(&str, &str); 18] = [
    ("auth_", "here users come only from files of htpasswd; write auth = \"basic:FILE\" in the route"),
    ("secure_link", "signed links are not checked here"),
    ("valid_referers", "the field Referer is not checked"),
    ("ssl_verify_client", "clients are not asked for certificates; TLS is the work of a proxy in front"),
    (
        "set_real_ip_from",
        "here a client's address is that of the proxy in front, so allow and deny would see the proxy",
    ),
    ("modsecurity", "requests are not searched for attacks"),
    (
        "if",
        "conditions on variables do not exist here, and this one may keep somebody out; a route can test if-headers, if-query and remote",
    ),
    ("access_by_lua", CODE),
    ("rewrite_by_lua", CODE),
    ("server_rewrite_by_lua", CODE),
    ("content_by_lua", CODE),
    ("js_access", CODE),
    ("js_content", CODE),
    ("ModSecurity", "requests are not searched for attacks"),
    ("SecRules", "requests are not searched for attacks"),
    ("more_set_input_headers", fields::BELIEVED),
    ("more_clear_input_headers", fields::BELIEVED),
    ("limit_except", "this form of limit_except is not carried over"),
];
