//! The typed result, which the rest of the server reads: sections with one field for each row, and sites.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_route::{Ahead, HostPattern, Location, PathPattern, When};

use crate::command::target::Target;
use crate::rows::access::Access;
use crate::rows::answers::Answers;
use crate::rows::application::{Application, Interface};
use crate::rows::caching::Caching;
use crate::rows::compression::Compression;
use crate::rows::connections::Connections;
use crate::rows::files::Files;
use crate::rows::listening::Listening;
use crate::rows::logging::Logging;
use crate::rows::messages::Messages;
use crate::rows::processes::Processes;
use crate::rows::scripts::CgiScripts;
use crate::rows::threads::Threads;
use crate::rows::timeouts::Timeouts;
use crate::settings::bind::Bind;
use crate::settings::said::{SaidAt, Sayings};

/// Every setting, checked: a section for each file of rows.
///
/// Relative paths are relative to `chdir`: the server goes there before it opens anything. Numbers have their unit in
/// the name; `_max` and `_min` include the value itself. Only the rows have defaults: settings begin blank, and each
/// row fills its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The target, as typed; `None` when a program hands over its application, or only files are served.
    pub target: Option<String>,
    /// The module, file or folder that `target` names.
    pub located: Option<Target>,
    /// The sites of a file, if the target is one; `located` is `None` then.
    pub sites: Option<Arc<Sites>>,
    /// Settings of a file, and their places.
    pub sayings: Sayings,
    /// The source of `processes`: `--processes`, in any of its forms, or the name of a platform's variable.
    pub processes_source: String,

    /// Where the server listens, and which proxies it believes.
    pub listening: Listening,
    /// The application, and its environment.
    pub application: Application,
    /// Threads inside the application, and what happens when there are too few.
    pub threads: Threads,
    /// The supervisor and its workers.
    pub processes: Processes,
    /// Static files.
    pub files: Files,
    /// Answers that are compressed on their way.
    pub compression: Compression,
    /// Answers that are kept for other clients.
    pub caching: Caching,
    /// CGI scripts.
    pub scripts: CgiScripts,
    /// Clients that may use a site.
    pub access: Access,
    /// Changes to answers.
    pub answers: Answers,
    /// Logs.
    pub logging: Logging,
    /// Limits of requests, and changes to requests and answers.
    pub messages: Messages,
    /// How many connections there may be, and how long each is used.
    pub connections: Connections,
    /// Timeouts.
    pub timeouts: Timeouts,
}

/// Makes blank settings, and lets the rows of each section find it.
macro_rules! sections {
    ($($name:ident: $section:ty,)*) => {
        impl Settings {
            /// Returns settings in which every field is empty, before a row has filled it.
            pub(crate) fn blank() -> Settings {
                Settings {
                    target: None,
                    located: None,
                    sites: None,
                    sayings: Sayings::default(),
                    processes_source: String::new(),
                    $($name: <$section>::default(),)*
                }
            }
        }
        $(impl AsRef<$section> for Settings {
            fn as_ref(&self) -> &$section {
                &self.$name
            }
        }

        impl AsMut<$section> for Settings {
            fn as_mut(&mut self) -> &mut $section {
                &mut self.$name
            }
        })*
    };
}

sections! {
    listening: Listening,
    application: Application,
    threads: Threads,
    processes: Processes,
    files: Files,
    compression: Compression,
    caching: Caching,
    scripts: CgiScripts,
    access: Access,
    answers: Answers,
    logging: Logging,
    messages: Messages,
    connections: Connections,
    timeouts: Timeouts,
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
    /// Groups: some of the applications have workers of their own.
    pub groups: Vec<Group>,
    /// The part of the file that this process serves.
    pub part: Part,
    /// The text of the whole file, without secrets that this process does not get.
    pub text: String,
    /// Values of the text that not every process gets.
    pub(crate) secrets: Vec<Secret>,
    /// The absolute path of the file.
    pub place: PathBuf,
}

impl Sites {
    /// Whether this process serves a site, or passes its requests on to the process that does. A process that accepts
    /// connections at the server's addresses has all sites at those addresses. A process of a group with addresses of
    /// its own has the sites at the group's addresses instead.
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
    /// Each part that runs CGI scripts or may run them, because it accepts connections itself or because a
    /// route says so.
    Scripts,
}

