//! The orders that a server takes on its control socket, and their help.

/// One order: everything that command line and help know about it.
pub(super) struct Order {
    pub(crate) name: &'static str,
    /// The argument behind the name: `more|fewer`; in brackets if it may be left out.
    pub(super) about: &'static str,
    /// One line without a full stop.
    pub(super) help: &'static str,
    /// The effect of the order, what it waits for, and what it prints.
    pub(super) detail: &'static str,
    pub(super) example: &'static str,
}

/// All orders, in the order of the help.
pub(super) const ORDERS: [Order; 7] = [
    Order {
        name: "status",
        about: "",
        help: "how the server and its workers stand",
        detail: "A line for each worker: process, generation, requests since it was started, how they were run, connections, \
                 threads, queue, memory. Above them stand the sums since the server was started, and why workers have ended.",
        example: "adyton status --json",
    },
    Order {
        name: "top",
        about: "",
        help: "the same, live, on a terminal",
        detail: "Looks once a second, until it is interrupted: rates and waits of the last second, the prefixes that are most \
                 asked for, and the requests that have run longest.",
        example: "adyton top --control /run/mysite/control.sock",
    },
    Order {
        name: "reload",
        about: "[GROUP]",
        help: "new workers in the place of all, without losing a request",
        detail: "Waits until the new workers serve and no old one takes connections any more. If the new version does not \
                 start, the old one serves on, the exit status is 1, and the log says why. SIGHUP does the same without \
                 waiting. Groups of a file of sites keep their workers if nothing has changed for them in the file; with the \
                 name of a group its workers are replaced, and no others.",
        example: "git pull && adyton reload",
    },
    Order {
        name: "stop",
        about: "[fast]",
        help: "finish what runs, and end; fast: at once",
        detail: "Running requests have --graceful-timeout to finish; fast cuts them. It does not wait for the end. SIGTERM \
                 and SIGQUIT do the same.",
        example: "adyton stop fast",
    },
    Order {
        name: "workers",
        about: "more|fewer",
        help: "one more worker, or one less",
        detail: "Until the server is started again, which has as many as --processes says. The worker that goes finishes what \
                 it does. SIGTTIN and SIGTTOU do the same.",
        example: "adyton workers more",
    },
    Order {
        name: "log-level",
        about: "LEVEL",
        help: "log from debug, info, warning or error on",
        detail: "In the supervisor and all workers, in place of --log-level, until the server is started again.",
        example: "adyton log-level debug",
    },
    Order {
        name: "dump",
        about: "",
        help: "where every thread of every worker is in Python",
        detail: "The stack of each thread, even if one keeps the interpreter. Nothing is interrupted. A worker that does not \
                 answer within three seconds is named.",
        example: "adyton dump > stacks.txt",
    },
];

impl Order {
    /// Finds the order with this name.
    pub(super) fn find(name: &str) -> Option<&'static Order> {
        ORDERS.iter().find(|order| order.name == name)
    }

    /// Returns the usage: `adyton stop [fast] [--control PATH] [--json]`.
    pub(super) fn usage(&self) -> String {
        let words = format!("adyton {} {}", self.name, self.about);
        format!("{} [--control PATH] [--json]", words.trim_end())
    }
}
