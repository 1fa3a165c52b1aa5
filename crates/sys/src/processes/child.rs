//! Child processes: started with chosen descriptors, ended by signals, and reaped.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use crate::files::temp;
use crate::processes::user::{Identity, Taker};

/// A program to start from a folder, with its first arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// The first arguments, without the program's own name.
    pub arguments: Vec<OsString>,
    /// The folder to start it in.
    pub folder: PathBuf,
}

/// The way in which a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The process ended itself, with this status.
    Status(i32),
    /// The signal with this number ended the process.
    Signal(i32),
}

impl Program {
    /// Starts the program. It inherits only the standard streams and `kept`, under the descriptor numbers of this
    /// process.
    ///
    /// # Errors
    ///
    /// The program cannot be run (the error names a missing file), or no further process may be started.
    pub fn spawn(&self, arguments: &[OsString], kept: &[BorrowedFd<'_>]) -> io::Result<u32> {
        self.spawn_as(None, &[], arguments, kept)
    }

    /// Starts the program like [`Self::spawn`], as `identity` with no way back to the present user, and without the
    /// environment variables named in `without`.
    ///
    /// # Errors
    ///
    /// Errors of [`Self::spawn`], or this process may not become the user.
    pub fn spawn_as(
        &self,
        identity: Option<&Identity>,
        without: &[&str],
        arguments: &[OsString],
        kept: &[BorrowedFd<'_>],
    ) -> io::Result<u32> {
        let mut become_user = identity.map(Identity::taker).transpose()?;
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).args(arguments).current_dir(&self.folder);
        for variable in without {
            command.env_remove(variable);
        }
        let kept: Vec<RawFd> = kept.iter().map(AsRawFd::as_raw_fd).collect();
        let prepare = move || {
            unblock_terminate()?;
            become_user.as_mut().map_or(Ok(()), Taker::take_over)?;
            kept.iter().try_for_each(|&fd| set_flags(fd, 0))
        };
        // SAFETY: between fork and exec only `fcntl`, `sigprocmask` and the calls that change users are made, all of
        // which are async-signal-safe; nothing is allocated.
        unsafe { command.pre_exec(prepare) };
        // The `Child` has nothing to drop: the caller waits for the process by its number.
        command.spawn().map(|child| child.id()).map_err(|error| self.explain(&error))
    }

    /// Names the missing file in the error, if a file is missing: the kernel's error does not say which.
    fn explain(&self, error: &io::Error) -> io::Error {
        let (path, folder) = (self.path.display(), self.folder.display());
        let why = match () {
            () if !self.folder.is_dir() => format!("the folder {folder} is gone"),
            () if !self.path.exists() => format!("the program {path} is gone"),
            () => format!("{path} in {folder}: {error}"),
        };
        io::Error::new(error.kind(), why)
    }

    /// Replaces this process by the program. The process number, children, blocked signals and `kept` descriptors stay.
    ///
    /// # Errors
    ///
    /// Always, if it returns: the program cannot be run.
    pub fn replace_this(&self, arguments: &[OsString], kept: &[BorrowedFd<'_>]) -> io::Error {
        self.replace(arguments, kept).err().unwrap_or_else(io::Error::last_os_error)
    }

    /// Does the work of [`Self::replace_this`] by execv(3), because `std` would unblock the signals: a signal that
    /// comes before the new program has a handler for it would then end the process.
    fn replace(&self, arguments: &[OsString], kept: &[BorrowedFd<'_>]) -> io::Result<()> {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput);
        let path = text(self.path.as_os_str())?;
        let words: Result<Vec<CString>, _> =
            self.arguments.iter().chain(arguments).map(|word| text(word)).collect();
        let mut words = words?;
        words.insert(0, path.clone());
        let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let before = std::env::current_dir()?;
        std::env::set_current_dir(&self.folder)?;
        let kept_all = kept.iter().try_for_each(|fd| set_flags(fd.as_raw_fd(), 0));
        let error = kept_all.err().unwrap_or_else(|| {
            // SAFETY: strings that end in NUL, and a list of them that ends in a null pointer; all live during the
            // call.
            unsafe { libc::execv(path.as_ptr(), pointers.as_ptr()) };
            io::Error::last_os_error()
        });
        // The exec has failed: programs that this process starts later must not inherit the descriptors.
        kept.iter().try_for_each(|fd| set_flags(fd.as_raw_fd(), libc::FD_CLOEXEC))?;
        std::env::set_current_dir(before)?;
        Err(error)
    }
}

/// Unblocks SIGTERM and SIGCHLD in this process, which may have inherited a mask that blocks them. The other signals
/// that a supervisor obeys stay blocked until the program has handlers for them (`signal_handlers::let_pass`), because
/// a terminal may send such a signal to all processes that it controls.
fn unblock_terminate() -> io::Result<()> {
    // SAFETY: an all-zero `sigset_t` may be given to `sigemptyset`, which makes it a set.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a whole `sigset_t`.
    unsafe { libc::sigemptyset(&raw mut set) };
    for number in [libc::SIGTERM, libc::SIGCHLD] {
        // SAFETY: as above, and the number is a signal's.
        unsafe { libc::sigaddset(&raw mut set, number) };
    }
    // SAFETY: `set` is only read, and no place for the former mask is given.
    if unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Sets the flags of a descriptor: `FD_CLOEXEC` closes it at `exec`, 0 keeps it open.
fn set_flags(fd: RawFd, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: asks the kernel to change a flag of a descriptor that the caller borrows.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, flags) } == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Reaps a child that has ended, if there is one. Process 1 also gets children that it has not started, so any child is
/// reaped.
pub fn reap() -> Option<(u32, Exit)> {
    let (pid, status) = wait(WaitOptions::NOHANG).ok()??;
    let exit = match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => Exit::Status(status),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => return None,
    };
    u32::try_from(pid.as_raw_nonzero().get()).ok().map(|pid| (pid, exit))
}

/// Makes this process the parent of descendants whose own parent has ended (`PR_SET_CHILD_SUBREAPER`, prctl(2)).
///
/// # Errors
///
/// None on any kernel since 3.4.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Has the kernel end this process with SIGKILL when its parent ends (`PR_SET_PDEATHSIG`, prctl(2)). Children of this
/// process do not inherit the setting.
///
/// # Errors
///
/// The kernel documents no error for an existing signal.
pub fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Makes this process outlive its parent, even if [`end_with_parent`] was called before.
///
/// # Errors
///
/// Errors of [`end_with_parent`].
pub fn outlive_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(None)?)
}

