//! The stack of a thread in free-threaded Python: no lock stops the thread, so the thread itself has to write its
//! stack.
//!
//! In free-threaded Python, no thread may look at the frames of another thread (Python's HOWTO for free threading,
//! "Frame objects"). Therefore the thread gets a signal, at which faulthandler's C code writes the thread's stack.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use adyton_sys::temp;
use adyton_sys::thread_signal::ThreadSignal;
use pyo3::prelude::*;

/// Time that a thread may take to write its stack: it may have no CPU for a while.
const PATIENCE: Duration = Duration::from_secs(2);

static ASKER: OnceLock<Mutex<Asker>> = OnceLock::new();

struct Asker {
    file: File,
    signal_to: ThreadSignal,
}

/// Prepares threads to write their own stacks, if the interpreter has no lock that stops the other threads.
///
/// # Errors
///
/// The process is out of descriptors, or the signal cannot be used.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    if ASKER.get().is_some() || crate::interpreter::thread_state::has_lock(py)? {
        return Ok(());
    }
    let file = temp::in_memory()?;
    let module = py.import("adyton._process.stacks")?;
    let signal = module.call_method1("write_stack_at_signal", (file.as_raw_fd(),))?.extract()?;
    let signal_to = ThreadSignal::over(signal)?;
    // The check above and this call do not race: two servers of a process begin one after the other, on its main
    // thread.
    let _ = ASKER.set(Mutex::new(Asker { file, signal_to }));
    Ok(())
}

/// A place in code: file, line, function.
pub(crate) type CodePlace = (String, i32, String);

/// Whether threads have to be asked, because their frames cannot be read by another thread.
pub(crate) fn is_needed() -> bool {
    ASKER.get().is_some()
}

/// The stack of a thread, the outermost call first. The caller is detached, because this waits.
///
/// # Errors
///
/// The thread takes too long to answer, or nothing is prepared.
///
/// # Safety
///
/// `thread` is a `pthread_t` of this process, and this thread does not end during the call.
pub(crate) unsafe fn ask(thread: u64) -> io::Result<Vec<CodePlace>> {
    let asker = ASKER.get().ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: as this function demands.
    unsafe { asker.lock().unwrap_or_else(PoisonError::into_inner).ask(thread) }
}

impl Asker {
    /// # Safety
    ///
    /// As [`ask`].
    unsafe fn ask(&mut self, thread: u64) -> io::Result<Vec<CodePlace>> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        // SAFETY: as this function demands.
        if !unsafe { self.signal_to.send(thread, PATIENCE)? } {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the thread takes no signal"));
        }
        self.file.rewind()?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(places(&String::from_utf8_lossy(&bytes)))
    }
}

/// Reads the stack that faulthandler has written, which begins with the innermost call.
fn places(text: &str) -> Vec<CodePlace> {
    let place = |line: &str| {
        let (file, rest) = line.strip_prefix("  File \"")?.rsplit_once("\", line ")?;
        let (line, name) = rest.split_once(" in ")?;
        Some((file.to_owned(), line.parse().ok()?, name.to_owned()))
    };
    let mut places: Vec<CodePlace> = text.lines().filter_map(place).collect();
    places.reverse();
    places
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn outermost_first() {
        let text = "Stack (most recent call first):\n  File \"/a \", line 1.py\", line 7 in <lambda>\n  File \"b.py\", line 3 in f\n";
        let expected = [("b.py", 3, "f"), ("/a \", line 1.py", 7, "<lambda>")]
            .map(|(file, line, name)| (file.into(), line, name.into()));

        assert_eq!(expected.to_vec(), places(text));
        assert!(places("").is_empty());
    }
}
