//! Restrictions of `httpd.conf` that a file of sites cannot say: a table for each kind.

#![allow(clippy::panic, reason = "a test ends at its first surprise")]

mod common;

use adyton_import::Kind;
use common::Opening;

const FILES: [(&str, &str); 9] = [
    ("/srv/a/.htaccess", "Require ip 10.0.0.1"),
    ("/srv/a/b/.acl", "Require all denied"),
    ("/srv/a/b/.htaccess", "Require ip 10.0.0.2"),
    ("/srv/a/1/2/3/4/5/.htaccess", "Require ip 10.0.0.5"),
    ("/srv/f/.htaccess", "Options +Indexes\nRequire all granted"),
    ("/srv/c/.htaccess", "RewriteRule ^x$ /denied/x"),
    ("/srv/d/.htaccess", "<IfModule mod_strange.c>\nRequire all denied\n</IfModule>"),
    ("/srv/e/.htaccess", "<If \"%{REMOTE_ADDR} == '1'\">\nRequire all denied\n</If>"),
    ("/srv/.htaccess", "Require ip 10.0.0.9"),
];

/// Checks lines behind `DocumentRoot /srv/a`, from line 2 on: the line that the error names, and the path that refuses.
fn openings(cases: &[(&str, usize, &str)]) {
    let texts: Vec<String> =
        cases.iter().map(|(text, ..)| format!("DocumentRoot /srv/a\n{text}\n")).collect();
    let cases: Vec<Opening<'_>> =
        texts.iter().zip(cases).map(|(text, (_, line, path))| Opening { text, line: *line, path }).collect();
    common::openings(Kind::Apache, "x.conf", &FILES, &cases);
}

fn kept(cases: &[(&str, &str)]) {
    let texts: Vec<String> = cases.iter().map(|(text, _)| format!("DocumentRoot /srv/a\n{text}\n")).collect();
    let cases: Vec<(&str, &str)> =
        texts.iter().zip(cases).map(|(text, (_, kept))| (text.as_str(), *kept)).collect();
    common::kept(Kind::Apache, "x.conf", &FILES, &cases);
}

/// Rules of folders that are read, and the file that they stand in.
#[test]
fn files_of_folders() {
    let all = "<Directory /srv>\nAllowOverride All\n</Directory>";
    let acl = &*format!("AccessFileName .acl .htaccess\n{all}");
    let inner = "<Directory /srv/a>\nAllowOverride None\n</Directory>\n<Directory /srv/a/b>\nAllowOverride All\n</Directory>";
    let listed = "<Directory /srv/a>\nAllowOverride None\nAllowOverrideList Require\n</Directory>";
    kept(&[
        (all, "allow = [\"10.0.0.1\"]  # /srv/a/.htaccess:1"),
        (all, "allow = [\"10.0.0.2\"]  # /srv/a/b/.htaccess:1"),
        (
            all,
            "path = \"/1/2/3/4/5/\"  # x.conf:1\nfiles = \"/srv/a/1/2/3/4/5\"  # x.conf:1\nallow = [\"10.0.0.5\"]",
        ),
        (
            &format!("{all}\nAlias /x /srv/x"),
            "path = \"/x/\"  # x.conf:5\nfiles = \"/srv/x\"  # x.conf:5\nallow = [\"10.0.0.9\"]",
        ),
        (
            &format!("{all}\nWSGIScriptAlias /x /srv/a/b/x.py"),
            "mount = true  # x.conf:5\nallow = [\"10.0.0.2\"]",
        ),
        // Of the names in `AccessFileName`, only the first name that exists in a folder counts for that folder.
        (acl, "respond = 403  # /srv/a/b/.acl:1"),
        (acl, "allow = [\"10.0.0.1\"]  # /srv/a/.htaccess:1"),
        (inner, "allow = [\"10.0.0.2\"]  # /srv/a/b/.htaccess:1"),
        (listed, "allow = [\"10.0.0.1\"]  # /srv/a/.htaccess:1"),
        ("AccessFileName .acl", "files = \"/srv/a\""),
    ]);
    let none = common::with_files(Kind::Apache, "x.conf", &format!("DocumentRoot /srv/a\n{inner}"), &FILES);
    assert!(none.is_ok_and(|made| !made.text.contains("10.0.0.1")), "AllowOverride None counts");
}

