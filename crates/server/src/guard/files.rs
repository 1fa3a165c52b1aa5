//! The files of passwords and groups: read at the start, and again when they have changed.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_auth::{DigestPasswords, Groups, Passwords, RealmError, Wrong};
use adyton_log::{self as log, messages};

use super::Scheme;

/// Shortest time between two looks at the files, while requests ask for them.
const LOOK_EVERY_MS: u64 = 1_000;

/// Largest file of passwords, in bytes: some hundred thousand users.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// Reason why a guard cannot be opened.
#[derive(Debug)]
pub enum GuardError {
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// A file has mistakes.
    Wrong(PathBuf, Vec<Wrong>),
    /// The realm is not valid.
    Realm(RealmError),
    /// The kernel gives no random bytes for a secret.
    Secret(io::Error),
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuardError::Read(file, error) => write!(f, "{} cannot be read: {error}", file.display()),
            GuardError::Wrong(file, mistakes) => {
                for (number, Wrong { line, what }) in mistakes.iter().enumerate() {
                    let between = if number == 0 { "" } else { "; " };
                    write!(f, "{between}{}:{line}: {what}", file.display())?;
                }
                Ok(())
            }
            GuardError::Realm(error) => write!(f, "{error}"),
            GuardError::Secret(error) => write!(f, "the kernel gives no random bytes: {error}"),
        }
    }
}

impl std::error::Error for GuardError {}

/// The secrets that passwords are compared with.
#[derive(Clone)]
pub(super) enum Secrets {
    Basic(Arc<Passwords>),
    Digest(Arc<DigestPasswords>),
    /// No secrets here: a program says whether passwords are right.
    BasicProgram,
    /// No secrets here: a program knows digests of passwords.
    DigestProgram,
    /// No secrets: no passwords are asked for.
    Nothing,
}

/// Version of a file: device, inode, size, and the last change of its inode, in s and ns.
type Stamp = (u64, u64, u64, i64, i64);

/// The files of a guard.
pub(super) struct GuardFiles {
    scheme: Scheme,
    group_file: Option<PathBuf>,
    stamps: Vec<Option<Stamp>>,
    looked_ms: u64,
    pub(super) secrets: Secrets,
    pub(super) groups: Arc<Groups>,
}

impl GuardFiles {
    /// Reads the files.
    pub(super) fn open(
        scheme: Scheme,
        group_file: Option<PathBuf>,
        now_ms: u64,
    ) -> Result<GuardFiles, GuardError> {
        let stamps = stamps(&scheme, group_file.as_deref());
        let secrets = read_secrets(&scheme)?;
        let groups = read_groups(group_file.as_deref())?;
        Ok(GuardFiles { scheme, group_file, stamps, looked_ms: now_ms, secrets, groups })
    }

    /// Reads the files again if they have changed. Returns whether there are new secrets and groups: if a file has
    /// mistakes, the former ones stay.
    pub(super) fn refresh(&mut self, now_ms: u64) -> bool {
        if now_ms.saturating_sub(self.looked_ms) < LOOK_EVERY_MS {
            return false;
        }
        self.looked_ms = now_ms;
        let stamps = stamps(&self.scheme, self.group_file.as_deref());
        if stamps == self.stamps {
            return false;
        }
        self.stamps = stamps;
        let read = read_secrets(&self.scheme)
            .and_then(|secrets| Ok((secrets, read_groups(self.group_file.as_deref())?)));
        match read {
            Ok((secrets, groups)) => {
                (self.secrets, self.groups) = (secrets, groups);
                true
            }
            Err(error) => {
                let text = format_args!("the passwords from before the last change stay in force: {error}");
                log::write(&messages::PASSWORDS, text);
                false
            }
        }
    }
}

fn stamps(scheme: &Scheme, group_file: Option<&Path>) -> Vec<Option<Stamp>> {
    let stamp = |file: &Path| {
        let found = fs::metadata(file).ok()?;
        Some((found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec()))
    };
    [scheme.file(), group_file].into_iter().flatten().map(stamp).collect()
}

fn read_secrets(scheme: &Scheme) -> Result<Secrets, GuardError> {
    let wrong = |file: &Path| {
        let file = file.to_owned();
        move |mistakes| GuardError::Wrong(file, mistakes)
    };
    Ok(match scheme {
        Scheme::Basic(file) => Secrets::Basic(Arc::new(Passwords::read(&read(file)?).map_err(wrong(file))?)),
        Scheme::Digest(file) => {
            Secrets::Digest(Arc::new(DigestPasswords::read(&read(file)?).map_err(wrong(file))?))
        }
        Scheme::BasicProgram(_) => Secrets::BasicProgram,
        Scheme::DigestProgram(_) => Secrets::DigestProgram,
        Scheme::Anyone => Secrets::Nothing,
    })
}

fn read_groups(file: Option<&Path>) -> Result<Arc<Groups>, GuardError> {
    let Some(file) = file else { return Ok(Arc::default()) };
    let groups =
        Groups::read(&read(file)?).map_err(|mistakes| GuardError::Wrong(file.to_owned(), mistakes))?;
    Ok(Arc::new(groups))
}

fn read(file: &Path) -> Result<String, GuardError> {
    let refused = |error| GuardError::Read(file.to_owned(), error);
    let meta = fs::metadata(file).map_err(refused)?;
    if !meta.is_file() {
        // Reading a FIFO would wait until another program writes.
        return Err(refused(io::Error::other("it is no regular file")));
    }
    let size = meta.len();
    if size > FILE_BYTES_MAX {
        return Err(refused(io::Error::other(format!("it is larger than {FILE_BYTES_MAX} bytes"))));
    }
    fs::read_to_string(file).map_err(refused)
}
