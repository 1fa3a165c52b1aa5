//! Guards and limiters, which check and count the requests of clients before a route answers them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_cli::{Auth, Fault, SaidAt, Settings};
use adyton_log::{self as log, messages};
use adyton_server::{Authorities, Authority, Guard, GuardError, GuardRules, Limiter, RateLimit, Scheme};

use super::authorities::{Named, Wanted, authorities};
use super::failure::Failure;

/// The guards and limiters of all routes; routes with equal rules share one.
pub(super) struct Guards {
    /// Functions that the guards may ask; empty where nothing asks them.
    functions: Vec<(Wanted, Arc<dyn Authority>)>,
    opened: Vec<Opened>,
    /// Limiters of the present site.
    pub(super) limiters: Vec<Arc<Limiter>>,
}

/// A guard, and the first place in the settings that asks for it.
struct Opened {
    rules: GuardRules,
    guard: Arc<Guard>,
    at: SaidAt,
}

impl Guards {
    /// Makes an empty collection, whose guards ask these functions.
    pub(super) fn asking(functions: Vec<(Wanted, Arc<dyn Authority>)>) -> Guards {
        Guards { functions, opened: Vec::new(), limiters: Vec::new() }
    }

    /// The guard of these settings.
    pub(super) fn of(&mut self, settings: &Settings) -> Result<Option<Arc<Guard>>, Failure> {
        self.open(settings).map_err(Failure::of)
    }

    /// The guard of these settings, like [`Guards::of`], or all faults.
    pub(super) fn open(&mut self, settings: &Settings) -> Result<Option<Arc<Guard>>, Vec<Fault>> {
        if settings.access.auth.is_none() && settings.access.allow_python.is_none() {
            return Ok(None);
        }
        if settings.access.allow_python.is_some() && settings.access.auth_satisfy_any {
            let why = "with auth-satisfy = any an address would suffice, and the function would not be asked";
            let at = settings.said_at("allow-python");
            return Err(vec![Fault { at, what: format!("allow-python: {why}") }]);
        }
        let rules = rules(settings);
        if let Some(opened) = self.opened.iter().find(|opened| opened.rules == rules) {
            return Ok(Some(Arc::clone(&opened.guard)));
        }
        let guard = Guard::open(rules.clone(), authorities(settings, &self.functions))
            .map_err(|error| faults(settings, &rules, &error))?;
        let guard = Arc::new(guard);
        let at = settings.said_at("auth");
        self.opened.push(Opened { rules, guard: Arc::clone(&guard), at });
        Ok(Some(guard))
    }

    /// The limiter of these settings, if they have one.
    pub(super) fn limiter(&mut self, settings: &Settings) -> Option<Arc<Limiter>> {
        let limit = RateLimit { interval_us: settings.access.rate_limit?, burst: settings.access.rate_burst };
        if let Some(limiter) = self.limiters.iter().find(|other| other.limit() == limit) {
            return Some(Arc::clone(limiter));
        }
        let limiter = Arc::new(Limiter::new(limit));
        self.limiters.push(Arc::clone(&limiter));
        Some(limiter)
    }

    /// Warns of passwords that can be guessed quickly, and of users who can never be admitted.
    pub(super) fn tell_doubts(&self) {
        for Opened { rules, guard, at } in &self.opened {
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
        let groups = Guard::open(alone, Authorities::default());
        all.extend(groups.err().into_iter().flat_map(|error| faults(settings, rules, &error)));
    }
    all
}