/// Rules of folders that are not carried over exactly.
#[test]
fn files_of_folders_that_are_lost() {
    let all = "<Directory /srv>\nAllowOverride All\n</Directory>";
    let some = |folder: &str, words: &str| {
        format!(
            "Alias /x {folder}\n<Directory {folder}>\nRequire all denied\nAllowOverride {words}\n</Directory>\n"
        )
    };
    openings(&[
        (&format!("AccessFileName ${{NAME}}\n{all}"), 2, ""),
        (&format!("AccessFileName a/b\n{all}"), 2, ""),
        ("<Directory /srv/*/b>\nAllowOverride All\n</Directory>", 2, ""),
        ("<DirectoryMatch \"^/srv\">\nAllowOverride FileInfo\n</DirectoryMatch>", 2, ""),
    ]);
    // The error names a line of the folder's file.
    for (folder, words, line) in [
        ("/srv/c", "All", 1),
        ("/srv/d", "All", 1),
        ("/srv/e", "All", 1),
        ("/srv/f", "Indexes Options", 2),
        ("/srv/f", "FileInfo AuthConfig", 1),
    ] {
        let text = format!("DocumentRoot /srv/a\n{}", some(folder, words));
        let made =
            common::with_files(Kind::Apache, "x.conf", &text, &FILES).unwrap_or_else(|why| panic!("{why}"));
        let place = format!("{folder}/.htaccess:{line}");
        let route =
            made.text.split("\n[[sites.routes]]").find(|route| route.contains("\"/x/\"")).unwrap_or_default();

        assert!(
            made.losses.iter().any(|loss| loss.opens && loss.place.to_string() == place),
            "{place}\n{}",
            made.text
        );
        assert!(
            route.contains(&format!("this was lost: {place}: ")) && route.contains("\nrespond = 503"),
            "{}",
            made.text
        );
    }
    kept(&[(&some("/srv/f", "Indexes Options Nonfatal=All"), "path = \"/x/\"  # x.conf:2\nrespond = 403")]);
}

#[test]
fn conditions_that_cannot_be_decided() {
    openings(&[
        ("<If \"%{HTTP_HOST} == 'a'\">\nRequire all denied\n</If>", 2, ""),
        ("<Directory /srv/a/b>\n<If \"true\">\nRequire all denied\n</If>\n</Directory>", 3, "/b/"),
        ("<Location /b>\n<ElseIf \"true\">\nRequire all denied\n</ElseIf>\n</Location>", 3, "/b/"),
        ("SetEnvIf Host a ok\n<Location /b>\nRequire env ok\n</Location>", 4, "/b/"),
        ("<Location /b>\nOrder allow,deny\nAllow from all\nDeny from env=bad\n</Location>", 5, "/b/"),
        ("<Location /b>\nRequire expr true\n</Location>", 3, "/b/"),
        ("<Macro M $a>\n<Location $a>\nRequire all denied\n</Location>\n</Macro>\nUse M /b", 7, ""),
        ("<Directory ${ROOT}/b>\nRequire all denied\n</Directory>", 2, ""),
        ("<Location ${PATH}>\nRequire all denied\n</Location>", 2, ""),
        ("<Files ${NAME}>\nRequire all denied\n</Files>", 2, ""),
        ("Define A x\nUnDefine A\n<Location /${A}>\nRequire all denied\n</Location>", 4, ""),
        ("<Location /b>\nRequire ip ${OFFICE}\n</Location>", 3, "/b/"),
        ("Include ${DIR}/*.conf", 2, ""),
        ("<IfModule mod_strange.c>\n<Location /b>\nRequire all denied\n</Location>\n</IfModule>", 2, ""),
        ("<IfModule mod_strange.c>\nSecRuleEngine On\n</IfModule>", 2, ""),
        ("<IfDefine SSL>\n<VirtualHost *:80>\nServerName b.example\n</VirtualHost>\n</IfDefine>", 2, ""),
        ("<Location /b>\n<IfDefine CLOSED>\nRequire all denied\n</IfDefine>\n</Location>", 3, "/b/"),
        ("<IfDefine !CLOSED>\nRequire all granted\n</IfDefine>", 2, ""),
        ("<Location /b>\n<IfFile /etc/closed>\nRequire all denied\n</IfFile>\n</Location>", 3, "/b/"),
        ("<IfDirective Require>\nDeny from all\n</IfDirective>", 2, ""),
        ("<IfVersion >= 2.4.99>\n<IfVersion ~ x>\nRequire all denied\n</IfVersion>\n</IfVersion>", 3, ""),
        (
            "<Location /b>\n<RequireAny>\n<IfDefine X>\nRequire ip 10\n</IfDefine>\nRequire user a\n</RequireAny>\n</Location>",
            4,
            "",
        ),
        ("<Limit POST>\nRequire all denied\n</Limit>", 2, ""),
    ]);
    kept(&[
        ("<IfVersion < 2.4>\nDeny from all\n</IfVersion>", "files = "),
        ("<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>", "files = "),
        ("<Macro M $a>\n<Location $a>\nRequire all denied\n</Location>\n</Macro>", "files = "),
        ("<IfModule mod_strange.c>\nStrange on\n</IfModule>", "files = "),
        ("SetEnvIf Host a ok", "files = "),
    ]);
}

