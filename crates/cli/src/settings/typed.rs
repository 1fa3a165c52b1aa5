//! The typed result: one field for each row, which the rest of the server reads.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use adyton_compress::Coding;
use adyton_log::Level;
use adyton_log::sink::Destination;
use adyton_route::{DeniedPaths, HostPattern, Location, Networks, PathPattern, Rewrites, When};

use crate::command::target::Target;
use crate::settings::bind::Bind;
use crate::settings::may_set::MaySet;
use crate::settings::said::{SaidAt, Sayings};

/// Every setting, checked.
///
/// Relative paths are relative to `chdir`: the server goes there before it opens anything. Numbers have their unit in
/// the name; `_max` and `_min` include the value itself. `Settings::default()` is only the start that the rows then
/// fill: its values are never used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the user, not a state of ours")]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Settings {
    /// The target, as typed; `None` when a program hands over its application, or only files are served.
    pub target: Option<String>,
    /// The target that `target` turned out to be.
    pub located: Option<Target>,
    /// The sites of a file, if the target is one; `located` is `None` then.
    pub sites: Option<Arc<Sites>>,
    /// Settings of a file, and their places.
    pub sayings: Sayings,

    /// Addresses to listen at; `host` and `port` have gone into them. Empty only if each site has addresses of its own.
    pub bind: Vec<Bind>,
    pub host: String,
    pub port: u16,
    /// The mode of unix sockets; `None`: as the umask leaves it.
    pub socket_mode: Option<u32>,
    pub backlog: u32,

    pub interface: Interface,
    pub factory: bool,
    pub threads: u32,
    pub hand_over: HandOver,
    pub slow_nice: u8,
    pub queue_limit: u64,
    pub queue_timeout_ms: u64,
    /// 0: no limit.
    pub request_timeout_ms: u64,
    pub crowded_timeout_ms: u64,
    /// 0: no limit.
    pub request_total_timeout_ms: u64,
    pub stream_body: bool,
    pub stream_body_threads_max: u64,
    pub output_bytes_max: u64,
    pub log_queue_bytes_max: u64,
    pub chdir: Option<PathBuf>,
    pub python_path: Vec<PathBuf>,
    pub env: Vec<(String, String)>,

    pub processes: Processes,
    /// The source of `processes`: `--processes`, in any of its forms, or the name of a platform's variable.
    pub processes_source: String,
    /// 0: as many as `processes`.
    pub min_processes: u64,
    /// 0: as many as `processes`.
    pub max_processes: u64,
    pub preload: bool,
    pub reload: bool,
    pub touch_reload: Option<PathBuf>,
    pub reload_pace: Pace,
    /// 0: any number.
    pub max_requests: u64,
    /// 0: for ever.
    pub max_lifetime_ms: u64,
    /// 0: any.
    pub max_rss_bytes: u64,
    /// 0: any.
    pub memory_limit_bytes: u64,
    /// 0: any.
    pub cpu_limit_ms: u64,
    pub nice: u8,
    pub user: Option<String>,
    pub group: Option<String>,
    pub umask: Option<u32>,
    pub new_privileges: bool,
    /// 0: for ever.
    pub startup_timeout_ms: u64,
    /// 0: a worker may be silent.
    pub heartbeat_timeout_ms: u64,
    pub drain_delay_ms: u64,
    pub control: Control,
    pub admin: Option<Bind>,
    pub admin_token: Option<String>,
    pub admin_hosts: Vec<String>,

    /// Pages in the place of the server's own, by status; relative to `chdir`. The last one for a status counts.
    pub error_pages: Vec<(u16, PathBuf)>,
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
    /// The words that the folders beneath may use in files of their own; `htaccess`: in those of Apache.
    pub may_set: MaySet,
    pub htaccess: MaySet,
    /// Names of the files that are read as those of Apache; empty: the usual one.
    pub htaccess_names: Vec<String>,
    pub static_cache_bytes_max: u64,
    pub static_cache_file_bytes_max: u64,

    pub compress: Compress,
    pub compress_bytes_min: u64,
    pub compress_file_bytes_max: u64,
    pub compress_cookies: bool,
    pub compress_memory_max: u64,

    /// How long answers that do not say it themselves are kept for other clients; `None`: they are not kept.
    pub cache_ms: Option<u64>,
    pub cache_cookies: bool,
    pub cache_memory_max: u64,

    /// How long a script may be silent; 0: no limit.
    pub cgi_timeout_ms: u64,
    pub cgi_processes: u64,
    /// 0: no limit.
    pub cgi_memory_limit_bytes: u64,
    /// 0: no limit.
    pub cgi_user_processes_max: u64,
    /// Variables of scripts; `None`: the server's own value.
    pub cgi_environment: Vec<(String, Option<String>)>,
    /// Programs that folders may choose to run their scripts.
    pub cgi_interpreters: Vec<PathBuf>,

    /// Proxies that are believed. `trusted_fields` are the header fields that are believed of them; empty: the usual
    /// ones.
    pub trusted_proxies: Networks,
    pub trusted_fields: Vec<String>,
    pub proxy_protocol: bool,

    /// How clients authenticate; `None`: they need no password.
    pub auth: Option<Auth>,
    pub auth_realm: String,
    /// Users that are let in; empty, as are `auth_groups`: all users of the file.
    pub auth_users: Vec<String>,
    pub auth_groups: Vec<String>,
    pub auth_group_file: Option<PathBuf>,
    /// The Python that knows the groups, in the place of a file.
    pub auth_group_python: Option<String>,
    /// How long a password that Python has accepted is not asked about again; 0: Python is asked each time.
    pub auth_remember_ms: u64,
    /// Clients that are let in; if there are none, all that `deny` does not name.
    pub allow: Networks,
    pub deny: Networks,
    /// The Python that says which requests are let in.
    pub allow_python: Option<String>,
    /// The time between two requests of a client that are sent evenly, in µs; `None`: no limit.
    pub rate_limit: Option<u64>,
    pub rate_burst: u32,
    /// Whether clients of `allow` need no password, and others are let in with one.
    pub auth_satisfy_any: bool,

    /// Names and values of header fields; of two with the same name the last counts.
    pub headers: Vec<(String, String)>,
    pub add_headers: Vec<(String, String)>,
    pub remove_headers: Vec<String>,
    pub cache_control: Option<String>,
    pub intercept_errors: bool,
    /// The folder beneath which applications may have files sent; relative to `chdir`.
    pub x_sendfile: Option<PathBuf>,
    pub internal_redirects: bool,

    /// Where the access log goes; `None`: there is none.
    pub access_log: Option<Destination>,
    pub access_log_format: AccessLogFormat,
    pub error_log: Destination,
    pub log_format: LogFormat,
    pub log_level: Level,
    pub capture_output: CaptureOutput,
    /// The header field that carries the request's identifier; `None`: no field does.
    pub request_id_header: Option<String>,

    pub request_line_bytes_max: u64,
    pub header_field_bytes_max: u64,
    pub header_bytes_max: u64,
    pub header_fields_max: u64,
    pub body_bytes_max: u64,
    pub body_memory_max: u64,
    pub body_files_bytes_max: u64,
    pub temp_dir: PathBuf,
    pub underscore_headers: UnderscoreHeaders,
    pub merge_slashes: bool,
    /// The value of the `Server` field; `None`: the field is not sent.
    pub server_header: Option<String>,

    /// 0: as many as the limit of open files leaves room for.
    pub connections_max: u64,
    /// 0: no cap.
    pub connections_per_address_max: u64,
    /// 0: no cap.
    pub keep_alive_requests_max: u32,
    pub drain_bytes_max: u64,

    pub first_byte_timeout_ms: u64,
    pub header_timeout_ms: u64,
    pub body_idle_timeout_ms: u64,
    /// 0: no such check.
    pub body_rate_min_bytes_per_second: u64,
    pub body_rate_grace_ms: u64,
    pub write_idle_timeout_ms: u64,
    /// 0: no such check.
    pub write_rate_min_bytes_per_second: u64,
    pub write_rate_grace_ms: u64,
    pub keep_alive_timeout_ms: u64,
    pub linger_timeout_ms: u64,
    pub graceful_timeout_ms: u64,
}

