//! Tells which version of a file was read, and whether the file still is that version.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use adyton_files::scripts::{Scripts, Stamp};

/// Two changes within one tick of a file system's clock look alike. Some clocks tick once in two seconds (FAT).
const TICK: Duration = Duration::from_secs(2);

/// A version of a file.
pub(super) struct Edition {
    stamp: Stamp,
    digest: u64,
    read: Instant,
    /// Whether every later change gives the file another stamp, so that the stamp alone identifies this version.
    is_settled: AtomicBool,
}

impl Edition {
    /// The version with this source, which was read just now.
    pub(super) fn of(source: &[u8], stamp: Stamp) -> Edition {
        let age = SystemTime::now().duration_since(stamp.modified());
        let is_settled = age.is_ok_and(|age| age > TICK).into();
        Edition { stamp, digest: digest(source), read: Instant::now(), is_settled }
    }

    /// Whether the file is still this version, given its present stamp. Soon after a file was written, only reading it
    /// again can tell.
    pub(super) fn is_in(&self, files: &Scripts, file: &[u8], stamp: Stamp) -> bool {
        if self.stamp != stamp {
            return false;
        }
        if self.is_settled.load(Ordering::Relaxed) {
            return true;
        }
        let is_old = self.read.elapsed() > TICK;
        match files.read(file) {
            Ok((source, now)) => {
                let is_same = now == stamp && digest(&source) == self.digest;
                self.is_settled.fetch_or(is_same && is_old, Ordering::Relaxed);
                is_same
            }
            // The next check decides.
            Err(_) => true,
        }
    }
}

fn digest(source: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    hasher.finish()
}