#[test]
fn rewrites_onto_paths_that_are_refused() {
    let denied = "<Location /denied>\nRequire all denied\n</Location>";
    openings(&[
        (&format!("RewriteEngine On\nRewriteRule ^/a/(.*)$ /denied/$1 [L]\n{denied}"), 3, "/"),
        (&format!("<Directory /srv/a/b>\nRewriteRule ^x$ /denied/x [L]\n</Directory>\n{denied}"), 3, "/b/"),
        ("RewriteRule ^/a - [F]", 2, "/"),
        ("RewriteRule ^/a - [NC,G]", 2, "/"),
        ("RewriteRule ^/a - [R=404,L]", 2, "/"),
        ("RewriteRule ^/a - [H=strange]", 2, "/"),
        ("RewriteRule ^/(.*)$ http://127.0.0.1:9000/$1 [P]", 2, "/"),
        ("RewriteRule ^(.*)$ /index.cgi [L]", 2, "/"),
        ("RewriteCond %{REMOTE_ADDR} !^10\nRewriteRule ^ - [F]", 2, "/"),
        ("RedirectMatch 403 ^/a([0-9]+)$", 2, "/.lost/"),
        ("RedirectMatch gone \\.bak", 2, "/.lost/"),
        ("<Location /b>\nRedirect 404 /b\n</Location>", 3, "/b/"),
        (&format!("{denied}\nAliasMatch ^/a/([a-z]+)/(.*)$ /srv/$1/$2"), 5, "/.lost/"),
        ("ScriptAliasMatch ^/([a-z]+)\\.cgi$ /srv/$1.cgi", 2, "/.lost/"),
    ]);
    kept(&[
        // For these pages, the server itself applies the rules of their routes.
        (
            "<Directory /srv/a>\nFallbackResource /none/index.html\n</Directory>\n<Location /none>\nRequire all denied\n</Location>",
            "path = \"/none/\"",
        ),
        ("<Files index.html>\nRequire all denied\n</Files>", "path = \"*index.html\""),
        ("RewriteRule ^ - [E=A:b]", "files = "),
        (
            "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.*)$ /app.wsgi/$1 [QSA,PT,L]",
            "a path without a file is answered 404",
        ),
        ("RewriteRule ^/a$ /b [R=301]", "files = "),
        ("AliasMatch ^/a/([a-z]+)/(.*)$ /srv/$1/$2", "files = "),
        ("RedirectMatch 403 ^/private/", "path = \"/private/\"  # x.conf:2\nrespond = 403"),
    ]);
}