/// A file of sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    /// The file, as it was given.
    pub file: PathBuf,
    /// The sites, at least one.
    pub sites: Vec<Site>,
    /// The applications of all routes, each once.
    pub apps: Vec<AppTarget>,
    /// Workers of their own for some of them.
    pub groups: Vec<Group>,
    /// The part of the file that this process serves.
    pub part: Part,
    /// The whole file, as far as this process gets it.
    pub text: String,
    /// Values of the text that not every process gets.
    pub(crate) secrets: Vec<Secret>,
    /// The absolute path of the file.
    pub place: PathBuf,
}

impl Sites {
    /// Whether this process serves a site, or leads to the process that does. Each process does so for all sites at the
    /// addresses of the server, except one of a group with addresses of its own, which does so for the sites there.
    pub fn has(&self, site: &Site) -> bool {
        match self.part {
            Part::Whole => true,
            Part::Door => site.bound.is_none(),
            Part::Group(own) => site.bound == Some(own).filter(|own| self.is_bound(*own)),
        }
    }

    /// Whether this process belongs to a group that has addresses of its own: it answers all requests there.
    pub fn is_of_bound_group(&self) -> bool {
        matches!(self.part, Part::Group(own) if self.is_bound(own))
    }

    fn is_bound(&self, group: usize) -> bool {
        self.groups.get(group).is_some_and(|group| !group.bind.is_empty())
    }

