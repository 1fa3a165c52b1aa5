//! The control socket and the admin listener: HTTP, served by this server itself, on threads beside the supervisor's.
//!
//! The control socket is for programs of the same user, or of root, and takes orders; the admin listener is for
//! monitors, and only reports. `access.rs` says to which clients.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use adyton_http::{BadResponse, BodySize, Method, reason_phrase};
use adyton_server::tally::Tally;
use adyton_server::{
    App, Call, Config, Ending, HandOver, NoHost, Outcome, Parts, Plan, Server, Site, SiteLimits,
};
use adyton_sys::wake::Wake;
use adyton_sys::{process, socket};
use serde_json::{Value, json};

use crate::control::access::Access;
use crate::control::question::{AdminAnswer, Ask, Questions};

/// How long the supervisor may take to answer a question.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a client that does not read its answer may delay the end of the process.
const CLOSING_MS: u64 = 2_000;

/// How long a reload may take before the client that asked for it is told to look at the log.
const RELOAD_PATIENCE: Duration = Duration::from_secs(15 * 60);

/// How many questions each of the two sockets answers at the same time.
const THREADS: usize = 4;

/// Requests that may wait for a reload at once: each keeps a thread, and other questions have to be answered meanwhile.
const RELOADS_MAX: usize = 2;

const PAGE: &str = include_str!("dashboard.html");

/// Content security policy of the page: it may show itself and ask its own server, and do nothing else.
const POLICY: &[u8] =
    b"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";

/// The servers of the two sockets.
pub(crate) struct AdminServers {
    control: Option<OwnedFd>,
    admin: Option<OwnedFd>,
    access: Access,
    servers: Vec<(Arc<Server>, Arc<Wake>)>,
    ends: Arc<OnceLock<Ending>>,
}

impl AdminServers {
    /// Serves both sockets, each on its own: a client that fills one socket with connections leaves the other socket
    /// free.
    pub(crate) fn open(
        questions: &Arc<Questions>,
        control: Option<OwnedFd>,
        admin: Option<OwnedFd>,
        access: Access,
    ) -> io::Result<Self> {
        let mut admin_servers = Self { control, admin, access, servers: Vec::new(), ends: Arc::default() };
        admin_servers.begin(questions)?;
        Ok(admin_servers)
    }

    fn begin(&mut self, questions: &Arc<Questions>) -> io::Result<()> {
        self.ends = Arc::default();
        let listeners = [(&self.control, true), (&self.admin, false)];
        let mut all = Vec::new();
        for (listener, takes_orders) in listeners {
            let Some(listener) = listener else { continue };
            let address = socket::local_address(listener)?;
            let admin = Admin {
                questions: Arc::clone(questions),
                takes_orders,
                reloads: AtomicUsize::new(0),
                address: address.map(|address| address.ip()),
                access: self.access.clone(),
            };
            all.push((listener.try_clone()?, admin));
        }
        all.into_iter().try_for_each(|(listener, admin)| self.serve(listener, admin))
    }

    /// Serves the sockets again after [`Self::give_up`].
    pub(crate) fn open_again(&mut self, questions: &Arc<Questions>) -> io::Result<()> {
        let over = std::mem::take(&mut self.servers);
        let begun = self.begin(questions);
        for (server, _) in &over {
            server.clear();
        }
        begun
    }

    /// Returns the control socket, and the socket of the admin listener.
    pub(crate) fn sockets(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [&self.control, &self.admin].map(|socket| socket.as_ref().map(AsFd::as_fd))
    }

    fn serve(&mut self, listener: OwnedFd, admin: Admin) -> io::Result<()> {
        let wake = Arc::new(Wake::new()?);
        let own = Arc::clone(&wake);
        let parts = Parts {
            listeners: vec![listener],
            addresses: 1,
            passages: Vec::new(),
            share: None,
            folders: Vec::new(),
            wake,
        };
        let plan = Plan::new(vec![Site::of_app(Arc::new(admin), limits())]).map_err(io::Error::other)?;
        let ends = Arc::clone(&self.ends);
        let stop = Box::new(move || ends.get().copied());
        let server =
            Arc::new(Server::new(config(), plan, vec![parts], stop, Some(Arc::new(NoHost)), Tally::new()?)?);
        for _ in 0..server.threads() {
            let server = Arc::clone(&server);
            std::thread::Builder::new().name("adyton-admin".into()).spawn(move || server.work(true, 0))?;
        }
        self.servers.push((server, own));
        Ok(())
    }

    /// Begins to close all connections, once every question is answered. A client that connects from now on waits for
    /// the next supervisor.
    pub(crate) fn give_up(&self) {
        self.end(Ending { is_patient: false, takes_queue: false });
    }

    /// Whether no client waits for an answer any more, after [`Self::give_up`].
    pub(crate) fn have_ended(&self) -> bool {
        self.servers.iter().all(|(server, _)| server.has_ended())
    }

    fn end(&self, ending: Ending) {
        self.ends.get_or_init(|| ending);
        self.servers.iter().for_each(|(_, wake)| wake.wake());
    }

    /// Sends the open answers before the process ends: without its answer, the client that ordered the end would take
    /// the server for dead.
    pub(crate) fn close(&self) {
        self.end(Ending::PROMPT);
        for (server, _) in &self.servers {
            server.wait(PATIENCE);
        }
    }
}

/// How long a client of these sockets may take for any step.
const WAIT_MS: u64 = 10_000;

fn config() -> Config {
    let connections_max = 64;
    Config {
        first_byte_timeout_ms: WAIT_MS,
        head_timeout_ms: WAIT_MS,
        crowded_timeout_ms: 300,
        connections_max,
        linger_timeout_ms: WAIT_MS,
        graceful_timeout_ms: CLOSING_MS,
        threads: THREADS,
        // Every call waits for the supervisor.
        hand_over: HandOver::Always,
        queue_max: connections_max,
        queue_timeout_ms: WAIT_MS,
        output_bytes_max: 16 << 20,
        ..Config::default()
    }
}

