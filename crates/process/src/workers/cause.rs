//! Causes of a worker's end.

use adyton_sys::child::{Exit, signal_name};
use serde::{Deserialize, Serialize};

/// The cause of a worker's end, as metrics count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// The worker was told to end, and did.
    Told,
    /// The worker had reached a limit of its own, or a request in it does not end: it was told to end for that, and
    /// did.
    Limit,
    /// The worker was told to end, and did not.
    Overdue,
    /// The worker could not load the application, or open a resource that it needs.
    NotStarted,
    /// The worker left by itself.
    Left,
    /// A signal of a fault: the application, or the server, did something that no process may do.
    Crashed,
    /// The kernel ended the worker, because memory was short.
    OutOfMemory,
    /// A signal from outside ended the worker.
    Killed,
}

impl Cause {
    pub(crate) const ALL: [Self; 8] = [
        Self::Told,
        Self::Limit,
        Self::Overdue,
        Self::NotStarted,
        Self::Left,
        Self::Crashed,
        Self::OutOfMemory,
        Self::Killed,
    ];

    /// Returns the cause with this word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.word() == word)
    }

    /// Returns the word for metrics.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Told => "told",
            Self::Limit => "limit",
            Self::Overdue => "overdue",
            Self::NotStarted => "not_started",
            Self::Left => "left",
            Self::Crashed => "crashed",
            Self::OutOfMemory => "out_of_memory",
            Self::Killed => "killed",
        }
    }
}

/// The reason why a worker is told to end. In a note for another program, a reason that is no limit is written as its
/// words alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Reason {
    /// The worker has reached one of its limits.
    Limit {
        /// The limit, in words.
        limit: String,
    },
    /// The end was asked for, or another worker serves in its place.
    Other(String),
}

impl Reason {
    /// Makes a reason that is no limit.
    pub(crate) fn other(words: &str) -> Self {
        Self::Other(words.to_owned())
    }

    /// Returns the reason in words.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Limit { limit: words } | Self::Other(words) => words,
        }
    }

    /// Returns the cause of the end of a worker that did as it was told.
    fn cause(&self) -> Cause {
        match self {
            Self::Limit { .. } => Cause::Limit,
            Self::Other(_) => Cause::Told,
        }
    }
}

/// The facts known of a worker when it ended.
#[derive(Clone, Debug)]
pub(crate) struct Known<'k> {
    /// Whether the worker had served.
    pub(crate) served: bool,
    /// Why the worker was told to end.
    pub(crate) told: Option<&'k Reason>,
    /// Whether the worker was told to end in a hurry, and killed if it did not.
    pub(crate) hurried: bool,
    /// Why the supervisor has killed the worker.
    pub(crate) doomed: Option<&'k str>,
    /// Whether the kernel has ended some process for want of memory since the last look.
    pub(crate) memory_was_short: bool,
    /// Resident memory at the last look.
    pub(crate) rss_bytes: u64,
}

/// The status of a worker that could not load the application: its traceback is in the log.
pub(crate) const NOT_LOADED: i32 = 3;

/// The number of SIGKILL, signal(7).
pub(crate) const SIGKILL: i32 = 9;

/// Signals that a process gets for its own faults.
const FAULTS: [&str; 6] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS"];

/// Returns why a worker has ended: for metrics, and in words. `exit` is unknown for a worker that ended before its
/// process was known.
pub(crate) fn cause(exit: Option<Exit>, known: &Known<'_>) -> (Cause, String) {
    let Some(exit) = exit else { return unseen(known) };
    match (exit, known.doomed, known.told) {
        (_, Some(why), _) => (Cause::Overdue, format!("was killed: it {why}")),
        (Exit::Status(0), None, Some(why)) => (why.cause(), format!("has ended: {}", why.words())),
        (Exit::Status(status), None, Some(why)) => (
            why.cause(),
            format!("has ended with status {status}, whose reason stands above: {}", why.words()),
        ),
        (Exit::Signal(SIGKILL), None, Some(why)) if known.hurried => {
            (why.cause(), format!("was ended: {}", why.words()))
        }
        (Exit::Status(NOT_LOADED), None, _) if !known.served => {
            (Cause::NotStarted, "could not load the application; the reason stands above".to_owned())
        }
        (Exit::Status(status), None, _) if !known.served => (
            Cause::NotStarted,
            format!("did not start: it ended with status {status}; the reason stands above"),
        ),
        (Exit::Status(status), None, _) => {
            let hint = "something in it has called os._exit, or ended its main thread";
            (Cause::Left, format!("ended by itself with status {status}: {hint}"))
        }
        (Exit::Signal(number), None, _) => by_signal(&signal_name(number), known),
    }
}

