//! Who may use a route: what a request says of its client is compared with a file of passwords.
//!
//! What a loop can tell at once it tells ([`Guard::judge`]): no credentials, a digest, a password that was verified before. A
//! password that is seen for the first time is verified on a thread of its own (`checker.rs`).

mod books;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use adyton_auth::{
    Asked, BAD_MS, Checked, Digest, DigestLimits, DigestPasswords, DigestRequest, Groups, Realm, Rule,
    Throttle, ThrottleLimits, VERDICTS_MAX, VerdictKey, VerdictLimits, Verdicts, basic_challenge, read_basic,
};
use adyton_http::{Known, Request};
use adyton_log::{self as log, messages};
use adyton_sys::{clock, process};

use crate::lock::lock;
use crate::user::User;

pub use self::books::GuardError;
use self::books::{Books, Secrets};

/// What was verified is remembered for an hour: a file that changes has all forgotten sooner.
const VERDICTS: VerdictLimits =
    VerdictLimits { good_ms: 60 * 60_000, bad_ms: BAD_MS, entries_max: VERDICTS_MAX };

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
    realm: Realm,
    rule: Rule,
    books: Mutex<Books>,
    memory: Mutex<Memory>,
}

/// What a guard has seen.
struct Memory {
    verdicts: Verdicts,
    digest: Digest,
    throttle: Throttle,
}

/// What has come of the credentials of a request.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// The guard that they were for.
    pub(crate) guard: Arc<Guard>,
    /// Who it is, or why it is not let in.
    pub(crate) outcome: Result<Arc<User>, Refused>,
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

impl From<Result<Arc<User>, Refused>> for Judgement {
    fn from(outcome: Result<Arc<User>, Refused>) -> Judgement {
        outcome.map_or_else(Judgement::Refuse, Judgement::Pass)
    }
}

/// Why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It has not proved who it is, or is somebody else.
    Unknown,
    /// Its proof is too old, and would be right else.
    Stale,
    /// It has been wrong too often, and is to wait for so many ms.
    Throttled(u64),
}

/// A name and a password that are not known to be right or wrong.
pub(crate) struct Credentials {
    guard: Arc<Guard>,
    said: adyton_auth::Credentials,
    key: VerdictKey,
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
        let realm = Realm::new(&realm).map_err(GuardError::Realm)?;
        let books = Books::open(scheme, group_file, clock::monotonic_ms())?;
        let secret = || process::secret().map_err(GuardError::Secret);
        let memory = Memory {
            verdicts: Verdicts::new(secret()?, VERDICTS),
            digest: Digest::new(realm.clone(), secret()?, DigestLimits::default()),
            throttle: Throttle::new(ThrottleLimits::default()),
        };
        let rule = rule(users, groups);
        Ok(Guard { realm, rule, books: Mutex::new(books), memory: Mutex::new(memory) })
    }

    /// Passwords that are guessed quickly if the file is stolen, each as the line that it stands in and its user.
    pub fn weak(&self) -> Vec<(usize, String)> {
        let Secrets::Basic(passwords) = &lock(&self.books).secrets else { return Vec::new() };
        let shown = |(user, line): (&[u8], usize)| (line, String::from_utf8_lossy(user).into_owned());
        passwords.weak().into_iter().map(shown).collect()
    }

    /// What is known of the credentials of a request; `verdict`: what has come of them, if they were verified.
    pub(crate) fn judge(
        self: &Arc<Self>,
        request: Request<'_>,
        client: Option<IpAddr>,
        verdict: Option<&Verdict>,
    ) -> Judgement {
        if let Some(verdict) = verdict.filter(|verdict| Arc::ptr_eq(&verdict.guard, self)) {
            return verdict.outcome.clone().into();
        }
        let mut fields = request.all(Known::Authorization);
        // Of two, another server may take the other one.
        let (Some(field), None) = (fields.next(), fields.next()) else {
            return Judgement::Refuse(Refused::Unknown);
        };
        let now_ms = clock::monotonic_ms();
        let (secrets, groups) = self.books(now_ms);
        match &secrets {
            Secrets::Basic(_) => self.judge_basic(field, &groups, (client, now_ms)),
            Secrets::Digest(digests) => {
                self.judge_digest((field, request), (digests, &groups), (client, now_ms)).into()
            }
        }
    }

    /// What the files say.
    fn books(&self, now_ms: u64) -> (Secrets, Arc<Groups>) {
        let mut books = lock(&self.books);
        if books.refresh(now_ms) {
            lock(&self.memory).verdicts.clear();
        }
        (books.secrets.clone(), Arc::clone(&books.groups))
    }

    fn judge_basic(
        self: &Arc<Self>,
        field: &[u8],
        groups: &Groups,
        (client, now_ms): (Option<IpAddr>, u64),
    ) -> Judgement {
        let Ok(said) = read_basic(field) else { return Judgement::Refuse(Refused::Unknown) };
        let memory = lock(&self.memory);
        // Even what is known: else an address that has to wait could tell right passwords from wrong ones.
        if let Some(wait_ms) = memory.throttle.wait_ms(client, now_ms) {
            return Judgement::Refuse(Refused::Throttled(wait_ms));
        }
        let key = memory.verdicts.key(&said.user, &said.password);
        match memory.verdicts.look(&key, now_ms) {
            Some(true) => self.admit(&said.user, "Basic", groups).into(),
            Some(false) => Judgement::Refuse(Refused::Unknown),
            None => {
                let guard = Arc::clone(self);
                Judgement::Check(Box::new(Credentials { guard, said, key, client }))
            }
        }
    }

    /// A digest costs so little that the loop compares it.
    fn judge_digest(
        &self,
        (authorization, request): (&[u8], Request<'_>),
        (digests, groups): (&DigestPasswords, &Groups),
        (client, now_ms): (Option<IpAddr>, u64),
    ) -> Result<Arc<User>, Refused> {
        let mut memory = lock(&self.memory);
        if let Some(wait_ms) = memory.throttle.wait_ms(client, now_ms) {
            return Err(Refused::Throttled(wait_ms));
        }
        let asked = DigestRequest { method: request.method_name(), target: request.target(), authorization };
        let checked = memory.digest.check(digests, asked, now_ms);
        drop(memory);
        match checked {
            Checked::Good { user, .. } => self.admit(&user, "Digest", groups),
            Checked::Stale => Err(Refused::Stale),
            Checked::Bad(error) => {
                if error.is_guess() {
                    self.note_failure(client, now_ms);
                }
                Err(Refused::Unknown)
            }
        }
    }

    /// Lets a user in whose password was right, if the route is for that one.
    fn admit(&self, name: &[u8], scheme: &'static str, groups: &Groups) -> Result<Arc<User>, Refused> {
        match std::str::from_utf8(name) {
            Ok(text) if self.rule.allows(name, groups) => Ok(Arc::new(User { name: text.into(), scheme })),
            _ => Err(Refused::Unknown),
        }
    }

    /// A client has proved nothing.
    fn note_failure(&self, client: Option<IpAddr>, now_ms: u64) {
        let mut memory = lock(&self.memory);
        memory.throttle.failed(client, now_ms);
        let waits_ms = memory.throttle.wait_ms(client, now_ms);
        drop(memory);
        if let (Some(wait_ms), Some(address)) = (waits_ms, client) {
            let (seconds, realm) = (wait_ms.div_ceil(1000), self.realm.as_str());
            let text =
                format_args!("{address} has to wait for {seconds} s after wrong passwords for {realm:?}");
            log::write(&messages::GUESSES, text);
        }
    }

    /// What is answered to a client that is not let in.
    pub(crate) fn denial(&self, refused: Refused) -> Denial {
        if let Refused::Throttled(wait_ms) = refused {
            let seconds = wait_ms.div_ceil(1000).to_string().into_bytes();
            return Denial { status: 429, detail: WAIT, fields: vec![(b"Retry-After", seconds)] };
        }
        let challenges = match &lock(&self.books).secrets {
            Secrets::Basic(_) => vec![basic_challenge(&self.realm)],
            Secrets::Digest(digests) => {
                let asked = if refused == Refused::Stale { Asked::Stale } else { Asked::First };
                let algorithms = digests.algorithms(&self.realm);
                lock(&self.memory).digest.challenges(&algorithms, asked, clock::monotonic_ms())
            }
        };
        let fields = challenges.into_iter().map(|value| (&b"WWW-Authenticate"[..], value)).collect();
        Denial { status: 401, detail: WHO, fields }
    }
}

