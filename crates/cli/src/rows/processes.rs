//! The supervisor and its workers.

use std::path::PathBuf;

use crate::settings::bind::Bind;
use crate::settings::row::{Has, Kind, Row, Section};
use crate::settings::units::{Unit, digits, octal};

/// The longest limit of a worker's life, a week: a longer one would be as good as none.
const LIFE_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;

/// The supervisor and its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Processes {
    pub processes: ProcessCount,
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
}

impl<S: Has<Processes>> Section<S> for Processes {
    const HEADING: &'static str = "Processes";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "processes",
            kind: Kind::Form {
                shape: "N|auto",
                set: |settings, text| {
                    processes(text).map(|processes| settings.as_mut().processes = processes)
                },
            },
            default: "auto",
            example: "4",
            ambient: Some("WEB_CONCURRENCY"),
            help: "worker processes; 0: no supervisor",
            detail: "`auto` is one for each CPU that the control group grants, as far as memory allows; the banner \
                     shows the number and its reason. A supervisor, which runs no application code, keeps the sockets \
                     and replaces workers that end. With 0 the process that you start serves itself. \
                     `$WEB_CONCURRENCY` applies if this setting is given in no other way. On a free-threaded \
                     interpreter `auto` is 1: one process uses all CPUs.",
            held: Some(|one, other| one.as_ref().processes == other.as_ref().processes),
            ..Self::ROW
        },
        Row {
            name: "min-processes",
            kind: number(1024, |settings, number| settings.as_mut().min_processes = number),
            default: "0",
            example: "1",
            help: "minimum number of workers at low load; 0: all",
            detail: "A worker ends when, for a minute, one worker less would have been enough, judged by the CPU time \
                     and the threads in use. With 0 the number never falls below `--processes`.",
            held: Some(|one, other| one.as_ref().min_processes == other.as_ref().min_processes),
            ..Self::ROW
        },
        Row {
            name: "max-processes",
            kind: number(1024, |settings, number| settings.as_mut().max_processes = number),
            default: "0",
            example: "8",
            help: "maximum number of workers under load; 0: all",
            detail: "A worker is added when requests have waited for a thread for three seconds. With 0 the number \
                     never exceeds `--processes`.",
            held: Some(|one, other| one.as_ref().max_processes == other.as_ref().max_processes),
            ..Self::ROW
        },
        Row {
            name: "preload",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().preload = on },
            default: "off",
            example: "on",
            help: "import once, and fork workers from there",
            detail: "Workers share the memory of the imported modules, and start in milliseconds. The application \
                     must not start threads or open connections while it is imported: do that in a function for \
                     `adyton.hooks.on_fork`.",
            held: Some(|one, other| one.as_ref().preload == other.as_ref().preload),
            ..Self::ROW
        },
        Row {
            name: "reload",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().reload = on },
            default: "off",
            example: "on",
            help: "in development: reload when a file changes",
            detail: "The server watches the files that the application was imported from, and the files beside them, \
                     and reloads the pages in browsers, too. For development only: it is refused if other machines \
                     could connect.",
            held: Some(|one, other| one.as_ref().reload == other.as_ref().reload),
            ..Self::ROW
        },
        Row {
            name: "touch-reload",
            kind: Kind::Path {
                shape: "FILE",
                set: |settings, path| settings.as_mut().touch_reload = Some(path),
            },
            example: "reload.txt",
            help: "file whose change starts a reload",
            detail: "The file is checked once a second; it need not exist. For deployments that end with `touch FILE`.",
            held: Some(|one, other| one.as_ref().touch_reload == other.as_ref().touch_reload),
            ..Self::ROW
        },
        Row {
            name: "reload-pace",
            kind: Kind::Choice {
                words: &["all", "one"],
                set: |settings, index| settings.as_mut().reload_pace = [Pace::All, Pace::One][index],
            },
            default: "all",
            example: "one",
            help: "how many workers reload at the same time",
            detail: "The first worker of a new version always starts alone, to show that the version can serve. Then \
                     `all` starts the others together, which is quicker and for a moment takes twice the memory; \
                     `one` starts them one after the other.",
            held: Some(|one, other| one.as_ref().reload_pace == other.as_ref().reload_pace),
            ..Self::ROW
        },
        Row {
            name: "max-requests",
            kind: number(1 << 48, |settings, number| settings.as_mut().max_requests = number),
            default: "0",
            example: "10000",
            help: "requests until a worker is replaced; 0: any",
            detail: "For applications that leak memory. Each worker serves up to a tenth more, at random, so that \
                     workers do not end together. The number is checked once a second, and the old worker serves until \
                     its successor does, so it may answer more requests than that.",
            held: Some(|one, other| one.as_ref().max_requests == other.as_ref().max_requests),
            ..Self::ROW
        },
        Row {
            name: "max-lifetime",
            kind: wait(LIFE_MS_MAX, |settings, ms| settings.as_mut().max_lifetime_ms = ms),
            default: "0s",
            example: "12h",
            help: "time until a worker is replaced; 0: any",
            detail: "Each worker lives up to a tenth longer, at random.",
            held: Some(|one, other| one.as_ref().max_lifetime_ms == other.as_ref().max_lifetime_ms),
            ..Self::ROW
        },
        Row {
            name: "max-rss",
            kind: bytes(|settings, bytes| settings.as_mut().max_rss_bytes = bytes),
            default: "0",
            example: "512m",
            help: "memory at which a worker is replaced; 0: any",
            detail: "Resident memory, checked once a second. The worker finishes its requests; `--memory-limit` takes \
                     effect at once.",
            held: Some(|one, other| one.as_ref().max_rss_bytes == other.as_ref().max_rss_bytes),
            ..Self::ROW
        },
        Row {
            name: "memory-limit",
            kind: bytes(|settings, bytes| settings.as_mut().memory_limit_bytes = bytes),
            default: "0",
            example: "1g",
            help: "data that a worker may allocate; 0: any",
            detail: "`RLIMIT_DATA` of setrlimit(2): an allocation beyond it raises `MemoryError` in the application. \
                     The stacks of threads count in full, usually 8 MiB each (`ulimit -s`): a limit that leaves no \
                     room for all `--threads` is refused at the start.",
            ..Self::ROW
        },
        Row {
            name: "cpu-limit",
            kind: wait(LIFE_MS_MAX, |settings, ms| settings.as_mut().cpu_limit_ms = ms),
            default: "0s",
            example: "1h",
            help: "CPU time until a worker is replaced; 0: any",
            detail: "The time is checked once a second.",
            held: Some(|one, other| one.as_ref().cpu_limit_ms == other.as_ref().cpu_limit_ms),
            ..Self::ROW
        },
        Row {
            name: "nice",
            kind: number(19, |settings, steps| settings.as_mut().nice = u8::try_from(steps).unwrap_or(19)),
            default: "0",
            example: "5",
            help: "how much less CPU workers get: nice(2)",
            detail: "The supervisor keeps its own priority.",
            ..Self::ROW
        },
        Row {
            name: "user",
            kind: Kind::Form {
                shape: "NAME|UID",
                set: |settings, text| name(text).map(|name| settings.as_mut().user = Some(name)),
            },
            example: "www-data",
            help: "user that workers become",
            detail: "For a supervisor that root starts: it opens the sockets, and its workers become this user, with \
                     its groups, before they import anything. A worker that could become root again does not start.",
            ..Self::ROW
        },
        Row {
            name: "group",
            kind: Kind::Form {
                shape: "NAME|GID",
                set: |settings, text| name(text).map(|name| settings.as_mut().group = Some(name)),
            },
            example: "www-data",
            help: "group that workers become",
            detail: "Applies with `--user`; the default is the group of that user.",
            ..Self::ROW
        },
        Row {
            name: "umask",
            kind: Kind::Form {
                shape: "OCTAL",
                set: |settings, text| octal(text, "027").map(|bits| settings.as_mut().umask = Some(bits)),
            },
            example: "027",
            help: "rights that new files do not get",
            detail: "For the supervisor and its workers, as in umask(2). It applies to unix sockets, too, which are \
                     files; `--socket-mode` applies to sockets alone.",
            ..Self::ROW
        },
        Row {
            name: "new-privileges",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().new_privileges = on },
            default: "off",
            example: "on",
            help: "let workers start setuid programs",
            detail: "Off, workers that have become another user have `PR_SET_NO_NEW_PRIVS` of prctl(2): no program \
                     that they start gets other rights than theirs. Some programs, such as `sendmail`, need other \
                     rights.",
            ..Self::ROW
        },
        Row {
            name: "startup-timeout",
            kind: wait(24 * 60 * 60 * 1_000, |settings, ms| settings.as_mut().startup_timeout_ms = ms),
            default: "60s",
            example: "5m",
            help: "longest start of a worker; 0: any",
            detail: "A worker that takes longer logs its stacks, and is ended.",
            held: Some(|one, other| one.as_ref().startup_timeout_ms == other.as_ref().startup_timeout_ms),
            ..Self::ROW
        },
        Row {
            name: "heartbeat-timeout",
            kind: wait(24 * 60 * 60 * 1_000, |settings, ms| settings.as_mut().heartbeat_timeout_ms = ms),
            default: "30s",
            example: "10s",
            help: "longest silence of a worker; 0: any",
            detail: "A worker gives thirty signs of life in this time, as long as its event loop runs and, if a \
                     thread waits for the interpreter, the interpreter is not blocked. A worker that has missed \
                     three, because it is stopped, gets no CPU or hangs, is logged, shown as silent, and not counted \
                     as ready. After the whole time it is replaced and told to finish. If it does not finish within \
                     `--graceful-timeout`, it is ended, with its stacks in the log. Set it to 0 to stop a worker with \
                     a debugger.",
            held: Some(|one, other| one.as_ref().heartbeat_timeout_ms == other.as_ref().heartbeat_timeout_ms),
            ..Self::ROW
        },
        Row {
            name: "drain-delay",
            kind: wait(60 * 60 * 1_000, |settings, ms| settings.as_mut().drain_delay_ms = ms),
            default: "0s",
            example: "5s",
            help: "from SIGTERM to the end of accepting",
            detail: "`/readyz` fails at once, but everything is still served until this time has passed: a load \
                     balancer needs it to take notice.",
            held: Some(|one, other| one.as_ref().drain_delay_ms == other.as_ref().drain_delay_ms),
            ..Self::ROW
        },
        Row {
            name: "control",
            kind: Kind::Form {
                shape: "PATH|auto|off",
                set: |settings, text| {
                    settings.as_mut().control = match text {
                        "" => return Err("write the path of a socket, auto or off".to_owned()),
                        "auto" => Control::Auto,
                        "off" => Control::Off,
                        path => Control::Path(path.into()),
                    };
                    Ok(())
                },
            },
            default: "auto",
            example: "/run/mysite/control.sock",
            help: "socket for adyton status, reload and the like",
            detail: "Only the server's user and root may use it. `auto` is a socket named after the process in \
                     `$RUNTIME_DIRECTORY`, or in `/run/adyton` for root, and in `$XDG_RUNTIME_DIR/adyton` or a folder \
                     in /tmp for other users. If the socket cannot be made, the server says so and serves without \
                     it.",
            held: Some(|one, other| one.as_ref().control == other.as_ref().control),
            ..Self::ROW
        },
        Row {
            name: "admin",
            kind: Kind::Form {
                shape: "ADDRESS|off",
                set: |settings, text| {
                    settings.as_mut().admin = if text == "off" { None } else { Some(text.parse()?) };
                    Ok(())
                },
            },
            default: "off",
            example: "127.0.0.1:9090",
            help: "address of /livez, /readyz and /metrics",
            detail: "An address as for `--bind`, with a status page at `/`. Nothing can be changed there. At an \
                     address that other machines can reach, only `/livez` and `/readyz` are answered without \
                     `--admin-token`. A unix socket has the rights that the umask leaves.",
            held: Some(|one, other| one.as_ref().admin == other.as_ref().admin),
            ..Self::ROW
        },
        Row {
            name: "admin-token",
            kind: Kind::Form {
                shape: "TOKEN",
                set: |settings, text| token(text).map(|token| settings.as_mut().admin_token = Some(token)),
            },
            example: "d41f9c02a7be5530",
            help: "token that clients of --admin must send",
            detail: "Every request there except `/livez` and `/readyz` needs the token: `Authorization: Bearer \
                     TOKEN`. A token has at least 16 letters, digits and signs; `openssl rand -hex 16` makes one. \
                     Give it as an environment variable: other users of this machine can see the command line.",
            held: Some(|one, other| one.as_ref().admin_token == other.as_ref().admin_token),
            ..Self::ROW
        },
        Row {
            name: "admin-hosts",
            kind: Kind::Form {
                shape: "NAME[,NAME...]",
                set: |settings, text| {
                    settings.as_mut().admin_hosts.extend(text.split(',').map(|name| name.trim().to_owned()));
                    Ok(())
                },
            },
            example: "monitor.example",
            help: "further host names of --admin",
            detail: "The `Host` field of requests there must name `localhost`, an address, the host of `--admin` or \
                     one of these hosts. So no web page in a browser on this machine can reach that address under a \
                     name of its own (DNS rebinding). `/livez` and `/readyz` are answered under any host name.",
            held: Some(|one, other| one.as_ref().admin_hosts == other.as_ref().admin_hosts),
            ..Self::ROW
        },
    ];
}