/// The part of a file that a process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Part {
    /// The whole file: the process checks the file, or has other processes serve it; in both cases it looks at the
    /// disk.
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
    /// The group's Python; `None`: the server's Python.
    pub python: Option<PathBuf>,
    /// The working directory of the group's workers, as an absolute path; `None`: the server's directory.
    pub chdir: Option<PathBuf>,
    /// Time after which processes without a request end; `None`: the group always has processes.
    pub idle_timeout_ms: Option<u64>,
    /// The server's settings, except those that the group sets itself.
    pub settings: Settings,
    /// Addresses that the group has to itself; if there are none, its sites are found at the server's
    /// addresses.
    pub bind: Vec<Bind>,
    /// The place of `bind`.
    pub bind_said_at: SaidAt,
    /// Everything in the file that the group's processes depend on: the processes can stay if the fingerprint stays the
    /// same.
    pub fingerprint: String,
    /// The line of the file where the group begins.
    pub line: usize,
    /// The place where the group begins.
    pub said_at: SaidAt,
}

/// The file that answers for its folder, in a folder of files.
pub const INDEX: &str = "index.html";

/// A site: some host names, and the routes for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The names; the first site at its addresses needs none.
    pub hosts: Vec<HostPattern>,
    /// The group at whose own addresses the site is found, by its number among [`Sites::groups`]; `None`: the site is
    /// found at the server's addresses.
    pub bound: Option<usize>,
    /// The folder to which paths of the site's routes are relative, if the site sets one.
    pub root: Option<PathBuf>,
    /// The rules that come before the routes: paths that are refused to everybody, and rewrites of other
    /// paths.
    pub ahead: Ahead,
    /// The routes, in the order of the file.
    pub routes: Vec<SiteRoute>,
    /// The server's settings, except those that the site sets itself.
    pub settings: Settings,
    /// The line of the file where the site begins.
    pub line: usize,
}

/// The path at which the application of a route is mounted: its `SCRIPT_NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mount {
    /// At the root: the application gets the whole path.
    #[default]
    Root,
    /// At the path of the route.
    Route,
    /// At this path, which has no slash at its end: the path of the route, or a prefix of it.
    At(Box<[u8]>),
    /// At the path of the route if the route is also for all paths beneath it, else at the root. A folder is searched
    /// for the rest of the path.
    Folder,
}

impl Mount {
    /// Returns how many bytes of a route's path are the application's mount; `None` if it cannot be mounted
    /// there.
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
    /// The path at which the application is mounted.
    pub mount: Mount,
    /// The action that answers.
    pub action: SiteAction,
    /// The application of all pages in the route's folders, by its number among [`Sites::apps`], if folders may have
    /// pages.
    pub pages: Option<usize>,
    /// The site's settings, except those that the route sets itself.
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
    /// Suffixes of names, as `.pl`, and the program that runs files with each; if there are none, the files themselves
    /// are executed.
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

impl Settings {
    /// Returns a path that is relative to `chdir` in a form that is right in any folder.
    pub fn place(&self, path: &Path) -> PathBuf {
        self.application.chdir.as_ref().map_or(path.to_owned(), |base| base.join(path))
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

    /// Whether folders may set anything themselves, in an `.adyton.toml` or an `.htaccess`.
    pub fn lets_folders_speak(&self) -> bool {
        !(self.files.may_set.is_empty() && self.files.htaccess.is_empty())
    }

    /// Returns the names of the files that are read like Apache's `.htaccess`; only the first that exists is
    /// read.
    pub fn names_of_htaccess(&self) -> Vec<String> {
        if self.files.htaccess_names.is_empty() {
            vec![HTACCESS.to_owned()]
        } else {
            self.files.htaccess_names.clone()
        }
    }

    /// Whether folders may have their programs run.
    pub fn lets_folders_run(&self) -> bool {
        self.files.may_set.lets_run() || self.files.htaccess.lets_run()
    }

    /// Whether folders may make their Python files pages.
    pub fn lets_folders_have_pages(&self) -> bool {
        self.files.may_set.lets_have_pages() || self.files.htaccess.lets_have_pages()
    }
}

/// Usual name of Apache's files of settings in folders.
const HTACCESS: &str = ".htaccess";
