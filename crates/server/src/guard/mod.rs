//! Guards of routes: a request's credentials are compared with a file of passwords.
//!
//! A loop decides the quick cases itself ([`Guard::judge`]): no credentials, a digest, a password that was verified
//! before. A password that is seen for the first time is verified on a thread of its own (`threads/checker.rs`). A
//! program that knows clients is asked like an application (`site/asking.rs`).

mod files;
mod shut_out;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use adyton_auth::{
    Algorithm, Asked, BAD_MS, Checked, Digest, DigestLimits, DigestPasswords, DigestRequest, Groups,
    Passwords, Realm, Rule, Throttle, ThrottleLimits, VERDICTS_MAX, VerdictKey, VerdictLimits, Verdicts,
    basic_challenge, digest_user, read_basic,
};
use adyton_http::{Known, Request};
use adyton_http1::Head;
use adyton_log::{self as log, messages};
use adyton_sys::{clock, process};

use crate::answering::outcome::Outcome;
use crate::answering::verdict::{Refused, Verdict};
use crate::app::Call;
use crate::client::user::User;
use crate::lock::lock;

pub use self::files::GuardError;
use self::files::{GuardFiles, Secrets};

/// Limits of remembered verdicts: right passwords are remembered for an hour. When a file has changed, all verdicts are
/// forgotten.
const VERDICTS: VerdictLimits =
    VerdictLimits { good_ms: 60 * 60_000, bad_ms: BAD_MS, entries_max: VERDICTS_MAX };

/// The way in which clients prove who they are, and the file or program that knows their passwords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// A password in plain text (RFC 7617); a file that `htpasswd` has made.
    Basic(PathBuf),
    /// A digest of a password (RFC 7616); a file that `htdigest` has made.
    Digest(PathBuf),
    /// A password in plain text, which this program knows.
    BasicProgram(String),
    /// A digest of a password, which this program knows.
    DigestProgram(String),
    /// Clients need not prove who they are.
    Anyone,
}

impl Scheme {
    /// The file of passwords, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Scheme::Basic(file) | Scheme::Digest(file) => Some(file),
            Scheme::BasicProgram(_) | Scheme::DigestProgram(_) | Scheme::Anyone => None,
        }
    }
}

/// The rules of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardRules {
    /// The way in which clients prove who they are.
    pub scheme: Scheme,
    /// The realm, which browsers show.
    pub realm: String,
    /// Users that are let in; if no users and no groups are named, all users are let in.
    pub users: Vec<String>,
    /// Groups whose members are let in, too.
    pub groups: Vec<String>,
    /// The file that says who is in which group, as Apache's `AuthGroupFile` does.
    pub group_file: Option<PathBuf>,
    /// The program that says who is in which group, in the place of such a file.
    pub group_program: Option<String>,
    /// The program that says which requests are let in at all.
    pub access_program: Option<String>,
    /// Time in ms for which a program's verdict on a password counts before the program is asked again.
    pub remember_ms: u64,
}

/// A guard, which lets in clients that prove who they are.
#[expect(clippy::struct_excessive_bools, reason = "each says something else of what is asked")]
pub struct Guard {
    /// The number of the guard among all that ever existed in this process.
    pub(crate) number: u64,
    realm: Realm,
    rule: Rule,
    files: Mutex<GuardFiles>,
    memory: Mutex<Memory>,
    programs: Authorities,
    /// Whether programs have to be asked.
    asks: bool,
    /// Whether a program has to be asked for groups, too.
    asks_groups: bool,
    /// Whether programs are asked about every request, whoever sends it.
    asks_of_all: bool,
    /// Whether users whose passwords a program has found right are remembered.
    remembers: bool,
}

/// The number of guards that ever existed in this process.
static GUARDS: AtomicU64 = AtomicU64::new(0);

/// Stands for no guard.
const NO_GUARD: u64 = u64::MAX;