/// How many worker processes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProcessCount {
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

/// The socket at which the server takes commands.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Control {
    /// Nowhere.
    Off,
    /// At a path that contains the process's number.
    #[default]
    Auto,
    /// At this path.
    Path(PathBuf),
}

/// The shortest token; a shorter one could be guessed.
const TOKEN_BYTES_MIN: usize = 16;

fn token(text: &str) -> Result<String, String> {
    if text.len() >= TOKEN_BYTES_MIN && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err(format!("write at least {TOKEN_BYTES_MIN} letters, digits and signs, without blanks"))
    }
}

const fn number<S>(most: u64, set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Count, least: 0, most, set }
}

const fn bytes<S>(set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Bytes, least: 0, most: 1 << 50, set }
}

const fn wait<S>(most: u64, set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Duration, least: 0, most, set }
}

fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("write a name or a number".to_owned()) } else { Ok(text.to_owned()) }
}

fn processes(text: &str) -> Result<ProcessCount, String> {
    const MOST: usize = 1024;

    match text {
        "auto" => Ok(ProcessCount::Auto),
        "0" => Ok(ProcessCount::None),
        text => match digits(text).and_then(|number| number.parse().ok()) {
            Some(number @ 1..=MOST) => Ok(ProcessCount::Number(number)),
            _ => Err(format!("write auto, or a number from 0 to {MOST}")),
        },
    }
}