/// A signal to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// SIGTERM: finish your work, then end.
    Terminate,
    /// SIGABRT: report where the code is, and end.
    Abort,
    /// SIGCONT: run, if you were stopped.
    Continue,
    /// SIGKILL.
    Kill,
}

/// Sends a signal to a child that was not reaped yet: until then no other process can get its number.
pub fn kick(pid: u32, kick: Kick) {
    let signal = match kick {
        Kick::Terminate => Signal::TERM,
        Kick::Abort => Signal::ABORT,
        Kick::Continue => Signal::CONT,
        Kick::Kill => Signal::KILL,
    };
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The child may have ended a moment ago, which is fine.
        let _ = kill_process(pid, signal);
    }
}

/// The name of a signal, such as `SIGSEGV`.
pub fn signal_name(number: i32) -> String {
    let names = [
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGSYS, "SIGSYS"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
    ];
    let known = names.iter().find(|(other, _)| *other == number);
    known.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

/// Takes over a descriptor that the parent process left open under this number. Children of this process do not inherit
/// it.
///
/// # Errors
///
/// No descriptor has this number.
pub fn inherit(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only changes a flag; for a number that is no open descriptor the answer is EBADF.
    if number < 0 || unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no such descriptor is open"));
    }
    // SAFETY: the descriptor is open, as just seen, and the program that started this one gives it to us by its number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Takes over several descriptors like [`inherit`].
///
/// # Errors
///
/// A descriptor is missing.
pub fn inherit_all(numbers: &[RawFd]) -> io::Result<Vec<OwnedFd>> {
    numbers.iter().map(|&number| inherit(number)).collect()
}

/// Makes a nameless file in memory that holds `bytes`: a message to the program that replaces this one.
///
/// # Errors
///
/// The process is out of memory or descriptors.
pub fn note(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = temp::in_memory()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};

    use super::Program;

    /// A failed exec changes nothing: children still do not inherit the descriptors that were to be kept.
    #[test]
    fn not_replaced() -> io::Result<()> {
        let (file, folder) = (std::fs::File::open("/dev/null")?, std::env::current_dir()?);
        let nowhere = Program { path: "/nowhere/at/all".into(), arguments: Vec::new(), folder: "/".into() };

        assert_eq!(io::ErrorKind::NotFound, nowhere.replace_this(&[], &[file.as_fd()]).kind());
        assert_eq!(folder, std::env::current_dir()?);

        let flags = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()))?;
        let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default();

        // The flags are octal; here `O_CLOEXEC` shows the descriptor's own flag.
        assert!(u32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & 0o2_000_000 != 0), "{flags}");
        Ok(())
    }
}