    /// The routes of all sites.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &SiteRoute> {
        self.sites.iter().flat_map(|site| &site.routes)
    }
}

/// A value of a file of sites that not every process gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    /// The place of the value, in bytes.
    pub(crate) place: Range<usize>,
    pub(crate) reader: Reader,
}

/// The processes that need a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The supervisor alone.
    Supervisor,
    /// The processes of these parts.
    Parts(Vec<Part>),
    /// Each part that runs CGI scripts, or may: it accepts connections by itself, or a route says so.
    Scripts,
}

/// The part of a file that a process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Part {
    /// The whole file, for which the process looks at the disk: it checks the file, or has other processes serve it.
    #[default]
    Whole,
    /// All that belongs to no group.
    Door,
    /// All that belongs to this group, given by its number among [`Sites::groups`].
    Group(usize),
}

/// Workers of their own for some of the applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// The group's Python; `None`: that of the server.
    pub python: Option<PathBuf>,
    /// The working directory of the group's workers, as an absolute path; `None`: that of the server.
    pub chdir: Option<PathBuf>,
    /// Time after which processes without a request end; `None`: the group always has processes.
    pub idle_timeout_ms: Option<u64>,
    /// The server's settings, but for what the group says otherwise.
    pub settings: Settings,
    /// Addresses that the group has to itself; if there are none, its sites are found at those of the server.
    pub bind: Vec<Bind>,
    /// The place of `bind`.
    pub bind_said_at: SaidAt,
    /// Everything in the file that the group's processes depend on: they can stay if it is the same.
    pub fingerprint: String,
    /// The line of the file where the group begins.
    pub line: usize,
    /// The place where the group begins.
    pub said_at: SaidAt,
}

/// The file that answers for its folder, where files are served.
pub const INDEX: &str = "index.html";

/// A site: some host names, and the routes for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The names; the first site at its addresses needs none.
    pub hosts: Vec<HostPattern>,
    /// The group at whose own addresses the site is found, by its number among [`Sites::groups`]; `None`: at those of
    /// the server.
    pub bound: Option<usize>,
    /// The folder that paths of its routes are relative to, if it has one.
    pub root: Option<PathBuf>,
    /// Paths that nobody gets.
    pub denied: DeniedPaths,
    /// Changes of paths before routes are looked for.
    pub rewrites: Rewrites,
    /// The routes, in the order of the file.
    pub routes: Vec<SiteRoute>,
    /// The server's settings, but for what the site says otherwise.
    pub settings: Settings,
    /// The line of the file where the site begins.
    pub line: usize,
}

