//! The server's messages: each has a code that never changes, even if its words do.

use std::fmt::Write as _;

use crate::level::Level::{self, Debug, Error, Info, Warning};

/// A kind of message.
#[derive(Debug)]
pub struct Message {
    number: u16,
    /// The message's importance.
    pub level: Level,
    /// The event, in words for the reference.
    meaning: &'static str,
    /// The advice to the reader of the reference.
    remedy: &'static str,
}

impl Message {
    /// Returns the code, such as `ADY101`.
    pub fn code(&self) -> String {
        format!("ADY{}", self.number)
    }
}

macro_rules! messages {
    ($($heading:literal { $($name:ident = $number:literal $level:ident $meaning:literal $remedy:literal)* })*) => {
        $($(
            #[doc = $meaning]
            pub static $name: Message =
                Message { number: $number, level: $level, meaning: $meaning, remedy: $remedy };
        )*)*

        /// All messages, under their headings.
        pub static ALL: &[(&str, &[&Message])] = &[$(($heading, &[$(&$name),*])),*];
    };
}

messages! {
    "Connections" {
        ACCEPT_PAUSED = 101 Error "New connections cannot be accepted; the server tries again."
            "Raise the limit of open files (`ulimit -n`, `LimitNOFILE=`), or set `--connections-max` to what it allows."
        LISTENER_UNWATCHED = 102 Error "The kernel does not watch a listener, so no connection comes from there."
            "Restart; report it if it comes again."
        WAIT_REFUSED = 103 Error "The kernel refuses to wait for events; an event loop ends."
            "Restart; report it if it comes again."
        STILL_OPEN = 104 Warning "The time to finish was over: the server has stopped although connections were open."
            "Raise `--graceful-timeout` if requests take longer than that."
        CLIENT_SLOW = 105 Debug "A client has read its answer more slowly than `--write-rate-min` allows; its connection was closed."
            "Nothing, unless your clients are that slow."
        CLIENT_GONE = 106 Debug "A client went away before its answer was sent." "Nothing: people close pages."
        CLIENT_CONNECTIONS = 107 Debug "A client has as many connections as `--connections-per-address-max` allows; one more was closed."
            "Nothing, unless many people share an address."
        REFUSED = 108 Debug "A request was refused; the message has the reason." "Nothing, unless the client is yours."
        REFUSALS = 109 Warning "Requests were refused by the server itself. Logged at once, and then once a minute for each cause."
            "The message names the setting. Change it if the client is right; a single request is in the log from debug on."
    }
    "Requests" {
        APPLICATION_FAILED = 201 Error "The application raised an exception, and its request failed."
            "Read the traceback."
        REQUEST_TIMEOUT = 202 Error "A request sent nothing for longer than `--request-timeout`, or took longer than `--request-total-timeout`; the stack shows where it was interrupted."
            "Make it faster, do it in the background, or raise the setting."
        THREAD_LOST = 203 Error "A request does not react to its interruption; its thread is lost, and a worker is replaced."
            "Find the call that never returns (often in C code): the stack is above, or in the message."
        NOT_INTERRUPTED = 204 Error "A request could not be interrupted." "Raise the limit of threads of the process."
        SERVER_FAILED = 205 Error "The server itself failed in one request, which was ended." "Report it, please."
        FILE_SHORTENED = 206 Error "A file became shorter while it was sent; the answer was cut."
            "Replace files by renaming new ones into their place."
        BODY_NOT_STORED = 207 Error "A request body could not be stored; the request was refused."
            "Make room in `--temp-dir`, or choose another."
        BODY_TOO_LONG = 208 Warning "An application's body was longer than its Content-Length; it was cut at that length."
            "Mend the application."
        BODY_TOO_SHORT = 209 Warning "An application's body was shorter than its Content-Length; the connection was closed."
            "Mend the application."
        FIELD_DROPPED = 210 Warning "A field that only the server may send was dropped from an answer (PEP 3333)."
            "Leave it out."
        APPLICATION_GAVE_UP = 211 Debug "An application gave up because its client is gone." "Nothing."
        BODY_BROKE_OFF = 212 Debug "A client went away before its body was read." "Nothing."
        LEFT_INSIDE = 213 Error "The server has stopped while the application was in a request."
            "Raise `--graceful-timeout`, or make the request react to its interruption."
        THREAD_NOT_STARTED = 214 Error "A further thread could not be started."
            "Raise the limit of threads of the process or its cgroup."
        SOURCES_UNKNOWN = 215 Error "It is not known which files `--reload` has to watch." "Report it, please."
        ENDING_FAILED = 216 Error "A function that the application registered for its end has failed."
            "The message says why."
        NOT_LOADED = 217 Error "The application could not be loaded."
            "Read the traceback."
        ANSWER_NOT_STORED = 218 Error "The rest of an answer that its client takes slowly could not be stored; it was cut."
            "Make room in `--temp-dir`, choose another, or raise `--body-files-bytes-max` or `--output-bytes-max`."
        THREAD_FAILED = 219 Error "The server itself failed, and its process was ended." "Report it, please."
        FOLDER_ABSENT = 220 Warning "A folder of `--static` does not exist. Requests for its files are 404 until it does, and are served from then on."
            "Nothing, if the folder is made later, as Django makes the folder of uploads; else mend the path."
        PASSWORDS = 221 Error "A file of passwords or groups was changed and cannot be read now; its previous content stays in force."
            "Mend the line that the message names."
        GUESSES = 222 Warning "An address has given wrong passwords so often that it has to wait. Logged once for each wait."
            "Nothing, if a client guesses there. If the address is a proxy's, it stands for many clients."
        WEAK_PASSWORD = 223 Warning "A password is stored with a weak hash: whoever steals the file can guess it quickly."
            "Store it again with `htpasswd -B`."
        SENT_NOWHERE = 224 Error "An application or a script has sent a request on to a file or a path where it cannot go; the request was answered 500."
            "Correct its field `X-Sendfile`, `X-Accel-Redirect` or `Location`; the message says what is wrong."
        FOLDER_WRONG = 225 Error "A folder's own settings, in its `.adyton.toml` or `.htaccess`, are wrong or not allowed there. Everything beneath the folder is answered 500."
            "Correct the line that the message names; the change applies within a second."
        FOLDER_LOST = 226 Warning "An `.htaccess` has a directive that this server does not support and that restricts nobody. The rest of the file applies."
            "Nothing, or use a key of an `.adyton.toml` instead."
        ASKING_FAILED = 227 Error "A Python function that was asked who a client is raised an exception, or returned a value that is no answer. Nobody was let in: the request was answered 500."
            "Mend the function; the traceback says where."
        SHUT_OUT = 229 Warning "A route lets in users or groups who cannot come in: the file of passwords or groups lacks them, or has a hash that not every client can use."
            "Correct what the message names, in that file or in the settings."
        SCRIPT_SAYS = 230 Warning "A CGI script has written to its standard error." "Mend the script, if that is an error."
        SCRIPT_FAILED = 231 Error "A CGI script could not be started, has printed no valid answer, or was ended by a signal."
            "Mend the fault that the message names."
        SCRIPT_STATUS = 232 Warning "A CGI script has ended with a status that is not 0." "Mend the script, if that is an error."
        SCRIPT_TIMEOUT = 233 Error "A CGI script printed nothing for longer than `cgi-timeout`; it was ended, with all processes of its group."
            "Make it faster, or raise the setting."
        PAGE_NOT_LOADED = 235 Error "A script of a folder could not be loaded. Logged once for each version of its file; the previous version goes on, if there is one."
            "Read the traceback. It is loaded again when its file has changed."
        FOLDER_LOOP = 236 Warning "A redirect in a folder's `.adyton.toml` leads back to itself, straight away or by way of another one there. The folder is served; a browser that asks for such a path gives up."
            "Change the target of the redirect that the message names."
        PAGE_IS_RUN = 238 Warning "A file that `static-404`, `error-pages` or `ErrorDocument` names is run as a script. The source of such a file is never sent: the error is answered with the next page that applies, or with the server's own. Logged once."
            "Name a file that is not run, such as `missing.html`."
        PAGES_LEFT = 239 Warning "Scripts that `scripts-preload` names are loaded only when they are first asked for: there are too many, or their folder cannot be read."
            "Name fewer scripts, by another pattern; or let the worker's user read the folder."
        NOT_PASSED = 240 Error "A connection could not be passed on to the process that answers it; its request was answered 503."
            "Read the reason in the message. A group that takes no more connections hangs, or has more work than it can do."
        STRANGE_PASSENGER = 241 Error "A process of another group has passed on a socket that is no client of this server; it was dropped."
            "Find out which programs run as that group's user."
    }
    "Processes" {
        SERVES = 301 Info "The server has started." "Nothing."
        STOPPING = 302 Info "The server stops." "Nothing."
        RELOADING = 303 Info "New workers are being started." "Nothing."
        WORKER_SERVES = 304 Debug "A worker serves." "Nothing."
        WORKER_SERVES_AGAIN = 305 Info "A worker serves in the place of another one." "Nothing."
        RELOADED = 306 Info "All workers are of the new generation." "Nothing."
        WORKER_REPLACED = 307 Info "A worker has reached a limit, and another one takes its place." "Nothing."
        FILE_CHANGED = 308 Info "A watched file has changed." "Nothing."
        WORKER_MORE = 309 Info "There is one more worker." "Nothing."
        WORKER_LESS = 310 Info "There is one worker fewer." "Nothing."
        WORKER_ENDED = 311 Debug "A worker has ended as it should." "Nothing."
        WORKER_DIED = 312 Error "A worker has ended unexpectedly; the message has the signal or the status."
            "Depends on the cause: see [production](../production.md)."
        WORKER_STUCK = 313 Error "A worker was not ready in time, or has not finished in time; it is ended, and its stacks follow."
            "Read the stacks."
        WORKER_NOT_STARTED = 314 Error "A worker could not be started." "The message says why."
        WORKER_NOT_ADDED = 315 Error "No further worker can be started." "The message says why."
        PROTOTYPE_DIED = 316 Error "The prototype process (`--preload`) has ended." "The message has the signal or the status."
        PROTOTYPE_STUCK = 317 Error "The prototype process (`--preload`) is not ready in time; its stacks follow."
            "Read the stacks, or raise `--startup-timeout`."
        PROTOTYPE_NOT_STARTED = 318 Error "The prototype process (`--preload`) could not be started." "The message says why."
        VERSION_NOT_STARTED = 319 Error "The new version does not start; the old one serves on."
            "Read the traceback above, mend it, reload again."
        SUPERVISOR_UNHEARD = 320 Error "A worker cannot hear its supervisor." "Restart; report it if it comes again."
        SUPERVISOR_GONE = 321 Warning "The supervisor has ended without its workers, which finish their requests."
            "Find out what has ended it (`dmesg`, `journalctl`)."
        MANAGER_UNKNOWN = 322 Warning "`$NOTIFY_SOCKET` cannot be used." "Leave it to systemd to set it."
        MANAGER_UNHEARD = 323 Warning "The server's state cannot be reported to the service manager." "Look at the state of the service manager."
        PROGRAM_REPLACED = 324 Info "The supervisor's program has been replaced." "Nothing."
        PROGRAM_NOT_STARTED = 325 Error "The program on the disk cannot be started; the running one goes on."
            "Mend the installation, and send SIGUSR2 again."
        PROGRAM_NOT_REPLACED = 326 Error "The program on the disk cannot take the running one's place."
            "The message says why."
        WAITS_FOR_CHANGE = 327 Error "With `--reload`: the first version does not start, and there is no older one to serve."
            "Read the traceback above, and mend it: the next change is tried."
        WORKER_LEAVES = 328 Warning "Another program has sent a worker SIGTERM; another worker takes its place."
            "Send signals to the supervisor."
        VERSION_STALLED = 329 Error "The new version serves in some workers and does not start in others."
            "The entries above say why: mend that, and reload again. Until then the old version serves in the other workers."
        CANNOT_START = 330 Error "The server, or one of its processes, cannot start." "The message says why."
        WORKER_SILENT = 331 Error "A worker gives no sign of life: it is stopped, gets no CPU, or hangs."
            "Look at what its process does; the worker is replaced after `--heartbeat-timeout`."
        WORKER_HEARD = 332 Info "A silent worker gives signs of life again." "Nothing."
        VERSION_WRONG = 333 Error "The file of sites has mistakes; it is not loaded, and the old version serves on."
            "Mend the mistakes that the message names, run `adyton check`, reload again."
        SETTING_WAITS = 334 Warning "A setting was changed that a reload does not apply."
            "Send SIGUSR2, which starts the supervisor's program anew, or restart."
        DOUBTFUL = 335 Warning "A key in the file of sites has no effect where it stands, or keeps out fewer clients than it seems to."
            "Correct the key that the message names. `adyton check` has the same warning."
        AS_ROOT = 336 Warning "The application runs as root: whoever breaks into it has the whole machine."
            "Set `--user`: the workers become that user once the sockets are open. Or start the server as an ordinary user."
        STATE_OF_ONE = 340 Warning "Each worker of the application keeps in its own memory data that all workers would need."
            "Use `--processes 1`, or keep the data where all workers find it: in a database, a file, a cache of its own, a signed cookie."
        HANDLER_LOST = 341 Warning "The application has set a signal handler that will not run; the message says why. Logged once for each signal."
            "Move the handler's work to a hook of `on_worker_stop`, or to another signal, and do not call `signal.set_wakeup_fd`."
        CONTROL_NOT_OPENED = 342 Warning "The server could not make its control socket, and serves without one (`--control auto`)."
            "Name a place that the server can write to with `--control PATH`, or switch the socket off with `--control off`."
        BODIES_NOT_STORED = 343 Warning "The server cannot write to the folder for large bodies, so it refuses bodies that are too large for memory."
            "Name a folder that the server can write to with `--temp-dir`."
        THREADS_PATCHED = 344 Warning "The application has called the monkey patch of gevent or eventlet, which replaces Python's threads."
            "Remove the call: the server has threads of its own, and a request that waits in one of them holds up no other."
        GROUP_SERVES = 350 Info "A group serves." "Nothing."
        GROUP_NOT_STARTED = 351 Error "A group does not start. The server tries again, later each time; requests for the group are answered 503 meanwhile."
            "Read the entries of its processes above."
        GROUP_ENDED = 352 Info "The processes of a group have ended, as they should." "Nothing."
        GROUP_DIED = 353 Error "The supervisor of a group has ended by itself, or was killed. Its workers finish their requests."
            "Find out what has ended it (`dmesg`, `journalctl`)."
        GROUP_IDLES = 354 Info "A group that may be without processes has answered nothing for `idle-timeout`, and ends."
            "Nothing."
    }
    "Logs" {
        ACCESS_LOG_LOST = 401 Error "The access log cannot be written, and lines are lost. Logged once a minute."
            "Make room on the disk, or look at the reader of the pipe."
        LOG_NOT_REOPENED = 402 Error "A log could not be opened again; lines still go to the old file."
            "Give the user of the workers the right to make the file."
        ENTRIES_LOST = 403 Error "Entries of this log were lost before this one." "Make room on the disk, or look at the log's reader."
        ERROR_LOG_LOST = 404 Error "The error log cannot be written, or can be written again. The message goes to the original standard error, once a minute."
            "Make room on the disk."
        ACCESS_LINES_LOST = 405 Error "Lines of the access log were lost; the message has their number. Logged when the access log takes lines again, and at most once a minute."
            "Make room on the disk, look at the reader of the pipe, or raise `--log-queue-bytes-max`."
    }
}