/// A guard's memory of what it has seen.
struct Memory {
    verdicts: Verdicts,
    digest: Digest,
    throttle: Throttle,
}

/// A request that wants to pass a guard.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// The request as its client has sent it.
    pub(crate) request: Request<'a>,
    /// The address that the request comes from; `None` stands for a unix socket.
    pub(crate) client: Option<IpAddr>,
    /// The verdict on its credentials, if they were verified.
    pub(crate) verdict: Option<&'a Verdict>,
    /// Whether the guard has let the request in before, on the way to its present path: its digest is then no replay.
    pub(crate) is_again: bool,
}

/// A loop's judgement on the credentials of a request.
pub(crate) enum Judgement {
    /// The credentials are right.
    Pass(Option<Arc<User>>),
    /// The credentials are wrong, or there are none.
    Refuse(Refused),
    /// The credentials have to be verified, which takes too long for a loop, or needs a program.
    Check(Box<Credentials>),
}

impl From<Result<Option<Arc<User>>, Refused>> for Judgement {
    fn from(outcome: Result<Option<Arc<User>>, Refused>) -> Judgement {
        outcome.map_or_else(Judgement::Refuse, Judgement::Pass)
    }
}

/// A client's claim to be somebody, which may turn out right or wrong.
pub(crate) struct Credentials {
    guard: Arc<Guard>,
    claim: ClaimForm,
    client: Option<IpAddr>,
    /// Whether a program is to be asked now.
    is_asked: bool,
    /// Whether the guard has let the request in before, as in [`Attempt`].
    is_again: bool,
    /// The verdicts of other guards on the way.
    pub(crate) before: Option<Box<Verdict>>,
}

/// The form of a client's claim.
enum ClaimForm {
    /// A name and a password.
    Password(adyton_auth::Credentials, VerdictKey),
    /// A digest, which is in the request.
    Digest,
    /// No claim.
    Nothing,
}

