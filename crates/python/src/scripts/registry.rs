//! Records which version of each script is loaded, and which scripts are being loaded; uses neither Python nor the
//! disk.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// State of all scripts: `V` is a loaded version, `F` a version that could not be loaded.
pub(super) struct Registry<V, F> {
    pages: Mutex<Pages<V, F>>,
    changed: Condvar,
}

/// States of scripts by their files.
type Pages<V, F> = HashMap<Box<[u8]>, Page<V, F>>;

/// State of one script.
pub(super) struct Page<V, F> {
    /// The loaded script that answers.
    pub(super) current: Option<Arc<V>>,
    /// The newer version that could not be loaded.
    pub(super) failed: Option<Arc<F>>,
    /// Whether a thread loads the script now.
    pub(super) is_loading: bool,
}

impl<V, F> Clone for Page<V, F> {
    fn clone(&self) -> Self {
        Page { current: self.current.clone(), failed: self.failed.clone(), is_loading: self.is_loading }
    }
}

impl<V, F> Default for Page<V, F> {
    fn default() -> Self {
        Page { current: None, failed: None, is_loading: false }
    }
}

impl<V, F> Default for Registry<V, F> {
    fn default() -> Self {
        Registry { pages: Mutex::default(), changed: Condvar::new() }
    }
}

/// The right to load a script. When it is dropped, another thread may load it.
pub(super) struct Turn<'b, V, F> {
    registry: &'b Registry<V, F>,
    file: Box<[u8]>,
}

impl<V, F> Registry<V, F> {
    fn pages(&self) -> MutexGuard<'_, Pages<V, F>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version that answers.
    pub(super) fn current(&self, file: &[u8]) -> Option<Arc<V>> {
        self.pages().get(file)?.current.clone()
    }

    /// The state of a script.
    pub(super) fn page(&self, file: &[u8]) -> Page<V, F> {
        self.pages().get(file).cloned().unwrap_or_default()
    }

    /// Takes the right to load a script; `None` while another thread has it.
    pub(super) fn begin(&self, file: &[u8]) -> Option<Turn<'_, V, F>> {
        let mut pages = self.pages();
        let page = pages.entry(file.into()).or_default();
        if std::mem::replace(&mut page.is_loading, true) {
            return None;
        }
        Some(Turn { registry: self, file: file.into() })
    }

    /// Waits until nobody loads the script, or until `patience` has passed.
    pub(super) fn wait(&self, file: &[u8], patience: Duration) {
        let is_loading = |pages: &mut Pages<V, F>| pages.get(file).is_some_and(|page| page.is_loading);
        let waited = self.changed.wait_timeout_while(self.pages(), patience, is_loading);
        drop(waited);
    }

    /// Forgets a script whose file is gone, unless it is being loaded; returns the version that answered.
    pub(super) fn forget(&self, file: &[u8]) -> Option<Arc<V>> {
        let mut pages = self.pages();
        if pages.get(file)?.is_loading {
            return None;
        }
        pages.remove(file)?.current
    }
}

impl<V, F> Turn<'_, V, F> {
    /// Installs the version that answers from now on. Returns the earlier state, which must not be dropped while a lock
    /// is held.
    pub(super) fn succeed(self, version: Arc<V>) -> Page<V, F> {
        let mut pages = self.registry.pages();
        let page = pages.entry(self.file.clone()).or_default();
        let now = Page { current: Some(version), failed: None, is_loading: true };
        std::mem::replace(page, now)
    }

    /// Records a failed version; the earlier version goes on answering.
    pub(super) fn fail(self, failure: F) {
        let mut pages = self.registry.pages();
        pages.entry(self.file.clone()).or_default().failed = Some(Arc::new(failure));
    }
}

impl<V, F> Drop for Turn<'_, V, F> {
    fn drop(&mut self) {
        if let Some(page) = self.registry.pages().get_mut(&self.file) {
            page.is_loading = false;
        }
        self.registry.changed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test ends at its first surprise")]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Registry;

    /// Only one thread may load a script at a time. The earlier version must answer until a newer version is loaded,
    /// also after a newer version has failed.
    #[test]
    fn versions() {
        let registry = Registry::<u8, u8>::default();
        let turn = registry.begin(b"a.py").expect("nobody loads it");
        assert!(registry.begin(b"a.py").is_none());
        assert!(registry.begin(b"b.py").is_some(), "another one is loaded meanwhile");
        assert_eq!(None, registry.current(b"a.py"));
        turn.succeed(Arc::new(1));
        assert_eq!(Some(1), registry.current(b"a.py").as_deref().copied());

        let turn = registry.begin(b"a.py").expect("it was loaded");
        assert_eq!(Some(1), registry.current(b"a.py").as_deref().copied());
        turn.fail(2);
        let page = registry.page(b"a.py");
        assert_eq!((Some(1), Some(2)), (page.current.as_deref().copied(), page.failed.as_deref().copied()));

        registry.begin(b"a.py").expect("it has failed").succeed(Arc::new(3));
        assert_eq!(None, registry.page(b"a.py").failed);
        assert_eq!(Some(3), registry.forget(b"a.py").as_deref().copied());
        assert_eq!(None, registry.current(b"a.py"));
    }

    /// Waiting threads must go on when the turn to load is over, however it has ended. A script that is being loaded
    /// must not be forgotten.
    #[test]
    fn waiting() {
        let registry = Registry::<u8, u8>::default();
        let turn = registry.begin(b"a.py").expect("nobody loads it");
        assert_eq!(None, registry.forget(b"a.py"));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                while registry.begin(b"a.py").is_none() {
                    registry.wait(b"a.py", Duration::from_secs(60));
                }
            });
            drop(turn);
            waiter.join().expect("it has waited");
        });
    }
}