/// The answer to a client that is not let in: what to say, and the fields beside it.
pub(crate) struct Denial {
    pub(crate) status: u16,
    pub(crate) detail: &'static str,
    pub(crate) fields: Vec<(&'static [u8], Vec<u8>)>,
}

impl Credentials {
    /// Compares the password with the file; this takes as long as its hash wants.
    pub(crate) fn verify(&self) -> Verdict {
        self.verdict(self.compare())
    }

    /// What has come of it, if that cannot be said.
    pub(crate) fn refused(&self) -> Verdict {
        self.verdict(Err(Refused::Unknown))
    }

    fn verdict(&self, outcome: Result<Arc<User>, Refused>) -> Verdict {
        Verdict { guard: Arc::clone(&self.guard), outcome, started_us: None }
    }

    fn compare(&self) -> Result<Arc<User>, Refused> {
        let Credentials { guard, said, key, client } = self;
        let now_ms = clock::monotonic_ms();
        let (secrets, groups) = guard.books(now_ms);
        let Secrets::Basic(passwords) = &secrets else { return Err(Refused::Unknown) };
        // Others that came before may have brought the same, or been wrong too often.
        let known = {
            let memory = lock(&guard.memory);
            if let Some(wait_ms) = memory.throttle.wait_ms(*client, now_ms) {
                return Err(Refused::Throttled(wait_ms));
            }
            memory.verdicts.look(key, now_ms)
        };
        let is_right = known.unwrap_or_else(|| {
            let is_right = passwords.verify(&said.user, &said.password);
            let now_ms = clock::monotonic_ms();
            lock(&guard.memory).verdicts.note(key, is_right, now_ms);
            if !is_right {
                guard.note_failure(*client, now_ms);
            }
            is_right
        });
        if is_right { guard.admit(&said.user, "Basic", &groups) } else { Err(Refused::Unknown) }
    }
}

/// Who is let in.
fn rule(users: Vec<String>, groups: Vec<String>) -> Rule {
    if users.is_empty() && groups.is_empty() {
        return Rule::ValidUser;
    }
    let users = users.into_iter().map(|name| name.into_bytes().into()).collect();
    let groups = groups.into_iter().map(String::into_boxed_str).collect();
    Rule::Any(vec![Rule::User(users), Rule::Group(groups)])
}

const WHO: &str = "This is for those who say who they are.";

const WAIT: &str = "There were too many wrong passwords from this address.";
