//! Restrictions of `nginx.conf` that a file of sites cannot say: a table for each kind.

#![allow(clippy::panic, reason = "a test ends at its first surprise")]

mod common;

use adyton_import::Kind;
use common::Opening;

/// Checks the inside of a server, on lines from 2 on: the line that the error names, and the path that refuses.
fn openings(cases: &[(&str, usize, &str)]) {
    let texts: Vec<String> = cases
        .iter()
        .map(|(text, ..)| format!("server {{ server_name a.example; root /srv;\n{text}\n}}"))
        .collect();
    let cases: Vec<Opening<'_>> =
        texts.iter().zip(cases).map(|(text, (_, line, path))| Opening { text, line: *line, path }).collect();
    common::openings(Kind::Nginx, "x.conf", &common::PAGES, &cases);
}

fn kept(cases: &[(&str, &str)]) {
    let texts: Vec<String> = cases
        .iter()
        .map(|(text, _)| format!("server {{ server_name a.example; root /srv;\n{text}\n}}"))
        .collect();
    let cases: Vec<(&str, &str)> =
        texts.iter().zip(cases).map(|(text, (_, kept))| (text.as_str(), *kept)).collect();
    common::kept(Kind::Nginx, "x.conf", &common::PAGES, &cases);
}

#[test]
fn conditions_that_cannot_be_decided() {
    openings(&[
        ("if ($http_cookie !~ key) { return 403; }", 2, "/"),
        ("location /a/ {\nif ($arg_key = no) { return 404; }\n}", 3, "/a/"),
        ("location /a/ {\nif ($remote_addr !~ ^10\\.) { rewrite ^ /b last; }\n}", 3, "/a/"),
        ("if ($bad) { return 444; }", 2, "/"),
        ("location /a/ { auth_basic $realm; auth_basic_user_file /etc/staff; }", 2, "/a/"),
        ("location /a/ { auth_basic Staff; auth_basic_user_file /etc/$host; }", 2, "/a/"),
    ]);
    let map = "map $http_x $bad { default 0; a 1; }\ngeo $far { default 1; 10.0.0.0/8 0; }\n";
    let text = format!("{map}server {{ root /srv;\nif ($far) {{ return 403; }}\n}}");
    let case = Opening { text: &text, line: 4, path: "/" };
    common::openings(Kind::Nginx, "x.conf", &[], &[case]);
    kept(&[("if ($host = b.example) { return 301 http://a.example$request_uri; }", "files = \"/srv\"")]);
}

#[test]
fn rewrites_onto_paths_that_are_refused() {
    openings(&[
        ("location /a/ { rewrite ^/a/(.*)$ /denied/$1 last; }\nlocation /denied/ { deny all; }", 2, "/a/"),
        ("rewrite ^/a/(.*)$ /denied/$1 last;\nlocation /denied/ { deny all; }", 2, "/"),
        ("location / { try_files /denied/index.html $uri =404; }\nlocation /denied/ { deny all; }", 2, "/"),
        ("location / { try_files /none @app; }\nlocation @app { return 403; }", 2, "/"),
        ("location / { try_files /x$uri =404; }", 2, "/"),
        ("location /s/ { auth_basic S; auth_basic_user_file /p; rewrite ^/s/x/(.*)$ /y/$1 last; }", 2, "/s/"),
    ]);
    kept(&[
        // For these pages, the server itself applies the rules of their routes.
        (
            "location /a/ { alias /srv/a/; try_files $uri /a/none/x.html; }\nlocation /a/none/ { deny all; }",
            "path = \"/a/none/\"",
        ),
        ("location = /index.html { deny all; }", "path = \"/index.html\""),
        ("location ~ \\.html$ { allow 10.0.0.1; deny all; }", "path = \"*.html\""),
        ("location /a/ { rewrite ^ /b break; proxy_pass http://b; }", "respond = 503"),
        ("location /a/ { rewrite ^/a/(\\d+)$ /b permanent; }", "path = \"/a/\""),
        ("location / { try_files $uri $uri.html =404; }", "files = \"/srv\""),
        ("location /a/ { rewrite ^/a/x$ /b last; return 403; }", "respond = 403"),
        // The redirect is for a part of the location, and the rest asks for a password.
        (
            "location /s/ { auth_basic S; auth_basic_user_file /p; rewrite ^/s/x/(.*)$ /y/$1 permanent; }",
            "path = \"/s/\"  # x.conf:2\nfiles = \"/srv/s\"  # x.conf:1\nauth = \"basic:/p\"",
        ),
        ("location /s/ { rewrite ^/s/x/(.*)$ /y/$1 permanent; }", "path = \"/s/x/\""),
    ]);
}

