//! Each directive that a configuration of Apache may have is carried over, or reported with what to do instead.

#![allow(clippy::panic, reason = "a test ends at its first surprise")]

mod common;

use adyton_import::{Import, Kind};
use common::with_files;

/// Directives of Apache itself: of its compiled-in parts, and of the modules that run processes and threads.
const CORE: &str = "AcceptFilter AcceptPathInfo AccessFileName AddDefaultCharset AllowEncodedSlashes AllowOverride AllowOverrideList \
    AsyncRequestWorkerFactor CGIPassAuth CGIVar ChrootDir ContentDigest CoreDumpDirectory DefaultRuntimeDir DefaultType Define DocumentRoot \
    EnableMMAP EnableSendfile Error ErrorDocument ErrorLog ErrorLogFormat ExtendedStatus FileETag FlushMaxPipelined FlushMaxThreshold \
    ForceType GracefulShutdownTimeout Group HostnameLookups HttpProtocolOptions KeepAlive KeepAliveTimeout LimitInternalRecursion \
    LimitRequestBody LimitRequestFieldSize LimitRequestFields LimitRequestLine LimitXMLRequestBody Listen ListenBacklog \
    ListenCoresBucketsRatio ListenTCPDeferAccept LoadFile LoadModule LogLevel MaxClients MaxConnectionsPerChild MaxKeepAliveRequests \
    MaxMemFree MaxRangeOverlaps MaxRangeReversals MaxRanges MaxRequestWorkers MaxRequestsPerChild MaxSpareServers MaxSpareThreads \
    MergeSlashes MergeTrailers MinSpareServers MinSpareThreads Mutex NameVirtualHost Options PidFile Port Protocol Protocols \
    ProtocolsHonorOrder QualifyRedirectURL RLimitCPU RLimitMEM RLimitNPROC ReadBufferSize ReceiveBufferSize RegexDefaultOptions \
    RegisterHttpMethod ScoreBoardFile SeeRequestTail SendBufferSize ServerAdmin ServerAlias ServerLimit ServerName ServerPath ServerRoot \
    ServerSignature ServerTokens SetHandler SetInputFilter SetOutputFilter StartServers StrictHostCheck Suexec ThreadLimit ThreadStackSize \
    ThreadsPerChild Timeout TraceEnable UnDefine UseCanonicalName UseCanonicalPhysicalPort User WatchdogInterval";

/// Directives of the modules that Debian's Apache has switched on, and some others that are usual.
const USUAL: &str = "AddAlt AddAltByEncoding AddAltByType AddCharset AddDescription AddEncoding AddHandler AddIcon AddIconByEncoding AddIconByType \
    AddInputFilter AddLanguage AddOutputFilter AddOutputFilterByType AddType Alias AliasMatch AliasPreservePath Allow AllowMethods \
    AuthBasicAuthoritative AuthBasicFake AuthBasicProvider AuthBasicUseDigestAlgorithm AuthDigestAlgorithm AuthDigestDomain \
    AuthDigestNcCheck AuthDigestNonceFormat AuthDigestNonceLifetime AuthDigestProvider AuthDigestQop AuthDigestShmemSize AuthFormProvider \
    AuthGroupFile AuthLDAPURL AuthMerging AuthName AuthType AuthUserFile AuthnCacheEnable AuthzSendForbiddenOnFailure BrotliCompressionQuality \
    BrowserMatch BrowserMatchNoCase BufferedLogs CacheEnable CacheNegotiatedDocs CustomLog Dav DefaultIcon DefaultLanguage \
    DeflateBufferSize DeflateCompressionLevel Deny DirectoryCheckHandler DirectoryIndex DirectoryIndexRedirect DirectorySlash ExpiresActive \
    ExpiresByType ExpiresDefault FallbackResource FancyIndexing FilterChain FilterDeclare FilterProtocol FilterProvider FilterTrace \
    ForceLanguagePriority GlobalLog H2Direct Header HeaderName IndexHeadInsert IndexIgnore IndexIgnoreReset IndexOptions IndexOrderDefault \
    IndexStyleSheet LanguagePriority LogFormat LogIOTrackTTFB MimeMagicFile ModMimeUsePathInfo MultiviewsMatch Order PassEnv ProxyPass \
    ProxyPassMatch ProxyPassReverse ProxyPreserveHost ProxyRequests ReadmeName Redirect RedirectMatch RedirectPermanent RedirectRelative \
    RedirectTemp RemoteIPHeader RemoteIPProxyProtocol RemoveCharset RemoveEncoding RemoveHandler RemoveInputFilter RemoveLanguage \
    RemoveOutputFilter RemoveType RequestHeader RequestReadTimeout Require RewriteBase RewriteCond RewriteEngine RewriteMap \
    RewriteOptions RewriteRule SSLCertificateFile SSLCertificateKeyFile SSLCipherSuite SSLEngine SSLOptions SSLProtocol SSLRequireSSL \
    SSLVerifyClient Satisfy ScriptAlias ScriptAliasMatch ScriptLog ScriptSock SessionCookieName SetEnv SetEnvIf SetEnvIfExpr \
    SetEnvIfNoCase TransferLog TypesConfig UnsetEnv";