/// A program that knows clients. It is asked like an application, on a thread that may enter applications.
///
/// A program that cannot answer logs the reason, and returns the outcome of the request as an error.
pub trait Authority: Send + Sync + 'static {
    /// Returns the name that the user with this password has from here on; `None` if the password is wrong.
    ///
    /// # Errors
    ///
    /// The program failed, or was interrupted.
    fn check_password(
        &self,
        call: &mut Call<'_>,
        user: &str,
        password: &str,
    ) -> Result<Option<String>, Outcome>;

    /// Returns the hash that Digest needs of a user's password in a realm: MD5 as in RFC 7616, in hexadecimal.
    ///
    /// # Errors
    ///
    /// The program failed, or was interrupted.
    fn realm_hash(&self, call: &mut Call<'_>, user: &str, realm: &str) -> Result<Option<String>, Outcome>;

    /// Returns the groups that a user is in.
    ///
    /// # Errors
    ///
    /// The program failed, or was interrupted.
    fn groups(&self, call: &mut Call<'_>, user: &str) -> Result<Vec<String>, Outcome>;

    /// Whether a request from this address is let in; the address is empty if the client has none.
    ///
    /// # Errors
    ///
    /// The program failed, or was interrupted.
    fn allows(&self, call: &mut Call<'_>, client: &str) -> Result<bool, Outcome>;
}

/// The programs of a guard whose rules name some.
#[derive(Clone, Default)]
pub struct Authorities {
    /// The program that knows passwords.
    pub users: Option<Arc<dyn Authority>>,
    /// The program that knows groups.
    pub groups: Option<Arc<dyn Authority>>,
    /// The program that knows which requests are let in.
    pub access: Option<Arc<dyn Authority>>,
}

impl Guard {
    /// Opens a guard with the present content of its files. [`Guard::asking`] gives it the programs that its rules
    /// name.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or has mistakes.
    pub fn open(rules: GuardRules) -> Result<Guard, GuardError> {
        let GuardRules {
            scheme,
            realm,
            users,
            groups,
            group_file,
            group_program,
            access_program,
            remember_ms,
        } = rules;
        let asks_groups = group_program.is_some() && !groups.is_empty();
        let asks_of_all = access_program.is_some();
        let is_of_file = scheme.file().is_some();
        let asks = asks_groups || asks_of_all || !is_of_file;
        let realm = Realm::new(&realm).map_err(GuardError::Realm)?;
        let files = GuardFiles::open(scheme, group_file, clock::monotonic_ms())?;
        let secret = || process::secret().map_err(GuardError::Secret);
        let verdicts = if is_of_file { VERDICTS } else { VerdictLimits::lasting(remember_ms) };
        let memory = Memory {
            verdicts: Verdicts::new(secret()?, verdicts),
            digest: Digest::new(realm.clone(), secret()?, DigestLimits::default()),
            throttle: Throttle::new(ThrottleLimits::default()),
        };
        let rule = rule(users, groups);
        let remembers = !is_of_file && remember_ms > 0;
        let number = GUARDS.fetch_add(1, Ordering::Relaxed);
        let (files, memory) = (Mutex::new(files), Mutex::new(memory));
        let programs = Authorities::default();
        Ok(Guard { number, realm, rule, files, memory, programs, asks, asks_groups, asks_of_all, remembers })
    }

    /// Has the guard ask these programs, which its rules name.
    #[must_use]
    pub fn asking(self, programs: Authorities) -> Guard {
        Guard { programs, ..self }
    }

    /// Returns the passwords that can be guessed quickly if the file is stolen: for each, the number of its line, and
    /// its user.
    pub fn weak(&self) -> Vec<(usize, String)> {
        let Secrets::Basic(passwords) = &lock(&self.files).secrets else { return Vec::new() };
        let shown = |(user, line): (&[u8], usize)| (line, String::from_utf8_lossy(user).into_owned());
        passwords.weak().into_iter().map(shown).collect()
    }

    /// Judges the credentials of a request, as far as a loop can.
    pub(crate) fn judge(self: &Arc<Self>, attempt: Attempt<'_>) -> Judgement {
        let Attempt { request, verdict, .. } = attempt;
        if let Some(verdict) = verdict.and_then(|verdict| verdict.of_guard(self.number)) {
            return verdict.outcome.clone().into();
        }
        let mut fields = request.all(Known::Authorization);
        // If there are two fields, another server may take the other one.
        let field = match (fields.next(), fields.next()) {
            (Some(field), None) => field,
            _ if self.asks_of_all => {
                return Judgement::Check(Box::new(self.credentials(ClaimForm::Nothing, attempt)));
            }
            _ => return Judgement::Refuse(Refused::Unknown),
        };
        let now_ms = clock::monotonic_ms();
        let (secrets, groups) = self.files(now_ms);
        match &secrets {
            _ if self.asks => self.judge_by_asking(field, &secrets, attempt, now_ms),
            Secrets::Basic(_) => self.judge_basic(field, &groups, attempt, now_ms),
            Secrets::Digest(digests) => {
                let name = self.name_by_digest(field, digests, attempt, now_ms);
                name.and_then(|name| self.admit(&name, "Digest", &groups)).map(Some).into()
            }
            Secrets::BasicProgram | Secrets::DigestProgram | Secrets::Nothing => {
                unreachable!("a program is asked")
            }
        }
    }

    /// Whether programs have to be asked who clients are.
    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    /// Whether programs are asked about every request, even one that does not say who sends it.
    pub(crate) fn asks_of_all(&self) -> bool {
        self.asks_of_all
    }

    fn credentials(self: &Arc<Self>, claim: ClaimForm, attempt: Attempt<'_>) -> Credentials {
        let Attempt { client, is_again, .. } = attempt;
        Credentials { guard: Arc::clone(self), claim, client, is_asked: self.asks, is_again, before: None }
    }

    /// Judges credentials as far as possible before a program is asked.
    fn judge_by_asking(
        self: &Arc<Self>,
        field: &[u8],
        secrets: &Secrets,
        attempt: Attempt<'_>,
        now_ms: u64,
    ) -> Judgement {
        let memory = lock(&self.memory);
        if let Some(wait_ms) = memory.throttle.wait_ms(attempt.client, now_ms) {
            return Judgement::Refuse(Refused::Throttled(wait_ms));
        }
        let claim = match secrets {
            Secrets::Basic(_) | Secrets::BasicProgram => read_basic(field).ok().map(|said| {
                let key = memory.verdicts.key(&said.user, &said.password);
                ClaimForm::Password(said, key)
            }),
            Secrets::Digest(_) | Secrets::DigestProgram => digest_user(field).map(|_| ClaimForm::Digest),
            Secrets::Nothing => Some(ClaimForm::Nothing),
        };
        let claim = claim.or(self.asks_of_all.then_some(ClaimForm::Nothing));
        let Some(claim) = claim else { return Judgement::Refuse(Refused::Unknown) };
        if let (ClaimForm::Password(said, key), Secrets::BasicProgram) = (&claim, secrets)
            && !self.asks_of_all
            && self.remembers
            && memory.verdicts.look(key, now_ms) == Some(true)
            && let Ok(name) = str::from_utf8(&said.user)
        {
            // The program knew this password, and this guard has let the user in.
            return Judgement::Pass(Some(Arc::new(User { name: name.into(), scheme: "Basic" })));
        }
        let mut credentials = self.credentials(claim, attempt);
        if let (ClaimForm::Password(_, key), Secrets::Basic(_)) = (&credentials.claim, secrets) {
            // The hash of a new password is computed first, on another thread, so that it does not hold up a program.
            credentials.is_asked = memory.verdicts.look(key, now_ms).is_some();
        }
        Judgement::Check(Box::new(credentials))
    }

    /// Returns the content of the files, read again if they have changed.
    fn files(&self, now_ms: u64) -> (Secrets, Arc<Groups>) {
        let mut files = lock(&self.files);
        if files.refresh(now_ms) {
            lock(&self.memory).verdicts.clear();
        }
        (files.secrets.clone(), Arc::clone(&files.groups))
    }

    fn judge_basic(
        self: &Arc<Self>,
        field: &[u8],
        groups: &Groups,
        attempt: Attempt<'_>,
        now_ms: u64,
    ) -> Judgement {
        let Ok(said) = read_basic(field) else { return Judgement::Refuse(Refused::Unknown) };
        let memory = lock(&self.memory);
        // Remembered passwords have to wait, too: else an address that has to wait could tell right passwords from
        // wrong ones.
        if let Some(wait_ms) = memory.throttle.wait_ms(attempt.client, now_ms) {
            return Judgement::Refuse(Refused::Throttled(wait_ms));
        }
        let key = memory.verdicts.key(&said.user, &said.password);
        match memory.verdicts.look(&key, now_ms) {
            Some(true) => self.admit(&said.user, "Basic", groups).map(Some).into(),
            Some(false) => Judgement::Refuse(Refused::Unknown),
            None => {
                let claim = ClaimForm::Password(said, key);
                Judgement::Check(Box::new(self.credentials(claim, attempt)))
            }
        }
    }

    /// Returns the user to whom the digest belongs. Comparing a digest costs so little that the loop does it.
    fn name_by_digest(
        &self,
        authorization: &[u8],
        digests: &DigestPasswords,
        attempt: Attempt<'_>,
        now_ms: u64,
    ) -> Result<Vec<u8>, Refused> {
        let Attempt { request, client, is_again, .. } = attempt;
        let mut memory = lock(&self.memory);
        if let Some(wait_ms) = memory.throttle.wait_ms(client, now_ms) {
            return Err(Refused::Throttled(wait_ms));
        }
        let asked = DigestRequest { method: request.method_name(), target: request.target(), authorization };
        let checked = if is_again {
            memory.digest.check_again(digests, asked)
        } else {
            memory.digest.check(digests, asked, now_ms)
        };
        drop(memory);
        match checked {
            Checked::Good { user, .. } => Ok(user),
            Checked::Stale => Err(Refused::Stale),
            Checked::Bad(error) => {
                if error.is_guess() {
                    self.note_failure(client, now_ms);
                }
                Err(Refused::Unknown)
            }
        }
    }

    /// Lets in a user whose password was right, if the rule allows that user.
    fn admit(&self, name: &[u8], scheme: &'static str, groups: &Groups) -> Result<Arc<User>, Refused> {
        match std::str::from_utf8(name) {
            Ok(text) if self.rule.allows(name, groups) => Ok(Arc::new(User { name: text.into(), scheme })),
            _ => Err(Refused::Unknown),
        }
    }

    /// Notes that a client has proved nothing.
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

    /// Returns the answer to a client that is not let in.
    pub(crate) fn denial(&self, refused: Refused) -> Denial {
        if let Refused::Throttled(wait_ms) = refused {
            let seconds = wait_ms.div_ceil(1000).to_string().into_bytes();
            return Denial { status: 429, detail: WAIT, fields: vec![(b"Retry-After", seconds)] };
        }
        if refused == Refused::Forbidden {
            return Denial { status: 403, detail: NOT_ALLOWED, fields: Vec::new() };
        }
        let challenges = match &lock(&self.files).secrets {
            Secrets::Basic(_) | Secrets::BasicProgram => vec![basic_challenge(&self.realm)],
            Secrets::Digest(digests) => self.digest_challenges(&digests.algorithms(&self.realm), refused),
            Secrets::DigestProgram => self.digest_challenges(&[Algorithm::Md5], refused),
            // A client that need not prove who it is gets no challenge.
            Secrets::Nothing => return Denial { status: 403, detail: NOT_ALLOWED, fields: Vec::new() },
        };
        let fields = challenges.into_iter().map(|value| (&b"WWW-Authenticate"[..], value)).collect();
        Denial { status: 401, detail: WHO, fields }
    }

    fn digest_challenges(&self, algorithms: &[Algorithm], refused: Refused) -> Vec<Vec<u8>> {
        let asked = if refused == Refused::Stale { Asked::Stale } else { Asked::First };
        lock(&self.memory).digest.challenges(algorithms, asked, clock::monotonic_ms())
    }
}

/// The answer to a client that is not let in: status, text, and the fields beside it.
pub(crate) struct Denial {
    pub(crate) status: u16,
    pub(crate) detail: &'static str,
    pub(crate) fields: Vec<(&'static [u8], Vec<u8>)>,
}

impl Credentials {
    /// Whether programs have to be asked, by [`Credentials::ask`]; else the password has to be compared, by
    /// [`Credentials::verify`].
    pub(crate) fn are_asked(&self) -> bool {
        self.is_asked
    }

    /// Compares the password with the file, which takes as long as computing a hash.
    pub(crate) fn verify(&self) -> Verdict {
        let compared = self.compare();
        if self.guard.asks && compared.is_ok() {
            // A right password is not enough to be let in. It is remembered now, and the programs are asked when the
            // request is judged again.
            return Verdict { guard: NO_GUARD, ..self.verdict(Err(Refused::Unknown)) };
        }
        self.verdict(compared)
    }

    /// Asks the programs of the guard.
    ///
    /// # Errors
    ///
    /// The outcome of a program that cannot answer.
    pub(crate) fn ask(&self, call: &mut Call<'_>) -> Result<Verdict, Outcome> {
        if self.guard.asks_of_all && !self.is_allowed(call)? {
            return Ok(self.verdict(Err(Refused::Forbidden)));
        }
        if matches!(lock(&self.guard.files).secrets, Secrets::Nothing) {
            return Ok(self.verdict(Ok(None)));
        }
        let found = self.name(call)?;
        let admitted = match found {
            Ok((name, scheme)) => self.admit(call, &name, scheme)?.map(Some),
            Err(refused) => Err(refused),
        };
        self.remember(admitted.as_ref().ok());
        Ok(self.verdict(admitted))
    }

    /// Returns the verdict for credentials that cannot be judged.
    pub(crate) fn refused(&self) -> Verdict {
        self.verdict(Err(Refused::Unknown))
    }

    /// Remembers the user that a program has let in, if users are remembered.
    fn remember(&self, admitted: Option<&Option<Arc<User>>>) {
        let Credentials { guard, claim: ClaimForm::Password(said, key), .. } = self else { return };
        let Some(Some(user)) = admitted else { return };
        // Only a user under the client's own name is remembered, and a program may give another name.
        if guard.remembers && user.name.as_bytes() == said.user {
            lock(&guard.memory).verdicts.note(key, true, clock::monotonic_ms());
        }
    }

    /// Asks whether the request is let in at all.
    fn is_allowed(&self, call: &mut Call<'_>) -> Result<bool, Outcome> {
        let Some(program) = &self.guard.programs.access else { return Err(Outcome::Failed) };
        let client = self.client.map_or_else(String::new, |client| client.to_canonical().to_string());
        program.allows(call, &client)
    }

    fn verdict(&self, outcome: Result<Option<Arc<User>>, Refused>) -> Verdict {
        Verdict { guard: self.guard.number, outcome, of: None, before: self.before.clone() }
    }

    fn compare(&self) -> Result<Option<Arc<User>>, Refused> {
        let Credentials { guard, claim: ClaimForm::Password(said, key), .. } = self else {
            return Err(Refused::Unknown);
        };
        let (secrets, groups) = guard.files(clock::monotonic_ms());
        let Secrets::Basic(passwords) = &secrets else { return Err(Refused::Unknown) };
        self.compare_with(passwords, said, key)?;
        if guard.asks { Ok(None) } else { guard.admit(&said.user, "Basic", &groups).map(Some) }
    }

    /// Compares the password with the one in the file, unless this client has to wait.
    fn compare_with(
        &self,
        passwords: &Passwords,
        said: &adyton_auth::Credentials,
        key: &VerdictKey,
    ) -> Result<(), Refused> {
        let Credentials { guard, client, .. } = self;
        let now_ms = clock::monotonic_ms();
        // Earlier requests may have brought this password, or been wrong too often.
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
        if is_right { Ok(()) } else { Err(Refused::Unknown) }
    }

    /// Returns the name of the client, and the scheme that proves it.
    fn name(&self, call: &mut Call<'_>) -> Result<Result<(String, &'static str), Refused>, Outcome> {
        let guard = &self.guard;
        let now_ms = clock::monotonic_ms();
        // Earlier requests may have been wrong too often.
        if let Some(wait_ms) = lock(&guard.memory).throttle.wait_ms(self.client, now_ms) {
            return Ok(Err(Refused::Throttled(wait_ms)));
        }
        let (secrets, _) = guard.files(now_ms);
        let (name, scheme) = match (&self.claim, &secrets) {
            (ClaimForm::Password(said, key), Secrets::Basic(passwords)) => {
                (self.compare_with(passwords, said, key).map(|()| said.user.clone()), "Basic")
            }
            (ClaimForm::Password(said, _), Secrets::BasicProgram) => {
                (self.ask_password(call, said)?.map(String::into_bytes), "Basic")
            }
            (ClaimForm::Digest, Secrets::Digest(digests)) => (self.by_digest(call, digests), "Digest"),
            (ClaimForm::Digest, Secrets::DigestProgram) => {
                let known = self.ask_digest(call)?;
                (self.by_digest(call, &known), "Digest")
            }
            // The client claims nothing. (The guard's scheme is still the one by which the claim was read, so no other
            // pair occurs.)
            _ => (Err(Refused::Unknown), "Basic"),
        };
        let name = name.and_then(|name| String::from_utf8(name).map_err(|_| Refused::Unknown));
        Ok(name.map(|name| (name, scheme)))
    }

    /// Asks the program whether it knows the password.
    fn ask_password(
        &self,
        call: &mut Call<'_>,
        said: &adyton_auth::Credentials,
    ) -> Result<Result<String, Refused>, Outcome> {
        let Some(program) = &self.guard.programs.users else { return Err(Outcome::Failed) };
        // The client was asked for UTF-8; other bytes are not given to a program.
        let texts = (str::from_utf8(&said.user), str::from_utf8(&said.password));
        let known = match texts {
            (Ok(user), Ok(password)) => program.check_password(call, user, password)?,
            _ => None,
        };
        Ok(known.ok_or_else(|| {
            self.guard.note_failure(self.client, clock::monotonic_ms());
            Refused::Unknown
        }))
    }

    /// Asks the program for the hash of a digest's user; returns no passwords if the program knows no such user.
    fn ask_digest(&self, call: &mut Call<'_>) -> Result<DigestPasswords, Outcome> {
        let Some(program) = &self.guard.programs.users else { return Err(Outcome::Failed) };
        let user = call.request.all(Known::Authorization).next().and_then(digest_user);
        let Some(user) = user.and_then(|user| String::from_utf8(user).ok()) else {
            return Ok(DigestPasswords::default());
        };
        let realm = self.guard.realm.as_str();
        let hash = program.realm_hash(call, &user, realm)?;
        // A name that could not stand in a file of passwords is taken for unknown.
        let one = hash.and_then(|hash| DigestPasswords::of_one(&user, realm, &hash).ok());
        Ok(one.unwrap_or_default())
    }

    /// Returns the user whose digest it is.
    fn by_digest(&self, call: &Call<'_>, digests: &DigestPasswords) -> Result<Vec<u8>, Refused> {
        let mut first = Head::new();
        let proved = call.reply.request_as_sent(&mut first).unwrap_or(call.request);
        let Some(field) = proved.all(Known::Authorization).next() else { return Err(Refused::Unknown) };
        let now_ms = clock::monotonic_ms();
        let attempt =
            Attempt { request: proved, client: self.client, verdict: None, is_again: self.is_again };
        self.guard.name_by_digest(field, digests, attempt, now_ms)
    }

    /// Lets a user in, by the groups that a program knows, if the guard has such a program.
    fn admit(
        &self,
        call: &mut Call<'_>,
        name: &str,
        scheme: &'static str,
    ) -> Result<Result<Arc<User>, Refused>, Outcome> {
        let guard = &self.guard;
        let groups = if guard.asks_groups {
            let Some(program) = &guard.programs.groups else { return Err(Outcome::Failed) };
            let mut groups = Groups::default();
            for group in program.groups(call, name)? {
                groups.add_member(&group, name.as_bytes());
            }
            Arc::new(groups)
        } else {
            guard.files(clock::monotonic_ms()).1
        };
        Ok(guard.admit(name.as_bytes(), scheme, &groups))
    }
}

/// Makes the rule that says which users are let in.
fn rule(users: Vec<String>, groups: Vec<String>) -> Rule {
    if users.is_empty() && groups.is_empty() {
        return Rule::ValidUser;
    }
    let users = users.into_iter().map(|name| name.into_bytes().into()).collect();
    let groups = groups.into_iter().map(String::into_boxed_str).collect();
    Rule::Any(vec![Rule::User(users), Rule::Group(groups)])
}

const WHO: &str = "This page needs a user name and a password.";

const NOT_ALLOWED: &str = "This request is not let in.";

const WAIT: &str = "There were too many wrong passwords from this address.";