/// Where the application of a route stands: its `SCRIPT_NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mount {
    /// At the root: the application gets the whole path.
    #[default]
    Root,
    /// At the path of the route.
    Route,
    /// At this path, which has no slash at its end: the route's path, or one that the route's path is beneath.
    At(Box<[u8]>),
    /// At the path of the route if that has all beneath it, else at the root: a folder is searched for the rest of the
    /// path.
    Folder,
}

impl Mount {
    /// Returns how many bytes of a route's path are the application's mount; `None` if it cannot stand there.
    pub fn bytes(&self, path: &PathPattern) -> Option<usize> {
        let route: &[u8] = match path {
            PathPattern::Exact(path) | PathPattern::Prefix(path) => path,
            PathPattern::Suffix(_) => b"",
        };
        match self {
            Mount::Root => Some(0),
            Mount::Route => Some(route.len()),
            Mount::Folder => Some(path.prefix_bytes()),
            Mount::At(mount) => {
                let rest = route.strip_prefix(&**mount)?;
                (rest.is_empty() || rest.starts_with(b"/")).then_some(mount.len())
            }
        }
    }
}

/// A route: which requests of a site are answered, and by what action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRoute {
    /// The paths.
    pub paths: Vec<PathPattern>,
    /// Further conditions that a request has to meet.
    pub when: When,
    /// Whether the route is only for requests that an application has sent on.
    pub is_internal: bool,
    /// Where the application stands.
    pub mount: Mount,
    /// The action that answers.
    pub action: SiteAction,
    /// The application of all pages in the route's folders, by its number among [`Sites::apps`], if folders may have
    /// pages.
    pub pages: Option<usize>,
    /// The site's settings, but for what the route says otherwise.
    pub settings: Settings,
    /// The line of the file where the route begins.
    pub line: usize,
    /// The places of the route and of its own keys.
    pub(crate) said: RouteSaid,
}

/// The places of a route in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteSaid {
    pub(crate) table: SaidAt,
    /// The places of keys that only routes have.
    pub(crate) keys: Vec<(&'static str, SaidAt)>,
}

/// The action that answers the requests of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteAction {
    /// An application, by its number among [`Sites::apps`].
    App(usize),
    /// A folder of files; relative to `chdir`.
    Files(PathBuf),
    /// CGI scripts.
    Cgi(ScriptFolder),
    /// A redirect to another place, with its status.
    Redirect(u16, Location),
    /// The server's own page for a status.
    Status(u16),
    /// A text that is always the same.
    Text {
        /// The status.
        status: u16,
        /// The media type.
        content_type: String,
        /// The text.
        body: String,
    },
}

/// Scripts of a route; paths are relative to `chdir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFolder {
    /// The folder.
    pub folder: PathBuf,
    /// Ends of names, as `.pl`, and the program that runs files with them; if there are none, files run themselves.
    pub interpreters: Vec<(String, PathBuf)>,
    /// The folder of the site, if it has one.
    pub root: Option<PathBuf>,
    /// The group whose workers start the scripts, by its number; `None`: the process that accepts the connections of
    /// the site.
    pub group: Option<usize>,
}

/// An application that routes name, and how it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppTarget {
    /// The application as the file names it.
    pub text: String,
    /// The target that the text stands for.
    pub target: Target,
    /// How the application is called.
    pub interface: Interface,
    /// Whether the target is a function that makes the application.
    pub factory: bool,
    /// The group that runs it, by its number among [`Sites::groups`].
    pub group: Option<usize>,
    /// The place where it is named first.
    pub said_at: SaidAt,
}

/// Which codings answers are compressed with.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Compress {
    /// None.
    #[default]
    Off,
    /// All, in the order that is best for the content.
    On,
    /// Some codings; of those that a client likes equally, the first.
    Only(Vec<Coding>),
}

/// How clients authenticate, with the file of users, relative to `chdir`, or the Python that knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// With the password itself (RFC 7617).
    Basic(PathBuf),
    /// With a digest of the password (RFC 7616).
    Digest(PathBuf),
    /// With the password itself, which a function knows: `MODULE`, `FILE.py`, or either with `:NAME`.
    BasicPython(String),
    /// With a digest of the password, which a function knows.
    DigestPython(String),
}