#[test]
fn ways_to_tls_that_are_lost() {
    let rule = "RewriteCond %{HTTPS} off\nRewriteRule ^ https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]";
    openings(&[
        (rule, 3, ""),
        (&format!("<Directory /srv/a>\n{rule}\n</Directory>"), 4, ""),
        ("<Location />\nRedirect permanent / https://a.example/\n</Location>", 3, ""),
        ("RedirectMatch 301 ^/([a-z]+)/([a-z]+)$ https://a.example/$1?$2", 2, ""),
        ("Redirect / https://${HOST}/", 2, ""),
        ("SSLRequireSSL", 2, ""),
        (&format!("<VirtualHost *:80>\nServerName a\nDocumentRoot /srv/a\n{rule}\n</VirtualHost>"), 6, ""),
        (&format!("<IfModule mod_strange.c>\n{rule}\n</IfModule>"), 2, ""),
    ]);
    let tls = "Listen 80\nListen 443\n<VirtualHost *:443>\nServerName a.example\nDocumentRoot /srv/a\n</VirtualHost>";
    kept(&[
        // The proxy in front redirects to https, and here nothing is served without TLS.
        (
            &format!("{tls}\n<VirtualHost *:80>\nServerName a.example\n{rule}\n</VirtualHost>"),
            "this site only redirects clients to https",
        ),
        (
            &format!(
                "Listen 443\n<VirtualHost *:443>\nServerName a.example\nDocumentRoot /srv/a\n{rule}\n</VirtualHost>"
            ),
            "files = ",
        ),
        (
            "Listen 8443\nSSLEngine on\n<VirtualHost *:8443>\nDocumentRoot /srv/a\n</VirtualHost>",
            "TLS is the work of a proxy in front; for that proxy the server is at 127.0.0.1:8000",
        ),
        ("Redirect permanent / https://a.example/", "redirect = \"https://a.example{rest}{query}\""),
    ]);
}