/// Directives of `mod_wsgi`, from 4.9 to 6.1.
const MOD_WSGI: &str = "WSGIAcceptMutex WSGIAccessScript WSGIApplicationGroup WSGIApplicationWrapper WSGIAuthGroupScript WSGIAuthUserScript \
    WSGICallableObject WSGICaseSensitivity WSGIChunkedRequest WSGIDaemonProcess WSGIDestroyInterpreter WSGIDispatchScript \
    WSGIDontWriteBytecode WSGIEnableSendfile WSGIErrorOverride WSGIFreeThreading WSGIGroupAuthoritative WSGIHandlerScript WSGIIgnoreActivity \
    WSGIImportScript WSGILazyInitialization WSGIMapHEADToGET WSGINewRelicConfigFile WSGINewRelicEnvironment WSGIPassApacheRequest \
    WSGIPassAuthorization WSGIPerInterpreterGIL WSGIProcessGroup WSGIPythonEggs WSGIPythonHashSeed WSGIPythonHome WSGIPythonOptimize \
    WSGIPythonPath WSGIPythonWarnings WSGIRestrictEmbedded WSGIRestrictProcess WSGIRestrictSignal WSGIRestrictStdin WSGIRestrictStdout \
    WSGIScriptAlias WSGIScriptAliasMatch WSGIScriptReloading WSGIServerMetrics WSGISlowRequests WSGISocketPrefix WSGISocketRotation \
    WSGISwitchInterval WSGITelemetryOptions WSGITelemetryService WSGITrustedProxies WSGITrustedProxyHeaders WSGIVerboseDebugging";

/// Options of `WSGIDaemonProcess`.
const DAEMON_OPTIONS: &str = "chroot connect-timeout cpu-priority cpu-time-limit deadlock-timeout display-name eviction-timeout graceful-timeout \
    group header-buffer-size home inactivity-timeout interrupt-timeout lang listen-backlog locale maximum-requests memory-limit \
    newrelic-config-file newrelic-environment processes proxy-buffer-size python-eggs python-home python-path queue-timeout \
    receive-buffer-size request-timeout response-buffer-size response-flush-delay response-socket-timeout restart-interval script-group \
    script-user send-buffer-size server-metrics shutdown-timeout socket-rotation socket-timeout socket-user stack-size startup-timeout \
    supplementary-groups switch-interval threads umask user virtual-memory-limit";

const MOD_PYTHON: &str = "PythonAccessHandler PythonAuthenHandler PythonAuthzHandler PythonAutoReload PythonCleanupHandler \
    PythonConnectionHandler PythonDebug PythonEnablePdb PythonFixupHandler PythonHandler PythonHandlerModule PythonHeaderParserHandler \
    PythonImport PythonInitHandler PythonInputFilter PythonInterpPerDirective PythonInterpPerDirectory PythonInterpreter PythonLogHandler \
    PythonOptimize PythonOption PythonOutputFilter PythonPath PythonPostReadRequestHandler PythonTransHandler PythonTypeHandler";

const SECTIONS: &str = "AuthnProviderAlias AuthzProviderAlias Directory DirectoryMatch Else ElseIf Files FilesMatch If IfDefine IfDirective IfFile \
    IfModule IfSection IfVersion Limit LimitExcept Location LocationMatch Proxy RequireAll RequireAny RequireNone VirtualHost";