fn limits() -> SiteLimits {
    SiteLimits {
        body_bytes_max: 0,
        body_idle_timeout_ms: WAIT_MS,
        write_idle_timeout_ms: WAIT_MS,
        ..SiteLimits::default()
    }
}

struct Admin {
    questions: Arc<Questions>,
    /// Whether this is the control socket.
    takes_orders: bool,
    /// Requests that wait for a reload.
    reloads: AtomicUsize,
    /// The address of the listener; `None` for a unix socket, whose file mode says who may ask.
    address: Option<IpAddr>,
    access: Access,
}

/// A response to a client.
struct Page {
    status: u16,
    kind: &'static [u8],
    body: Vec<u8>,
}

impl Page {
    fn json(answer: AdminAnswer) -> Self {
        let AdminAnswer(status, value) = answer;
        let mut body = value.to_string().into_bytes();
        body.push(b'\n');
        Self { status, kind: b"application/json", body }
    }

    /// Makes a page of text: a string is sent as it is, any other value as JSON.
    fn text(answer: AdminAnswer) -> Self {
        let AdminAnswer(status, value) = answer;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Self {
            status,
            kind: b"text/plain; version=0.0.4; charset=utf-8",
            body: format!("{text}{end}").into_bytes(),
        }
    }

    fn missing() -> Self {
        Self::json(AdminAnswer(404, json!("there is nothing here")))
    }
}

impl Admin {
    fn ask(&self, ask: Ask) -> AdminAnswer {
        self.questions.ask(ask, PATIENCE)
    }

    /// Reloads the whole server, or the group that the query names.
    fn reload(&self, group: &[u8]) -> AdminAnswer {
        if self.reloads.fetch_add(1, Ordering::SeqCst) >= RELOADS_MAX {
            self.reloads.fetch_sub(1, Ordering::SeqCst);
            return AdminAnswer(
                429,
                json!("two other requests wait for a reload already; SIGHUP reloads without waiting"),
            );
        }
        let ask = match group {
            b"" => Ask::Reload,
            name => Ask::ReloadGroup(String::from_utf8_lossy(name).into_owned()),
        };
        let answer = self.questions.ask(ask, RELOAD_PATIENCE);
        self.reloads.fetch_sub(1, Ordering::SeqCst);
        answer
    }

    /// Answers the questions of a monitor.
    fn watch(&self, path: &[u8]) -> Page {
        match path {
            b"/livez" => Page::text(self.ask(Ask::Live)),
            b"/readyz" => Page::text(self.ask(Ask::Ready)),
            b"/metrics" => Page::text(self.ask(Ask::Metrics)),
            b"/status" => Page::json(self.ask(Ask::Status(false))),
            b"/" => Page { status: 200, kind: b"text/html; charset=utf-8", body: PAGE.into() },
            _ => Page::missing(),
        }
    }

    /// Answers the questions and orders of a program of the same user.
    fn control(&self, method: Method, path: &[u8], query: &[u8]) -> Page {
        let ask = match (method, path) {
            (Method::Get | Method::Head, b"/status") => Ask::Status(true),
            (Method::Get | Method::Head, b"/dump") => Ask::Dump,
            (Method::Get | Method::Head, b"/running") => Ask::Running,
            (Method::Get | Method::Head, _) => return self.watch(path),
            (Method::Post, b"/reload") => return Page::json(self.reload(query)),
            (Method::Post, b"/stop") => Ask::Stop(query == b"fast"),
            (Method::Post, b"/more") => Ask::Scale(1),
            (Method::Post, b"/fewer") => Ask::Scale(-1),
            (Method::Post, b"/log-level") => Ask::LogLevel(String::from_utf8_lossy(query).into_owned()),
            _ => return Page::missing(),
        };
        Page::json(self.ask(ask))
    }

    fn page(&self, call: &mut Call<'_>) -> Page {
        let (path, query) = (call.request.path(), call.request.query());
        if !self.takes_orders {
            if let Some(address) = self.address
                && let Some((status, why)) = self.access.denies(call.request, address.is_loopback())
            {
                return Page::json(AdminAnswer(status, json!(why)));
            }
            return match call.request.method() {
                Method::Get | Method::Head => self.watch(path),
                _ => Page::json(AdminAnswer(
                    405,
                    json!("this listener takes no orders; the control socket does"),
                )),
            };
        }
        match call.reply.peer_user() {
            Ok(user) if user == 0 || user == process::user() => {
                self.control(call.request.method(), path, query)
            }
            Ok(user) => Page::json(AdminAnswer(403, json!(format!("user {user} may not give orders here")))),
            Err(error) => {
                Page::json(AdminAnswer(403, Value::from(format!("the client's address is unknown: {error}"))))
            }
        }
    }
}

impl App for Admin {
    fn call(&self, call: &mut Call<'_>) -> Outcome {
        let page = self.page(call);
        let size = BodySize::Known(page.body.len() as u64);
        let written: Result<(), BadResponse> =
            call.reply.head(page.status, reason_phrase(page.status).as_bytes(), size, |head| {
                head.field(b"Content-Type", page.kind)?;
                if page.status == 401 {
                    head.field(b"WWW-Authenticate", b"Bearer")?;
                }
                head.field(b"Cache-Control", b"no-store")?;
                head.field(b"Content-Security-Policy", POLICY)?;
                head.field(b"X-Content-Type-Options", b"nosniff")
            });
        if written.is_err() {
            return Outcome::Failed;
        }
        call.reply.write(&page.body);
        Outcome::Done
    }
}