#[test]
fn ways_to_tls_that_are_lost() {
    openings(&[
        ("if ($scheme = http) { return 301 https://$host$request_uri; }", 2, "/"),
        ("if ($host = a.example) { return 301 https://a.example$request_uri; }", 2, "/"),
        ("location / { if ($scheme != https) { rewrite ^ https://a.example permanent; } }", 2, "/"),
        ("if ($http_x_forwarded_proto = http) { return 301 https://$host$request_uri; }", 2, "/"),
        ("rewrite ^/(?!\\.well-known) https://a.example$request_uri permanent;", 2, "/"),
        ("location / { rewrite ^/([a-z]+)$ https://a.example/$1 permanent; }", 2, "/"),
        ("location = / { return 301 https://a.example/; }", 2, "/"),
        ("location ~ ^/(a|b)/ { return 301 https://a.example$request_uri; }", 2, "/.lost/"),
    ]);
    kept(&[
        ("if ($host = a.example) { return 301 https://$host$request_uri; }\nreturn 404;", "respond = 404"),
        ("listen 443 ssl; if ($host = b.example) { return 301 https://a.example$request_uri; }", "files = "),
        (
            "listen 8443; ssl on;",
            "TLS is the work of a proxy in front; for that proxy the server is at 127.0.0.1:8000",
        ),
        ("return 301 https://$host$request_uri;", "redirect = \"https://{host}{path}{query}\""),
        (
            "rewrite ^/a/(.*)$ /b/$1 permanent; return 301 https://$host$request_uri;",
            "redirect = \"https://{host}",
        ),
    ]);
}