fn imported(text: &str) -> Import {
    let text = format!("DocumentRoot /srv/a\n{text}\n");
    with_files(Kind::Apache, "httpd.conf", &text, &common::PAGES)
        .unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

/// Returns losses whose reason says that the directive is not known.
fn unknown(import: &Import) -> Vec<String> {
    let vague = ["not known here; see whether", "has no counterpart", "option of mod_wsgi is not"];
    let is_vague = |why: &str| vague.iter().any(|words| why.contains(words));
    import.losses.iter().filter(|loss| is_vague(&loss.why)).map(ToString::to_string).collect()
}

#[test]
fn each_name_is_known() {
    for name in [CORE, USUAL, MOD_WSGI, MOD_PYTHON].iter().flat_map(|names| names.split_whitespace()) {
        for text in [format!("{name} a b c"), format!("<Directory /srv/a>\n{name} a b c\n</Directory>")] {
            assert_eq!(Vec::<String>::new(), unknown(&imported(&text)), "{text}");
        }
    }
    for name in SECTIONS.split_whitespace() {
        let text = format!("<{name} a>\nRequire all denied\n</{name}>");

        assert_eq!(Vec::<String>::new(), unknown(&imported(&text)), "{text}");
    }
    let strange = unknown(&imported("Strange on\nWSGIDaemonProcess shop strange=1"));
    assert_eq!(2, strange.len(), "{strange:?}");
}

#[test]
fn each_option_of_a_daemon_is_known() {
    for name in DAEMON_OPTIONS.split_whitespace() {
        let text = format!("WSGIDaemonProcess shop {name}=1");

        assert_eq!(Vec::<String>::new(), unknown(&imported(&text)), "{text}");
    }
}

/// A directive that is checked before a file is served may deny some clients, and so is never lost in silence.
#[test]
fn restrictions_open() {
    let names = "AllowMethods AuthMerging PythonAccessHandler PythonAuthenHandler PythonAuthzHandler PythonHandlerModule \
        PythonHeaderParserHandler PythonInitHandler PythonPostReadRequestHandler PythonTransHandler SSLRequireSSL \
        SSLVerifyClient";
    for name in names.split_whitespace() {
        let made = imported(&format!("{name} a"));

        assert!(made.opens(), "{name}: {}", made.text);
        assert!(made.text.contains("\nrespond = 503"), "{name}: {}", made.text);
    }
    // The names in `AccessFileName` matter only if such files count.
    let counts = "<Directory /srv/a>\nAllowOverride All\n</Directory>";
    assert!(imported(&format!("AccessFileName a/b\n{counts}")).opens());
    assert!(!imported(&format!("AccessFileName .acl .htaccess\n{counts}")).opens());
}

#[test]
fn directives_that_are_carried_over() {
    let cases = [
        ("MaxClients 50", "connections-max = 50"),
        ("AccessFileName .acl .htaccess", "htaccess-names = [\".acl\", \".htaccess\"]"),
        ("AccessFileName acl .htaccess", "here the names of such files must begin with a dot"),
        ("GracefulShutdownTimeout 5", "graceful-timeout = \"5s\""),
        ("WSGIPythonPath /srv/a:/srv/b", "python-path = [\"/srv/a\", \"/srv/b\"]"),
        (
            "WSGITrustedProxies 10.0.0.0/8 ::1\nWSGITrustedProxyHeaders X-Forwarded-For",
            "trusted-proxies = [\"10.0.0.0/8\", \"::1\"]  # httpd.conf:2\ntrusted-fields = [\"X-Forwarded-For\"]",
        ),
        ("WSGITrustedProxies 10.0.0.0/8", "believes nothing that these proxies say"),
        ("WSGIScriptAlias /a /srv/a.wsgi callable-object=app", "app = \"/srv/a.wsgi:app\""),
        (
            "WSGIScriptAlias /a /srv/a.wsgi\n<Directory /srv>\nWSGICallableObject app\n</Directory>",
            "app = \"/srv/a.wsgi:app\"",
        ),
        ("WSGIDaemonProcess shop processes=2 threads=5 request-timeout=9", "request-timeout = \"9s\""),
    ];
    for (text, key) in cases {
        let made = imported(text);

        assert!(made.text.contains(key), "{key}: {}", made.text);
    }
}

/// Proxies are trusted as in Apache, and no more: address rules that would see other addresses refuse.
#[test]
fn addresses_of_proxies() {
    let rules = "<Location /a>\nRequire ip 192.0.2.0/24\n</Location>";
    let private = "<Location /a>\nRequire ip 10.0.0.0/8\n</Location>";
    let header = "RemoteIPHeader X-Forwarded-For";
    let internal = "RemoteIPInternalProxy 10.0.0.1";
    let external = "RemoteIPTrustedProxy 192.0.2.1";
    // Directives, whether they are carried over, and whether a loss opens.
    let cases = [
        (format!("{header}\n{internal}\n{rules}"), true, false),
        (format!("{header}\n{internal}\n{private}"), true, false),
        (format!("{header}\n{external}\n{rules}"), true, false),
        (format!("{header}\n{external}\n{private}"), true, true),
        (format!("{header}\n{external}"), true, false),
        (header.to_owned(), false, false),
        (format!("{header}\n{rules}"), false, true),
        (format!("{external}\n{rules}"), false, false),
        (format!("RemoteIPHeader X-Other\n{internal}\n{rules}"), false, true),
        (format!("{header}\nRemoteIPInternalProxy proxy.example\n{rules}"), false, true),
        (format!("{header}\nRemoteIPInternalProxyList /etc/proxies\n{rules}"), false, true),
        (format!("{header}\n{internal}\nRemoteIPProxyProtocol On\n{rules}"), false, true),
        ("RemoteIPProxyProtocol On".to_owned(), false, false),
        (format!("RemoteIPProxyProtocol Off\n{rules}"), false, false),
        (format!("<VirtualHost *>\n{header}\n{internal}\n</VirtualHost>"), true, false),
        (
            format!(
                "<VirtualHost *>\nServerName a\n{header}\n{internal}\n{rules}\n</VirtualHost>\n<VirtualHost *>\nServerName b\n</VirtualHost>"
            ),
            false,
            true,
        ),
    ];
    for (text, carried, opens) in cases {
        let made = imported(&text);

        assert_eq!(opens, made.opens(), "{text}\n{}", made.text);
        assert_eq!(opens, made.text.contains("# Refused"), "{text}\n{}", made.text);
        assert_eq!(carried, made.text.contains("\ntrusted-proxies = "), "{text}\n{}", made.text);
        assert_eq!(
            carried,
            made.text.contains("\ntrusted-fields = [\"X-Forwarded-For\"]"),
            "{text}\n{}",
            made.text
        );
        common::check(&made.text);
    }
    let both = "WSGITrustedProxies ::1\nWSGITrustedProxyHeaders X-Real-IP";
    let made = imported(&format!("{both}\n{header}\n{internal}"));
    assert!(made.text.contains("trusted-proxies = [\"::1\"]"), "{}", made.text);
}

/// Pages for errors are files that everybody may have.
#[test]
fn pages_for_errors() {
    let kept = "error-pages = { 404 = \"/srv/a/errors/404.html\" }";
    let cases = [
        ("ErrorDocument 404 /errors/404.html", kept),
        ("ErrorDocument 404 /errors/404.html", "static-404 = \"errors/404.html\""),
        ("ErrorDocument 404 /none.html\nErrorDocument 404 /errors/404.html", kept),
        ("Alias /e /srv/e\nErrorDocument 500 /e/500.html", "error-pages = { 500 = \"/srv/e/500.html\" }"),
        ("<VirtualHost *>\nErrorDocument 404 /errors/404.html\n</VirtualHost>", kept),
        ("ErrorDocument 404 /errors/none.html", "page 404: there is no file /srv/a/errors/none.html"),
        ("ErrorDocument 404 default", "files = "),
        ("ErrorDocument 404 \"Not here\"", "put the text into a file"),
        ("ErrorDocument 404 https://a.example/", "an error cannot be answered with a redirect"),
        ("ErrorDocument 200 /errors/404.html", "pages are for statuses from 400 on"),
        ("ErrorDocument 404 /errors/404.php", "an error page must be a file that is sent as it is"),
        (
            "AddHandler server-parsed .html\nErrorDocument 404 /errors/404.html",
            "an error page must be a file that is sent as it is",
        ),
        (
            "WSGIScriptAlias /app /srv/a.wsgi\nErrorDocument 404 /app/404.html",
            "an error page must be a file; write",
        ),
        (
            "<Location /errors>\nRequire all denied\n</Location>\nErrorDocument 404 /errors/404.html",
            "some clients are denied that page",
        ),
        (
            "<Files 404.html>\nRequire all denied\n</Files>\nErrorDocument 404 /errors/404.html",
            "some clients are denied that page",
        ),
        (
            "<Location /x>\nErrorDocument 404 /x.html\n</Location>",
            "one folder or path cannot have an error page",
        ),
        ("WSGIScriptAlias /app /srv/a.wsgi\nWSGIErrorOverride On", "intercept-errors = true"),
    ];
    assert!(!imported("ErrorDocument 404 /errors/none.html").text.contains("static-404"));
    for (text, expected) in cases {
        let made = imported(text);

        assert!(made.text.contains(expected), "{text}\n{}", made.text);
        common::check(&made.text);
    }
}

/// A pattern that stands for a few paths becomes these paths; any other pattern is reported, and refuses as before.
#[test]
fn patterns() {
    let cases = [
        ("AliasMatch ^/(css|js)/(.*)$ /srv/$1/$2", "path = \"/js/\"  # httpd.conf:2\nfiles = \"/srv/js\""),
        (
            "AliasMatch ^/robots\\.txt$ /srv/static/robots.txt",
            "path = \"/robots.txt\"  # httpd.conf:2\nfiles = \"/srv/static\"",
        ),
        ("AliasMatch ^/a/([^/]+)/(.*)$ /srv/$1/$2", "a pattern has to stand for all paths beneath one path"),
        ("ScriptAliasMatch ^/cgi(/.*)?$ /usr/lib/cgi-bin$1", "cgi = \"/usr/lib/cgi-bin\""),
        (
            "WSGIScriptAliasMatch ^/(shop|blog) /srv/$1.wsgi",
            "app = \"/srv/blog.wsgi:application\"  # httpd.conf:2\nmount = true",
        ),
        (
            "WSGIScriptAliasMatch ^/(shop|blog)/(.*)$ /srv/$1.wsgi/$2",
            "a pattern has to stand for all paths beneath one path",
        ),
        (
            "RedirectMatch 301 ^/(a|b)/(.*)$ /new/$1/$2",
            "path = \"/b/\"  # httpd.conf:2\nredirect = \"/new/b{rest}{query}\"",
        ),
        ("RedirectMatch 301 ^/(a|b)$ /new/$1", "path = \"/b\"  # httpd.conf:2\nredirect = \"/new/b{query}\""),
        ("RedirectMatch gone ^/(a|b)(/.*)?$", "path = \"/b/\"  # httpd.conf:2\nrespond = 410"),
        ("RedirectMatch 403 ^/private/", "path = \"/private/\"  # httpd.conf:2\nrespond = 403"),
        (
            "ScriptAlias /x /srv/prog.cgi",
            "rewrite = [\"^/x(?:/prog\\\\.cgi)?(/(?s:.*))?$ -> /x/prog.cgi{1}\"]",
        ),
        ("ScriptAlias /x /srv/prog.cgi", "path = \"/x/\"  # httpd.conf:2\ncgi = \"/srv\""),
        (
            "ScriptAlias /x /srv/prog.cgi\n<Location /x/a>\nRequire all denied\n</Location>",
            "respond = 403  # httpd.conf:4",
        ),
        (
            "ScriptAlias /x /srv/prog.cgi\n<Location /x/a>\nRequire all denied\n</Location>",
            "respond = 503  # httpd.conf:2",
        ),
        ("ScriptAlias / /srv/prog.cgi", "respond = 503"),
    ];
    for (text, expected) in cases {
        let made = imported(text);

        assert!(made.text.contains(expected), "{text}\n{expected}\n{}", made.text);
        assert!(!made.opens(), "{text}");
        common::check(&made.text);
    }
    for lost in ["RedirectMatch 403 ^/private", "RedirectMatch 404 /\\.git", "RedirectMatch 403 ^/a([0-9]+)$"]
    {
        assert!(imported(lost).opens(), "{lost}");
    }
}

/// Arguments for directives where a number would mean nothing.
const ARGUMENTS: [(&str, &str); 51] = [
    ("AccessFileName", ".htaccess"),
    ("AddDefaultCharset", "utf-8"),
    ("AllowEncodedSlashes", "On"),
    ("AllowOverride", "None"),
    ("DefaultType", "text/plain"),
    ("Define", "X"),
    ("DocumentRoot", "/srv/b"),
    ("ErrorDocument", "404 /errors/404.html"),
    ("ErrorLog", "/srv/log"),
    ("ForceType", "text/plain"),
    ("Group", "staff"),
    ("KeepAlive", "Off"),
    ("Listen", "8081"),
    ("LogLevel", "info"),
    ("Options", "+Indexes"),
    ("ServerAlias", "b.example"),
    ("ServerName", "a.example"),
    ("SetHandler", "server-status"),
    ("SetInputFilter", "X"),
    ("SetOutputFilter", "X"),
    ("User", "www-data"),
    ("WSGICallableObject", "app"),
    ("WSGIDaemonProcess", "shop threads=3"),
    ("WSGIErrorOverride", "On"),
    ("WSGIHandlerScript", "x /srv/x.wsgi"),
    ("WSGIImportScript", "/srv/x.wsgi process-group=shop application-group=x"),
    ("WSGIProcessGroup", "shop"),
    ("WSGIPythonPath", "/srv/a"),
    ("WSGIScriptAlias", "/x /srv/x.wsgi"),
    ("WSGIScriptAliasMatch", "^/(x|y) /srv/$1.wsgi"),
    ("WSGITrustedProxies", "10.0.0.1"),
    ("WSGITrustedProxyHeaders", "X-Forwarded-For"),
    ("group", "staff"),
    ("LimitRequestFieldSize", "4096"),
    ("LimitRequestLine", "4096"),
    ("processes", "2"),
    ("stack-size", "65536"),
    ("threads", "2"),
    ("display-name", "%{GROUP}"),
    ("home", "/srv/a"),
    ("lang", "C.UTF-8"),
    ("locale", "C.UTF-8"),
    ("python-eggs", "/srv/eggs"),
    ("python-home", "/srv/venv"),
    ("python-path", "/srv/a"),
    ("server-metrics", "On"),
    ("umask", "0027"),
    ("user", "www-data"),
    ("WSGIAccessScript", "/srv/access.wsgi"),
    ("WSGIAuthGroupScript", "/srv/auth.wsgi"),
    ("WSGIAuthUserScript", "/srv/auth.wsgi"),
];

/// Returns the effect of `text` compared with `before`: keys, losses, or nothing, because Adyton always does what it
/// says.
fn outcome(before: &str, text: &str) -> String {
    let lines = |made: &Import| -> Vec<String> {
        let lines = made.text.lines().map(|line| line.split("  #").next().unwrap_or_default().to_owned());
        lines.filter(|line| line.contains(" = ") && !line.starts_with('#')).collect()
    };
    let (before, made) = (lines(&imported(before)), imported(text));
    let is_lost = made.opens();
    let mut kept: Vec<String> = lines(&made).into_iter().filter(|line| !before.contains(line)).collect();
    kept.dedup();
    let mut all = Vec::new();
    if is_lost {
        all.push("refuses everybody".to_owned());
    } else if !kept.is_empty() {
        all.push(format!("kept: {}", kept.join(", ")));
    }
    all.extend(made.losses.iter().map(|loss| format!("told: {}", loss.why)));
    if all.is_empty() { "so without being said".to_owned() } else { all.join("; ") }
}

/// The table beside the cases has the effect of every directive and option.
#[test]
fn what_comes_of_each_name() {
    let mut table = Vec::new();
    let lists = [
        ("httpd", CORE),
        ("mod_wsgi", MOD_WSGI),
        ("WSGIDaemonProcess", DAEMON_OPTIONS),
        ("mod_python", MOD_PYTHON),
    ];
    for (title, names) in lists {
        table.push(title.to_owned());
        for name in names.split_whitespace() {
            let argument =
                ARGUMENTS.iter().find(|(other, _)| *other == name).map_or("1", |(_, argument)| argument);
            let (before, text) = if title == "WSGIDaemonProcess" {
                let daemon = "WSGIDaemonProcess shop";
                (daemon, format!("{daemon} {name}={argument}"))
            } else {
                let app = "WSGIScriptAlias /app /srv/app.wsgi";
                (app, format!("{app}\n{name} {argument}"))
            };
            let found = outcome(before, &text);
            table.push(format!("    {name}: {found}"));
        }
    }
    let table = table.join("\n") + "\n";
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/apache_names.txt");
    if std::env::var_os("ADYTON_WRITE_CASES").is_some() {
        std::fs::write(golden, &table).unwrap_or_else(|error| panic!("{error}"));
    }
    let expected = std::fs::read_to_string(golden).unwrap_or_default();

    assert!(expected == table, "expected:\n{expected}\nfound:\n{table}");
}
