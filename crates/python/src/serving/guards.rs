//! Guards and limiters, which check and count the requests of clients before a route answers them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_cli::{Auth, Fault, SaidAt, Settings};
use adyton_log::{self as log, messages};
use adyton_server::{Guard, GuardError, GuardRules, Limiter, RateLimit, Scheme};

use super::authorities::{Functions, Named};

/// The guards of all routes; routes with equal rules share one.
#[derive(Default)]
pub(super) struct Guards {
    opened: Vec<Opened>,
}

/// A guard, by its place among [`Guards`].
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardNumber(pub(super) usize);

/// A guard, and the first settings that ask for it.
struct Opened {
    rules: GuardRules,
    guard: Guard,
    /// The functions that the guard asks.
    functions: Named,
    at: SaidAt,
}

impl Guards {
    /// Opens the guard of these settings, unless it is open already. `None`: the settings have no guard.
    ///
    /// # Errors
    ///
    /// All faults of the guard's settings and files.
    pub(super) fn open(&mut self, settings: &Settings) -> Result<Option<GuardNumber>, Vec<Fault>> {
        if settings.access.auth.is_none() && settings.access.allow_python.is_none() {
            return Ok(None);
        }
        if settings.access.allow_python.is_some() && settings.access.auth_satisfy_any {
            let why = "with auth-satisfy = any an address would suffice, and the function would not be asked";
            let at = settings.said_at("allow-python");
            return Err(vec![Fault { at, what: format!("allow-python: {why}") }]);
        }
        let rules = rules(settings);
        if let Some(number) = self.opened.iter().position(|opened| opened.rules == rules) {
            return Ok(Some(GuardNumber(number)));
        }
        let guard = Guard::open(rules.clone()).map_err(|error| faults(settings, &rules, &error))?;
        let (functions, at) = (Named::of(settings), settings.said_at("auth"));
        self.opened.push(Opened { rules, guard, functions, at });
        Ok(Some(GuardNumber(self.opened.len() - 1)))
    }

    /// Returns the guards by their numbers; they ask these functions, which are loaded.
    pub(super) fn asking(self, functions: &Functions) -> Vec<Arc<Guard>> {
        let all = self.opened.into_iter();
        all.map(|opened| Arc::new(opened.guard.asking(opened.functions.among(functions)))).collect()
    }

    /// Warns of passwords that can be guessed quickly, and of users who can never be admitted.
    pub(super) fn tell_doubts(&self) {
        for Opened { rules, guard, at, .. } in &self.opened {
            for sentence in guard.shut_out(rules) {
                log::write(&messages::SHUT_OUT, format_args!("{at}auth: {sentence}"));
            }
            let Some(file) = rules.scheme.file() else { continue };
            for (line, user) in guard.weak() {
                let place = file.display();
                log::write(
                    &messages::WEAK_PASSWORD,
                    format_args!(
                        "{place}:{line}: the password of {user:?} is hashed with SHA-1, without salt"
                    ),
                );
            }
        }
    }
}

/// The limiters of a site; routes with equal limits share one.
#[derive(Default)]
pub(super) struct Limiters(Vec<Arc<Limiter>>);

impl Limiters {
    /// The limiter of these settings, if they have one.
    pub(super) fn of(&mut self, settings: &Settings) -> Option<Arc<Limiter>> {
        let limit = RateLimit { interval_us: settings.access.rate_limit?, burst: settings.access.rate_burst };
        if let Some(limiter) = self.0.iter().find(|other| other.limit() == limit) {
            return Some(Arc::clone(limiter));
        }
        let limiter = Arc::new(Limiter::new(limit));
        self.0.push(Arc::clone(&limiter));
        Some(limiter)
    }
}

/// The rules of these settings' guard.
fn rules(settings: &Settings) -> GuardRules {
    let place = |path: &PathBuf| settings.place(path);
    let Named { groups: group_program, access, .. } = Named::of(settings);
    GuardRules {
        scheme: match &settings.access.auth {
            Some(Auth::Basic(file)) => Scheme::Basic(place(file)),
            Some(Auth::Digest(file)) => Scheme::Digest(place(file)),
            Some(Auth::BasicPython(text)) => Scheme::BasicProgram(text.clone()),
            Some(Auth::DigestPython(text)) => Scheme::DigestProgram(text.clone()),
            None => Scheme::Anyone,
        },
        realm: settings.access.auth_realm.clone(),
        users: settings.access.auth_users.clone(),
        groups: settings.access.auth_groups.clone(),
        group_file: settings.access.auth_group_file.as_ref().map(place),
        group_program: group_program.map(|wanted| wanted.text),
        access_program: access.map(|wanted| wanted.text),
        remember_ms: settings.access.auth_remember_ms,
    }
}

/// All faults of a guard's files: a fault for each wrong line, at the setting that names the file.
fn faults(settings: &Settings, rules: &GuardRules, error: &GuardError) -> Vec<Fault> {
    let named =
        |file: &Path| if rules.group_file.as_deref() == Some(file) { "auth-group-file" } else { "auth" };
    let fault =
        |name: &str, what: String| Fault { at: settings.said_at(name), what: format!("auth: {what}") };
    let mut all = match error {
        GuardError::Wrong(file, mistakes) => mistakes
            .iter()
            .map(|one| fault(named(file), format!("{}:{}: {}", file.display(), one.line, one.what)))
            .collect(),
        GuardError::Read(file, _) => vec![fault(named(file), error.to_string())],
        GuardError::Realm(_) => vec![fault("auth-realm", error.to_string())],
        GuardError::Secret(_) => vec![fault("auth", error.to_string())],
    };
    let is_of_passwords =
        matches!(error, GuardError::Wrong(file, _) | GuardError::Read(file, _) if named(file) == "auth");
    if is_of_passwords && rules.group_file.is_some() {
        // The error came before the file of groups was read.
        let alone = GuardRules { scheme: Scheme::Anyone, ..rules.clone() };
        let groups = Guard::open(alone);
        all.extend(groups.err().into_iter().flat_map(|error| faults(settings, rules, &error)));
    }
    all
}