/// The first site answers names that no site has: a site in front of it refuses names that have no counterpart.
#[test]
fn names_of_other_sites() {
    for name in ["~^www\\d+\\.example$", "www.example.*", "$hostname"] {
        let text = format!(
            "server {{ server_name a.example; root /srv; }}\nserver {{ server_name {name}; return 204; }}"
        );
        let first = Opening { text: &text, line: 2, path: "/" };
        let made =
            common::with_files(Kind::Nginx, "x.conf", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
        let front = made.text.split("\n[[sites]]").nth(1).unwrap_or_default();

        assert!(made.opens() && !front.contains("hosts") && front.contains("respond = 503"), "{}", made.text);
        assert!(
            made.text.contains("hosts = [\"a.example\"]\n\n[[sites.routes]]  # x.conf:1\nfiles ="),
            "{}",
            made.text
        );
        let text = text.replace("a.example", "_");
        common::openings(Kind::Nginx, "x.conf", &[], &[Opening { text: &text, ..first }]);
    }
    common::kept(
        Kind::Nginx,
        "x.conf",
        &[],
        &[
            ("server { server_name ~^www; root /srv; }", "files = \"/srv\""),
            ("server { server_name a.example *.a.example .b.example; root /srv; }", "\"*.b.example\""),
        ],
    );
}

#[test]
fn handlers_that_are_asked() {
    openings(&[
        ("location /a/ { auth_request /who; }", 2, "/a/"),
        ("location /a/ { auth_jwt realm; }", 2, "/a/"),
        ("location /a/ { auth_digest realm; }", 2, "/a/"),
        ("location /a/ { auth_pam on; }", 2, "/a/"),
        ("location /a/ { access_by_lua_file /srv/a.lua; }", 2, "/a/"),
        ("location /a/ { access_by_lua_block { ngx.exit(403); } }", 2, "/a/"),
        ("location /a/ { rewrite_by_lua_file /srv/a.lua; }", 2, "/a/"),
        ("location /a/ { content_by_lua_file /srv/a.lua; }", 2, "/a/"),
        ("server_rewrite_by_lua_file /srv/a.lua;", 2, "/"),
        ("location /a/ { perl Shop::handler; }", 2, "/a/"),
        ("location /a/ { js_content shop.answer; }", 2, "/a/"),
        ("modsecurity on;", 2, "/"),
        ("ModSecurityEnabled on;", 2, "/"),
        ("location /a/ { secure_link $arg_key; }", 2, "/a/"),
        ("testcookie_protect on;", 2, "/"),
        ("ssl_verify_client on;", 2, "/"),
    ]);
    kept(&[
        ("modsecurity off;", "files = "),
        ("location /a/ { log_by_lua_file /srv/a.lua; }", "path = \"/a/\""),
        ("location /a/ { access_log off; }", "path = \"/a/\""),
    ]);
}

#[test]
fn fields_that_an_application_believes() {
    openings(&[
        ("location / { proxy_pass http://b; proxy_set_header X-User \"\"; }", 2, "/"),
        ("location / { proxy_pass http://b; proxy_set_header Authorization \"\"; }", 2, "/"),
        ("proxy_set_header X-Ssl-Client-Dn $ssl_client_s_dn;\nlocation / { proxy_pass http://b; }", 2, "/"),
        ("location / { uwsgi_pass b; uwsgi_param HTTP_X_USER \"\"; }", 2, "/"),
        ("location / { fastcgi_pass b; fastcgi_param HTTP_PROXY_USER \"\"; }", 2, "/"),
        ("location / { proxy_pass http://b; proxy_pass_request_headers off; }", 2, "/"),
        ("location / { grpc_pass b; grpc_set_header X-User \"\"; }", 2, "/"),
        ("more_clear_input_headers X-User;", 2, "/"),
        ("location / { more_set_input_headers \"X-User: a\"; }", 2, "/"),
    ]);
    kept(&[
        (
            "location / { proxy_pass http://b; proxy_set_header Host $host; }",
            "proxy_set_header Host $host: the application gets",
        ),
        (
            "location / { proxy_pass http://b; proxy_set_header X-Forwarded-For $remote_addr; }",
            "trusted-proxies",
        ),
        ("location / { uwsgi_pass b; uwsgi_param SERVER_NAME a; }", "respond = 503"),
        // A location's own directive replaces the directives around it.
        (
            "proxy_set_header X-User \"\";\nlocation / { proxy_pass http://b; proxy_set_header Host a; }",
            "respond = 503",
        ),
        ("proxy_set_header X-User \"\";", "files = "),
    ]);
}

#[test]
fn users_that_are_not_known() {
    let case = |text| Opening { text, line: 1, path: "/" };
    let cases = [
        case("user \"\" www-data; events {} http { server { root /srv; } }"),
        case("user \"\"; events {} http { server { root /srv; } }"),
    ];
    common::openings(Kind::Nginx, "x.conf", &[], &cases);
    let kept = [
        ("user www-data; events {} http { server { root /srv; } }", "user = \"www-data\""),
        // The file is one that http includes: the including file names the user.
        ("server { root /srv; }", "files = \"/srv\""),
    ];
    common::kept(Kind::Nginx, "x.conf", &[], &kept);
    let text = "events {} http { server { root /srv; } }";
    let made = common::with_files(Kind::Nginx, "x.conf", text, &[]).unwrap_or_else(|why| panic!("{why}"));
    assert!(made.opens() && made.text.contains("\nrespond = 503"), "{}", made.text);
    assert!(
        made.text.contains("the default of nginx: user: without it, nginx runs its workers as "),
        "{}",
        made.text
    );
}

#[test]
fn pages_that_would_be_text() {
    openings(&[
        ("location ~ ^/index\\.php(/|$) { fastcgi_pass b; }", 2, "/.lost/"),
        ("location ~ \\.php { fastcgi_pass b; }", 2, "/.lost/"),
        ("location ~ ^/v[0-9]/ { proxy_pass http://b; }", 2, "/.lost/"),
        ("location ~ ^/a(?!b) { deny all; }", 2, "/"),
        ("location ~ ^/x/(.*)$ { alias /other/$1; }", 2, "/.lost/"),
        ("location ~* \\.(phtml|settings)$ { deny all; }", 2, "/"),
        ("location ~ /\\.ht|secret { deny all; }", 2, "/.lost/"),
        ("location ~ /\\.?secret { deny all; }", 2, "/.lost/"),
        ("location /a/ { }\nlocation ~ \\.php$ { fastcgi_pass b; }", 2, "/a/"),
        ("location = / { proxy_pass http://b; }", 2, "/"),
        ("location /a { deny all; }\nlocation /ab/ { }", 2, "/"),
    ]);
    kept(&[
        (
            "location ~ \\.ph(p[345]?|tml)$ { fastcgi_pass b; }",
            "path = [\"*.php3\", \"*.php\", \"*.php4\", \"*.php5\", \"*.phtml\"]",
        ),
        (
            "location ~* \\.php$ { deny all; }",
            "path = [\"*.php\", \"*.phP\", \"*.pHp\", \"*.pHP\", \"*.Php\", \"*.PhP\", \"*.PHp\", \"*.PHP\"]",
        ),
        ("location ~ /\\.ht { deny all; }", "files = "),
        ("index home.php; autoindex on;", "so no folder is"),
        ("location ~* ^/(css|js)/ { expires 30d; }", "files = "),
        // Paths that begin in this way are led to the path itself, which is denied to everybody.
        ("location /a { deny all; }", "rewrite = [\"^/a[^/] -> /a/\"]"),
        ("location /a.b { proxy_pass http://b; }", "rewrite = [\"^/a\\\\.b[^/] -> /a.b/\"]"),
    ]);
}