/// The first site answers names that no site has; in Apache the first host that matches a name answers.
#[test]
fn names_of_other_sites() {
    let host = |names: &str, more: &str| format!("<VirtualHost *:80>\n{names}\n{more}\n</VirtualHost>\n");
    let first = host("ServerName a.example", "DocumentRoot /srv/a");
    for names in ["ServerAlias www.*.example", "ServerAlias *", "ServerName ${HOST}", "ServerAlias ?.example"]
    {
        let text = first.clone() + &host(names, "DocumentRoot /srv/b");
        let made =
            common::with_files(Kind::Apache, "x.conf", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
        let front = made.text.split("\n[[sites]]").nth(1).unwrap_or_default();

        assert!(made.losses.iter().any(|loss| loss.opens && loss.place.line == 6), "{names}\n{}", made.text);
        assert!(!front.contains("hosts") && front.contains("respond = 503"), "{names}\n{}", made.text);
        assert!(made.text.contains("hosts = [\"a.example\"]"), "{names}\n{}", made.text);
        common::check(&made.text);
    }
    let wide = host("ServerName a.example\nServerAlias *.example", "DocumentRoot /srv/a");
    let odd = host("ServerName a.example\nServerAlias w*.example", "DocumentRoot /srv/a");
    let second = host("ServerName w.example", "DocumentRoot /srv/b");
    let cases = [
        (wide + &second, "hosts = [\"a.example\", \"*.example\", \"w.example\"]"),
        (odd + &second, "hosts = [\"a.example\", \"w.example\"]"),
        (second + &host("ServerAlias *.example", "DocumentRoot /srv/a"), "hosts = [\"w.example\"]"),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(text, expected)| (text.as_str(), *expected)).collect();
    common::kept(Kind::Apache, "x.conf", &[], &cases);
    openings(&[("VirtualDocumentRoot /srv/%0", 2, ""), ("VirtualScriptAlias /srv/%0/cgi", 2, "")]);
}

#[test]
fn handlers_that_are_asked() {
    let names = "PythonAccessHandler PythonAuthenHandler PythonAuthzHandler PythonConnectionHandler PythonFixupHandler \
        PythonHeaderParserHandler PythonInitHandler PythonPostReadRequestHandler PythonTransHandler PythonTypeHandler \
        PerlAccessHandler PerlAuthenHandler PerlAuthzHandler PerlFixupHandler PerlHeaderParserHandler PerlTransHandler \
        LuaHookAccessChecker LuaHookAuthChecker LuaHookTranslateName LuaAuthzProvider LuaMapHandler LuaQuickHandler \
        SecRule AuthzDBDQuery StrangeAccessControl StrangeDenyList AuthTokenPrefix";
    for name in names.split_whitespace() {
        let text = format!("<Location /b>\n{name} a\n</Location>");

        openings(&[(&text, 3, "/b/"), (&format!("{name} a"), 2, "")]);
    }
    openings(&[
        (
            "<Location /b>\nAuthType Basic\nAuthBasicProvider ldap\nAuthLDAPURL ldap://a\nRequire valid-user\n</Location>",
            4,
            "/b/",
        ),
        ("<Location /b>\nAuthType openid-connect\nRequire valid-user\n</Location>", 3, "/b/"),
        ("<Location /b>\nAuthType GSSAPI\nRequire valid-user\n</Location>", 3, "/b/"),
        ("<Location /b>\nRequire ldap-group a\n</Location>", 3, "/b/"),
        ("WSGIAccessScript ${SCRIPT}", 2, ""),
    ]);
    kept(&[
        ("PerlLogHandler a", "files = "),
        ("SecRuleEngine Off", "files = "),
        ("WSGIAccessScript /srv/access.wsgi", "allow-python = \"/srv/access.wsgi\""),
    ]);
}

#[test]
fn fields_that_an_application_believes() {
    let app = "WSGIScriptAlias /app /srv/app.wsgi";
    openings(&[
        (&format!("{app}\nRequestHeader unset X-User"), 3, "/app/"),
        (&format!("{app}\nRequestHeader set X-User \"%{{SSL_CLIENT_S_DN}}s\""), 3, "/app/"),
        (&format!("{app}\n<Location /app/a>\nRequestHeader unset X-User early\n</Location>"), 4, "/app/a/"),
        ("ProxyPass /b http://127.0.0.1:9000/\nRequestHeader unset X-User", 3, "/b/"),
        ("ScriptAlias /cgi/ /srv/cgi/\nRequestHeader edit X-User a b", 3, "/cgi/"),
    ]);
    kept(&[
        (&format!("{app}\nRequestHeader set X-Forwarded-Proto https"), "trusted-proxies"),
        ("RequestHeader unset X-User", "files = "),
    ]);
}

#[test]
fn users_that_are_not_known() {
    openings(&[
        ("User ${APACHE_RUN_USER}", 2, ""),
        ("User ''", 2, ""),
        ("WSGIDaemonProcess a user=ann\nWSGIDaemonProcess b user=bob", 3, ""),
        // A daemon without a user runs as Apache does.
        ("WSGIDaemonProcess a user=ann\nWSGIDaemonProcess b", 3, ""),
        ("WSGIDaemonProcess a\nWSGIDaemonProcess b user=bob", 3, ""),
        ("User www-data\nWSGIDaemonProcess a user=ann\nWSGIDaemonProcess b", 4, ""),
        ("WSGIDaemonProcess a user=ann\nWSGIDaemonProcess b\nUser www-data", 3, ""),
        ("WSGIDaemonProcess a user=ann group=root\nWSGIDaemonProcess b user=ann", 3, ""),
        ("<IfModule mod_strange.c>\nUser www-data\n</IfModule>", 2, ""),
        ("SuexecUserGroup ann ann", 2, ""),
        ("AssignUserID ann ann", 2, ""),
    ]);
    kept(&[
        ("User www-data", "user = \"www-data\""),
        ("User #1000", "user = 1000"),
        ("WSGIDaemonProcess a\nWSGIDaemonProcess b", "processes = 1"),
        ("WSGIDaemonProcess a user=ann\nUser www-data", "user = \"ann\""),
        ("User ann\nWSGIDaemonProcess a user=ann\nWSGIDaemonProcess b", "user = \"ann\""),
        ("User www-data\nWSGIDaemonProcess a\nWSGIDaemonProcess b user=www-data", "user = \"www-data\""),
    ]);
    let host = |name: &str, user: &str| {
        format!(
            "<VirtualHost *:80>\nServerName {name}\nDocumentRoot /srv/{name}\nWSGIDaemonProcess {name} user={user}\n</VirtualHost>\n"
        )
    };
    let text = host("a", "ann") + &host("b", "bob");
    let made = common::with_files(Kind::Apache, "x.conf", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let refusing = made.text.matches("\nrespond = 503").count();
    assert!(made.opens() && refusing == 1 && made.text.contains("lost: x.conf:9: "), "{}", made.text);
}

#[test]
fn pages_that_would_be_text() {
    openings(&[
        ("ProxyPassMatch ^/(.*\\.php(/.*)?)$ fcgi://127.0.0.1:9000/srv/a/$1", 2, "/.lost/"),
        ("<FilesMatch \"^\\.|\\.(bak|sql)$\">\nRequire all denied\n</FilesMatch>", 2, ""),
        ("<FilesMatch \"^\\.?secret\">\nRequire all denied\n</FilesMatch>", 2, ""),
        ("<DirectoryMatch \"/\\.git|/secret\">\nRequire all denied\n</DirectoryMatch>", 2, ""),
        ("<LocationMatch \"^/(a|b)/\">\nRequire all denied\n</LocationMatch>", 2, "/.lost/"),
        // A path of one file takes precedence over a suffix.
        (
            "AddHandler application/x-httpd-php .php\n<Location /admin.php>\nRequire ip 10\n</Location>",
            1,
            "/admin.php",
        ),
        (
            "<Files secret.txt>\nRequire all denied\n</Files>\n<Location /secret.txt>\nHeader set X-A b\n</Location>",
            1,
            "/secret.txt",
        ),
        ("<Directory ~ \"/cgi$\">\nAddHandler cgi-script .cgi\n</Directory>", 2, ""),
        ("<Directory /srv/*/cgi>\nAddHandler cgi-script .cgi\n</Directory>", 2, ""),
        ("Alias /media /srv/media\nAddHandler application/x-httpd-php .php", 2, "/media/"),
        (
            "Alias /media /srv/media\n<FilesMatch \".+\\.ph(?:ar|p|tml)$\">\nSetHandler application/x-httpd-php\n</FilesMatch>",
            2,
            "/media/",
        ),
        ("Alias /media /srv/media\nAddOutputFilter INCLUDES .shtml\nOptions +Includes", 2, "/media/"),
        ("<Location /b>\nSetOutputFilter INCLUDES\n</Location>", 3, "/b/"),
        ("Action image/gif /cgi-bin/counted.cgi", 2, ""),
    ]);
}

/// Files that Apache runs or denies are run or denied here, too.
#[test]
fn pages_that_are_no_text() {
    kept(&[
        ("AddHandler application/x-httpd-php .php", "path = \"*.php\"  # x.conf:2\nrespond = 503"),
        (
            "<FilesMatch \".+\\.ph(?:ar|p|tml)$\">\nSetHandler application/x-httpd-php\n</FilesMatch>",
            "path = [\"*.phar\", \"*.php\", \"*.phtml\"]",
        ),
        (
            "AddHandler mod_python .py\nPythonHandler mod_python.publisher",
            "path = \"*.py\"  # x.conf:2\nrespond = 503",
        ),
        (
            "AddOutputFilter INCLUDES .shtml\nOptions Includes",
            "path = \"*.shtml\"  # x.conf:2\nrespond = 503",
        ),
        ("AddOutputFilter INCLUDES .shtml", "files = "),
        ("<FilesMatch \"^\\.ht\">\nRequire all denied\n</FilesMatch>", "files = "),
        // Apache also runs such a file if it has another end behind this one.
        (
            "AddHandler application/x-httpd-php .php",
            "rewrite = [\"^(?s:.*?)(?:\\\\.php\\\\.[^/]*$) -> /.lost/\"]",
        ),
        (
            "<Directory /srv/a>\nSetHandler application/x-httpd-php\n</Directory>\n<Location /x.php>\nRequire ip 10\n</Location>",
            "path = \"/x.php\"  # x.conf:1\nrespond = 503",
        ),
        (
            "<Directory /srv/c/../a/b>\nRequire all denied\n</Directory>",
            "path = \"/b/\"  # x.conf:1\nrespond = 403",
        ),
        (
            "Alias /x /srv//a/./b\n<Directory /srv/a/b>\nRequire all denied\n</Directory>",
            "path = \"/x/\"  # x.conf:2\nrespond = 403",
        ),
        ("Options +Indexes\nDirectoryIndex index.html home.php", "so no folder is"),
        (
            "<Directory /srv/users/*/public>\nAllowOverride All\nRequire all denied\n</Directory>",
            "this matches no folder that is served",
        ),
        (
            "<Location /b>\nSetHandler application/x-httpd-php\n</Location>",
            "path = \"/b/\"  # x.conf:1\nrespond = 503",
        ),
    ]);
}