fn unseen(known: &Known<'_>) -> (Cause, String) {
    match (known.doomed, known.told) {
        (Some(why), _) => (Cause::Overdue, format!("was killed: it {why}")),
        (None, Some(why)) => (why.cause(), format!("was ended: {}", why.words())),
        (None, None) => (Cause::NotStarted, "did not start: it was not even forked".to_owned()),
    }
}

fn by_signal(name: &str, known: &Known<'_>) -> (Cause, String) {
    let mib = known.rss_bytes >> 20;
    if name == "SIGKILL" && known.memory_was_short {
        let how =
            format!("was killed by the kernel because memory was short; it had {mib} MiB when last seen");
        (Cause::OutOfMemory, how)
    } else if name == "SIGXCPU" {
        (Cause::Limit, "has used all the CPU time that its limit allows (SIGXCPU)".to_owned())
    } else if FAULTS.contains(&name) {
        (Cause::Crashed, format!("crashed with {name}; where Python was stands above"))
    } else {
        (Cause::Killed, format!("was killed by {name} from outside"))
    }
}

#[cfg(test)]
mod tests {
    use adyton_sys::child::Exit;

    use super::{Cause, Known, Reason, cause};

    const SERVED: Known<'static> = Known {
        served: true,
        told: None,
        hurried: false,
        doomed: None,
        memory_was_short: false,
        rss_bytes: 5 << 20,
    };

    /// Each way to end has a cause of its own.
    #[test]
    fn causes() {
        let starting = Known { served: false, ..SERVED };
        let (reload, limit) =
            (Reason::other("replaced"), Reason::Limit { limit: "it has answered 9".to_owned() });
        let told = Known { told: Some(&reload), ..SERVED };
        let limited = Known { told: Some(&limit), ..SERVED };
        let limited_and_hung = Known { doomed: Some("hung"), ..limited.clone() };
        let hurried = Known { hurried: true, ..told.clone() };
        let doomed = Known { doomed: Some("hung"), ..SERVED };
        let short = Known { memory_was_short: true, ..SERVED };
        for (exit, known, expected, part) in [
            (Exit::Status(0), &told, Cause::Told, "replaced"),
            (Exit::Status(1), &told, Cause::Told, "with status 1"),
            (Exit::Signal(9), &hurried, Cause::Told, "was ended: replaced"),
            (Exit::Signal(9), &told, Cause::Killed, "from outside"),
            (Exit::Status(0), &limited, Cause::Limit, "it has answered 9"),
            (Exit::Status(1), &limited, Cause::Limit, "with status 1"),
            (Exit::Signal(11), &limited, Cause::Crashed, "SIGSEGV"),
            (Exit::Signal(6), &limited_and_hung, Cause::Overdue, "it hung"),
            (Exit::Signal(6), &doomed, Cause::Overdue, "it hung"),
            (Exit::Status(3), &starting, Cause::NotStarted, "application"),
            (Exit::Status(1), &starting, Cause::NotStarted, "status 1"),
            (Exit::Status(0), &SERVED, Cause::Left, "status 0"),
            (Exit::Status(3), &SERVED, Cause::Left, "status 3"),
            (Exit::Signal(11), &SERVED, Cause::Crashed, "SIGSEGV"),
            (Exit::Signal(9), &short, Cause::OutOfMemory, "5 MiB"),
            (Exit::Signal(9), &SERVED, Cause::Killed, "SIGKILL from outside"),
            (Exit::Signal(24), &SERVED, Cause::Limit, "CPU time"),
        ] {
            let (found, words) = cause(Some(exit), known);

            assert_eq!(expected, found, "{words}");
            assert!(words.contains(part), "{words}");
        }
    }

    /// A worker that ended before its process was known has a cause, too: the reason why it was killed or told to end.
    #[test]
    fn unseen() {
        let starting = Known { served: false, ..SERVED };
        let stop = Reason::other("the server stops");
        let told = Known { told: Some(&stop), ..starting.clone() };
        let doomed = Known { doomed: Some("hung"), ..told.clone() };
        for (known, expected) in
            [(&starting, Cause::NotStarted), (&told, Cause::Told), (&doomed, Cause::Overdue)]
        {
            assert_eq!(expected, cause(None, known).0);
        }
    }
}