const INTRODUCTION: &str = "\
# Messages

<!-- Made from the table in crates/log/src/messages.rs: change that, not this page. -->

Each message of the server in the error log has a code, which stays the same when the words change.
[Logs](../logs.md) says where messages go, and what an entry looks like.
";

/// Returns the whole of `docs/reference/messages.md`.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (heading, messages) in ALL {
        let _ = write!(
            page,
            "\n## {heading}\n\n| code | level | what has happened | what to do |\n| --- | --- | --- | --- |\n"
        );
        for message in *messages {
            let Message { level, meaning, remedy, .. } = message;
            let _ = writeln!(page, "| {} | {} | {meaning} | {remedy} |", message.code(), level.name());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes are in order, each once, under the heading of their hundred, and the committed page is up to date.
    #[test]
    fn codes() {
        let mut last = 0;
        for (at, (_, messages)) in ALL.iter().enumerate() {
            for message in *messages {
                assert!(message.number > last, "{}", message.code());
                assert_eq!(at + 1, usize::from(message.number / 100));
                assert!(
                    message.meaning.ends_with('.') && message.remedy.ends_with('.'),
                    "{}",
                    message.code()
                );
                last = message.number;
            }
        }

        assert_eq!(include_str!("../../../docs/reference/messages.md"), reference());
    }
}
