//! Request header fields that nginx removes, sets, or does not send to the servers behind it.

use super::lex::Directive;

/// Whether a directive is about request header fields.
pub(super) fn is_said(one: &Directive) -> bool {
    let name = one.name.as_str();
    matches!(name, "proxy_set_header" | "grpc_set_header") || is_param(name) || is_switch(one)
}

fn is_param(name: &str) -> bool {
    matches!(name, "uwsgi_param" | "fastcgi_param" | "scgi_param")
}

/// Whether a directive is `proxy_pass_request_headers off`.
fn is_switch(one: &Directive) -> bool {
    one.name.ends_with("_pass_request_headers") && one.arg(0) == "off"
}

/// Returns the request header field of a directive, `*` for all fields; `None` if the directive is about no field.
pub(super) fn field(one: &Directive) -> Option<String> {
    if is_switch(one) {
        return Some("*".to_owned());
    }
    if !is_param(&one.name) {
        return Some(one.arg(0).to_owned());
    }
    one.arg(0).strip_prefix("HTTP_").map(|name| name.replace('_', "-"))
}
