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
        help: "state of the server and its workers",
        detail: "Prints a line for each worker: process, generation, requests since it was started, how they were \
                 run, connections, threads, queue, memory. Above these lines stand the sums since the server was \
                 started, and why workers have ended.",
        example: "adyton status --json",
    },
    Order {
        name: "top",
        about: "",
        help: "state of the server, live, on a terminal",
        detail: "Shows once a second, until it is interrupted, the rates and waits of the last second, the prefixes \
                 that are requested most, and the requests that have run longest.",
        example: "adyton top --control /run/mysite/control.sock",
    },
    Order {
        name: "reload",
        about: "[GROUP]",
        help: "replace all workers by new ones, without losing a request",
        detail: "Waits until the new workers serve and no old worker accepts connections any more. If the new version \
                 does not start, the old one serves on, the exit status is 1, and the log says why. SIGHUP does the \
                 same without waiting. Groups of a file of sites keep their workers if nothing has changed for them \
                 in the file; with the name of a group, only the workers of that group are replaced.",
        example: "git pull && adyton reload",
    },
    Order {
        name: "stop",
        about: "[fast]",
        help: "finish running requests, and end; fast: end at once",
        detail: "Running requests have --graceful-timeout to finish; fast cuts them. The command does not wait for \
                 the end. SIGTERM and SIGQUIT do the same.",
        example: "adyton stop fast",
    },
    Order {
        name: "workers",
        about: "more|fewer",
        help: "one more worker, or one less",
        detail: "Applies until the server is started again, with --processes workers. A worker that goes finishes its \
                 requests first. SIGTTIN and SIGTTOU do the same.",
        example: "adyton workers more",
    },
    Order {
        name: "log-level",
        about: "LEVEL",
        help: "set the least serious level that is logged",
        detail: "Applies to the supervisor and all workers, in place of --log-level, until the server is started \
                 again.",
        example: "adyton log-level debug",
    },
    Order {
        name: "dump",
        about: "",
        help: "the Python stack of every thread of every worker",
        detail: "Prints the stack of each thread, even if one of them holds the interpreter. No request is \
                 interrupted. A worker that does not answer within three seconds is named.",
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