/// The kind of the target's application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Interface {
    /// Detected when the application is loaded.
    #[default]
    Auto,
    /// PEP 3333.
    Wsgi,
    /// `handler(request)`.
    Handler,
}

/// When another thread takes over the event loop from a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HandOver {
    /// When it takes long.
    #[default]
    Auto,
    /// Before it begins.
    Always,
    /// Not at all.
    Never,
}

/// How many worker processes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Processes {
    /// As many as the control group grants CPUs, and memory allows.
    #[default]
    Auto,
    /// This process serves, without a supervisor.
    None,
    /// This number.
    Number(usize),
}

/// How many workers reload at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pace {
    /// All, after the first.
    #[default]
    All,
    /// One after the other.
    One,
}

/// Where the server takes orders.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Control {
    /// Nowhere.
    #[default]
    Off,
    /// At a path that is made of the process's number.
    Auto,
    /// At this path.
    Path(PathBuf),
}

/// A folder of files under a prefix of the URL's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticMount {
    /// The prefix without a slash at its end: `/static`, or empty for the root.
    pub prefix: String,
    /// The folder.
    pub dir: PathBuf,
}

/// How a line of the access log looks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum AccessLogFormat {
    /// The common log format.
    #[default]
    Common,
    /// `Common` with the referrer and the user agent.
    Combined,
    /// One JSON object a line.
    Json,
    /// Atoms in the notation of Apache's `LogFormat`, not yet read.
    Atoms(String),
}

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object each.
    Json,
}

/// Whether the application's standard streams end in the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CaptureOutput {
    /// Unless standard error is a terminal.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The treatment of request header fields with an underscore in their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnderscoreHeaders {
    /// The field is left out.
    #[default]
    Drop,
    /// The request is answered 400.
    Refuse,
}

impl Settings {
    /// Returns a path, which is relative to `chdir`, as it is from anywhere.
    pub fn place(&self, path: &Path) -> PathBuf {
        self.chdir.as_ref().map_or(path.to_owned(), |base| base.join(path))
    }

    /// Returns the `chdir` of the group that this process belongs to, if there is such a group and it has one.
    pub fn own_folder(&self) -> Option<&Path> {
        let sites = self.sites.as_ref()?;
        let Part::Group(own) = sites.part else { return None };
        sites.groups[own].chdir.as_deref()
    }

    /// Returns a path of the file of sites, which is relative to the server's `chdir`, as this process opens it:
    /// absolute if the process works in a folder of its group.
    pub fn place_from_folder(&self, path: &Path) -> PathBuf {
        if self.own_folder().is_some() { self.place(path) } else { path.to_owned() }
    }

    /// Whether folders may say anything themselves, in an `.adyton.toml` or an `.htaccess`.
    pub fn lets_folders_speak(&self) -> bool {
        !(self.may_set.is_empty() && self.htaccess.is_empty())
    }

    /// Returns the names of the files that are read as those of Apache; the first one that exists counts.
    pub fn names_of_htaccess(&self) -> Vec<String> {
        if self.htaccess_names.is_empty() { vec![HTACCESS.to_owned()] } else { self.htaccess_names.clone() }
    }

    /// Whether folders may say that their programs are run.
    pub fn lets_folders_run(&self) -> bool {
        self.may_set.lets_run() || self.htaccess.lets_run()
    }

    /// Whether folders may say that their Python files are pages.
    pub fn lets_folders_have_pages(&self) -> bool {
        self.may_set.lets_have_pages() || self.htaccess.lets_have_pages()
    }
}

/// Usual name of Apache's files of settings in folders.
const HTACCESS: &str = ".htaccess";

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

impl AccessLogFormat {
    /// Returns the format in Apache's atoms; `None` for JSON.
    pub fn atoms(&self) -> Option<&str> {
        match self {
            AccessLogFormat::Common => Some(r#"%h %l %u %t "%r" %>s %b"#),
            AccessLogFormat::Combined => Some(r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#),
            AccessLogFormat::Json => None,
            AccessLogFormat::Atoms(atoms) => Some(atoms),
        }
    }
}
