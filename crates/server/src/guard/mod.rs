//! Who may use a route: what a request says of its client is compared with a file of passwords.
//!
//! What a loop can tell at once it tells ([`Guard::judge`]): no credentials, a digest, a password that was verified before. A
//! password that is seen for the first time is verified on a thread of its own (`checker.rs`).

mod books;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use adyton_auth::{self as auth, Basic, Digest, DigestOutcome, Nonces, Rule, Throttle, Verdicts};
use adyton_files::error_page;
use adyton_http::{Known, Request};
use adyton_sys::{clock, process};

use crate::lock::lock;
use crate::reply::Reply;
use crate::user::User;

pub use self::books::GuardError;
use self::books::{Books, Secrets};

/// Passwords that are remembered as right or wrong.
const VERDICTS_MAX: usize = 4096;

/// How long they are: a file that changes has all forgotten sooner.
const VERDICT_MS: u64 = 5 * 60_000;

/// How clients prove who they are, and with which file that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// With their password, as it is (RFC 7617); a file that `htpasswd` has made.
    Basic(PathBuf),
    /// With a digest of it (RFC 7616); a file that `htdigest` has made.
    Digest(PathBuf),
}

/// What a guard asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardRules {
    /// How clients prove who they are.
    pub scheme: Scheme,
    /// What for, as browsers show it.
    pub realm: String,
    /// Users that are let in; if neither they nor groups are named, all are.
    pub users: Vec<String>,
    /// Groups whose members are let in, too.
    pub groups: Vec<String>,
    /// Who is in which group, as Apache's `AuthGroupFile` says it.
    pub group_file: Option<PathBuf>,
}

/// What lets in those who prove who they are.
pub struct Guard {
    realm: String,
    rule: Rule,
    books: Mutex<Books>,
    memory: Mutex<Memory>,
}

/// What a guard has seen.
struct Memory {
    verdicts: Verdicts,
    nonces: Nonces,
    throttle: Throttle,
}

/// What has come of the credentials of a request.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// The guard that they were for.
    pub(crate) guard: Arc<Guard>,
    /// Who it is; `None`: they are wrong.
    pub(crate) user: Option<Arc<User>>,
    /// When the request came that waited for it, in us of the monotonic clock.
    pub(crate) started_us: Option<u64>,
}

/// What a loop knows of the credentials of a request.
pub(crate) enum Judgement {
    /// They are right.
    Pass(Arc<User>),
    /// They are not, or there are none.
    Refuse(Refused),
    /// They have to be verified, which takes too long for a loop.
    Check(Box<Credentials>),
}

/// Why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It has not proved who it is, or is somebody else.
    Unknown,
    /// Its proof is too old, and would be right else.
    Stale,
    /// It has been wrong too often, and is to wait for so long.
    Throttled(u64),
}

/// A name and a password that are not known to be right or wrong.
pub(crate) struct Credentials {
    guard: Arc<Guard>,
    basic: Basic,
    client: Option<IpAddr>,
}

impl Guard {
    /// A guard with what its files say now.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or has mistakes.
    pub fn open(rules: GuardRules) -> Result<Guard, GuardError> {
        let GuardRules { scheme, realm, users, groups, group_file } = rules;
        let books = Books::open(scheme, group_file, clock::monotonic_ms())?;
        let secret = || process::random();
        Ok(Guard {
            realm,
            rule: Rule::any_of(users, groups),
            books: Mutex::new(books),
            memory: Mutex::new(Memory {
                verdicts: Verdicts::new(secret(), VERDICTS_MAX, VERDICT_MS),
                nonces: Nonces::new(secret()),
                throttle: Throttle::default(),
            }),
        })
    }
}

impl Guard {
    /// What is known of the credentials of a request; `verdict`: what has come of them, if they were verified.
    pub(crate) fn judge(
        self: &Arc<Self>,
        request: Request<'_>,
        client: Option<IpAddr>,
        verdict: Option<&Verdict>,
    ) -> Judgement {
        if let Some(verdict) = verdict.filter(|verdict| Arc::ptr_eq(&verdict.guard, self)) {
            let user = verdict.user.clone();
            return user.map_or(Judgement::Refuse(Refused::Unknown), Judgement::Pass);
        }
        let mut fields = request.all(Known::Authorization);
        // Of two, another server may take the other one.
        let (Some(field), None) = (fields.next(), fields.next()) else {
            return Judgement::Refuse(Refused::Unknown);
        };
        let now_ms = clock::monotonic_ms();
        let mut books = lock(&self.books);
        if books.refresh(now_ms) {
            lock(&self.memory).verdicts.clear();
        }
        let (secrets, groups) = (books.secrets.clone(), Arc::clone(&books.groups));
        drop(books);
        match &secrets {
            Secrets::Basic(_) => self.judge_basic(field, &groups, (client, now_ms)),
            Secrets::Digest(digests) => {
                self.judge_digest((field, request), (digests, &groups), (client, now_ms))
            }
        }
    }
}
