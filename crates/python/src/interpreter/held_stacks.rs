//! Stacks of all threads while no thread of the server can attach to the interpreter: faulthandler writes them at a
//! signal.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use adyton_sys::{signal_handlers, temp};
use pyo3::prelude::*;

/// The file that faulthandler writes to, and its signal.
static WRITER: OnceLock<Mutex<Writer>> = OnceLock::new();

struct Writer {
    file: File,
    signal: i32,
}

/// Prepares the writing of the stacks of this process. Only this preparation needs the interpreter; [`read`] does not.
///
/// # Errors
///
/// The process is out of descriptors, or the signal cannot be used.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    if WRITER.get().is_some() {
        return Ok(());
    }
    let file = temp::in_memory()?;
    let module = py.import("adyton._process.stacks")?;
    let signal = module.call_method1("write_stacks_at_signal", (file.as_raw_fd(),))?.extract()?;
    // Another server of this process may have been quicker: one writer is enough for both.
    let _ = WRITER.set(Mutex::new(Writer { file, signal }));
    Ok(())
}

/// The stacks, read without the interpreter; `None` if they cannot be read, or if the application has taken the signal
/// for itself.
pub(crate) fn read() -> Option<String> {
    let mut writer = WRITER.get()?.lock().unwrap_or_else(PoisonError::into_inner);
    let stacks = writer.read().ok()?;
    (!stacks.is_empty()).then(|| without_idle(&stacks))
}

impl Writer {
    fn read(&mut self) -> io::Result<String> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        // The signal goes to this thread alone: in another thread it could interrupt a system call.
        signal_handlers::raise(self.signal)?;
        self.file.rewind()?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The stacks that faulthandler has written, without two kinds of threads: idle threads, which are only counted, and
/// threads that ask for the stacks. The latter run no Python code, or, in free-threaded Python, wait for all other
/// threads to stop.
fn without_idle(stacks: &str) -> String {
    let innermost = |stack: &&str| stack.lines().nth(1).unwrap_or_default().to_owned();
    let asks = |stack: &&str| {
        let frame = innermost(stack);
        frame.contains("<no Python frame>")
            || frame.contains("/adyton/_process/stacks.py\"") && frame.ends_with(" in stacks")
    };
    let is_idle = |stack: &&str| {
        let frame = innermost(stack);
        let is_main = frame.contains("/adyton/__main__.py\"");
        is_main || frame.contains("threading.py\"") && frame.ends_with(" in run")
    };
    let (idle, busy): (Vec<&str>, Vec<&str>) =
        stacks.trim_end().split("\n\n").filter(|stack| !asks(stack)).partition(is_idle);
    format!("{}\n\nThreads of the server that idle: {}\n", busy.join("\n\n"), idle.len())
}

#[cfg(test)]
mod tests {
    use super::without_idle;

    /// Threads that do nothing are only counted.
    #[test]
    fn idle() {
        let idle = "Thread 0x1 (most recent call first):\n  File \"/lib/threading.py\", line 982 in run\n  \
                    File \"/lib/threading.py\", line 1045 in _bootstrap_inner\n\n";
        let asks = "Current thread 0x2 (most recent call first):\n  <no Python frame>\n\n\
                    Thread 0x4 (most recent call first):\n  File \"/lib/adyton/_process/stacks.py\", line 9 in stacks\n\n";
        let busy = "Thread 0x3 (most recent call first):\n  File \"app.py\", line 1 in run\n  \
                    File \"/lib/threading.py\", line 982 in run";

        assert_eq!(
            format!("{busy}\n\nThreads of the server that idle: 2\n"),
            without_idle(&format!("{asks}{idle}{busy}\n\n{idle}"))
        );
    }
}
