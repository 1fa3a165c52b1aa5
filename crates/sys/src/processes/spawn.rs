//! Starts programs from a small process: each program has its own group and folder, and a descriptor reports its end.
//!
//! [`Start::run`] does what `posix_spawn(3)` does, and also sets limits. The child shares the memory of its parent
//! until it executes the program (`CLONE_VM`, clone(2)). Therefore nothing is copied, and if the program cannot be
//! executed, the parent knows the reason when `run` returns.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};

use crate::processes::child::{Exit, Kick};

/// The stack of a child until it executes its program: enough for a few system calls.
const STACK_BYTES: usize = 64 << 10;

/// Number of descriptors that a program may open. Old programs try each number up to this limit when they start other
/// programs, and select(2) cannot handle larger numbers. The server has raised its own limit above this one.
const DESCRIPTORS_MAX: u64 = 1024;

/// A program to start.
pub struct Start<'s> {
    /// The program.
    pub path: &'s CStr,
    /// Whether the last component of its path may be a link.
    pub may_be_link: bool,
    /// The arguments, of which the first is the program's own name.
    pub arguments: &'s [CString],
    /// The whole environment, each variable as `NAME=value`.
    pub environment: &'s [CString],
    /// The folder in which the program starts.
    pub folder: &'s CStr,
    /// Standard input, output and error of the program; none of them may be a standard stream of this process.
    pub streams: [BorrowedFd<'s>; 3],
    /// The most memory of each of the program's processes (`RLIMIT_AS`, setrlimit(2)); 0 is no limit.
    pub memory_bytes_max: u64,
    /// The most processes and threads of its user: from this number on, the program starts no more (`RLIMIT_NPROC`,
    /// setrlimit(2)); 0 is no limit.
    pub user_processes_max: u64,
    /// The cell that holds the number of the program until its group has been ended. If this process dies first,
    /// another process ends the group by this number.
    pub listed: &'s AtomicU64,
}

/// A program that was started as the first process of a group.
#[derive(Debug)]
pub struct Group {
    pid: Pid,
    /// A descriptor that becomes readable when the program has ended.
    first: OwnedFd,
}

/// Data that a child needs between clone(2) and execve(2).
struct Errand {
    path: *const c_char,
    may_be_link: bool,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    folder: *const c_char,
    streams: [RawFd; 3],
    memory_bytes_max: u64,
    user_processes_max: u64,
    listed: *const AtomicU64,
    /// The number of the parent process.
    parent: libc::pid_t,
    /// The reason why the program does not run, as a number of errno(3).
    failed: c_int,
}

impl Start<'_> {
    /// Starts the program. The three streams are its only descriptors, no signal is blocked, and the program ends with
    /// its parent.
    ///
    /// # Errors
    ///
    /// Errors of execveat(2), chdir(2) and clone(2), including `ELOOP` for a link if links are not allowed;
    /// `InvalidInput` if a stream has a number below 3.
    pub fn run(&self) -> io::Result<Group> {
        let streams = self.streams.map(|stream| stream.as_raw_fd());
        if streams.iter().any(|&number| number < 3) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (arguments, environment) = (pointers(self.arguments), pointers(self.environment));
        let mut errand = Errand {
            path: self.path.as_ptr(),
            may_be_link: self.may_be_link,
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            folder: self.folder.as_ptr(),
            streams,
            memory_bytes_max: self.memory_bytes_max,
            user_processes_max: self.user_processes_max,
            listed: self.listed,
            parent: rustix::process::getpid().as_raw_nonzero().get(),
            failed: 0,
        };
        let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack is the child's alone, and aligned; it grows down from its end. With `CLONE_VFORK` this
        // thread waits until the child has executed the program or has ended, and everything that `errand` points to
        // lives until then.
        let pid = unsafe {
            let top = stack.as_mut_ptr_range().end;
            libc::clone(child, top.cast(), flags, (&raw mut errand).cast())
        };
        if pid == -1 {
            return Err(io::Error::last_os_error());
        }
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?;
        // SAFETY: the child wrote `failed` before it ended, and this thread waited for the child.
        let failed = unsafe { ptr::read_volatile(&raw const errand.failed) };
        if failed != 0 {
            // The child has ended; after the wait below, its number may belong to another process.
            self.listed.store(0, Ordering::SeqCst);
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
            return Err(io::Error::from_raw_os_error(failed));
        }
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(first) => Ok(Group { pid, first }),
            Err(error) => {
                // Without a descriptor nothing would tell when the program ends.
                let _ = kill_process_group(pid, Signal::KILL);
                self.listed.store(0, Ordering::SeqCst);
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
                Err(error.into())
            }
        }
    }
}

fn pointers(all: &[CString]) -> Vec<*const c_char> {
    all.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Becomes the program. Everything here must be a system call, because the memory belongs to the parent.
extern "C" fn child(errand: *mut c_void) -> c_int {
    let errand = errand.cast::<Errand>();
    // SAFETY: the parent waits and has lent `errand`. It points to strings and lists in the form that execve(2) wants,
    // and its descriptors have numbers above 2.
    unsafe {
        prepare(&*errand);
        if libc::chdir((*errand).folder) == 0 {
            execute(&*errand);
        }
        ptr::write_volatile(&raw mut (*errand).failed, *libc::__errno_location());
        libc::_exit(127)
    }
}

/// Executes the program; returns only if that fails.
///
/// # Safety
///
/// * `errand` points to strings and lists in the form that execve(2) wants.
unsafe fn execute(errand: &Errand) {
    let Errand { path, arguments, environment, .. } = *errand;
    // SAFETY: the caller promises the form of these strings and lists.
    unsafe {
        if !errand.may_be_link {
            libc::syscall(
                libc::SYS_execveat,
                libc::AT_FDCWD,
                path,
                arguments,
                environment,
                libc::AT_SYMLINK_NOFOLLOW,
            );
            if *libc::__errno_location() != libc::ENOSYS {
                return;
            }
        }
        libc::execve(path, arguments, environment);
    }
}

/// Makes the system calls that cannot fail or whose failure does no harm.
///
/// # Safety
///
/// * This is a child that shares its parent's memory, and the parent waits.
unsafe fn prepare(errand: &Errand) {
    // SAFETY: each call changes this process alone, and its pointers point to this stack.
    unsafe {
        libc::setpgid(0, 0);
        if let Some(listed) = errand.listed.as_ref() {
            listed.store(u64::try_from(libc::getpid()).unwrap_or(0), Ordering::SeqCst);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != errand.parent {
            // The parent had ended before the kernel was told to end this process with it.
            libc::_exit(127);
        }
        for (number, stream) in (0..).zip(errand.streams) {
            libc::dup2(stream, number);
        }
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
        let limits = [
            (libc::RLIMIT_AS, errand.memory_bytes_max),
            (libc::RLIMIT_NPROC, errand.user_processes_max),
            (libc::RLIMIT_NOFILE, DESCRIPTORS_MAX),
        ];
        for (kind, most) in limits {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            if most > 0 && libc::getrlimit(kind, &raw mut limit) == 0 {
                limit.rlim_cur = most.min(limit.rlim_max);
                if kind != libc::RLIMIT_NOFILE {
                    limit.rlim_max = limit.rlim_cur;
                }
                libc::setrlimit(kind, &raw const limit);
            }
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

impl Group {
    /// The way in which the program has ended, or `None` while it runs. The program is not reaped, so that no other
    /// process gets its number or the number of its group.
    ///
    /// # Errors
    ///
    /// Errors of waitid(2).
    pub fn exit(&self) -> io::Result<Option<Exit>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(status) = waitid(WaitId::PidFd(self.first.as_fd()), options)? else { return Ok(None) };
        Ok(match (status.exit_status(), status.terminating_signal()) {
            (Some(status), _) => Some(Exit::Status(status)),
            (None, Some(signal)) => Some(Exit::Signal(signal)),
            (None, None) => None,
        })
    }

    /// Sends a signal to all processes of the group.
    pub fn kick(&self, kick: Kick) {
        let signal = match kick {
            Kick::Terminate => Signal::TERM,
            Kick::Abort => Signal::ABORT,
            Kick::Continue => Signal::CONT,
            Kick::Kill => Signal::KILL,
        };
        // The group may be empty.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Reaps the program, which has ended: another process may get its number from then on.
    pub fn forget(self) {
        let _ = waitid(WaitId::PidFd(self.first.as_fd()), WaitIdOptions::EXITED);
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.first.as_fd()
    }
}

/// Ends all processes of a group whose number an ended process left in its [cell](Start::listed). As long as a process
/// of the group is left, no other group gets that number.
pub fn end_group(listed: u64) {
    // To the kernel, group 1 means all processes that there are.
    let group = i32::try_from(listed).ok().filter(|&number| number > 1).and_then(Pid::from_raw);
    if let Some(group) = group {
        // The group may be empty.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Makes this a process that only starts programs: only its standard descriptors stay open, and no signal is handled,
/// ignored or blocked, so that programs do not inherit an ignored or a blocked one.
pub fn settle() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action needs no handler; for some numbers it is refused.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    // SAFETY: an all-zero set may be given to `sigemptyset`. Nothing owns the descriptors above 2: this process has
    // just begun, and its interpreter no longer uses the files that it has opened.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{CStr, CString};
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Group, Start, end_group};
    use crate::processes::child::Exit;
    use crate::sockets::socket::{Until, wait};

    #[derive(Default)]
    struct Limits {
        memory_bytes_max: u64,
        user_processes_max: u64,
    }

    /// Runs a shell command without limits; returns its output and its exit.
    fn run(path: &CStr, command: &str) -> io::Result<(String, Exit)> {
        run_limited(path, command, &Limits::default())
    }

    fn run_limited(path: &CStr, command: &str, limits: &Limits) -> io::Result<(String, Exit)> {
        let words = ["name", "-c", command].map(|word| CString::new(word).unwrap_or_default());
        let environment = [c"A=b".to_owned(), c"PATH=/usr/bin:/bin".to_owned()];
        let nothing = File::open("/dev/null")?;
        let (mut reader, writer) = io::pipe()?;
        let (writer, listed) = (OwnedFd::from(writer), AtomicU64::new(0));
        let start = Start {
            path,
            may_be_link: true,
            arguments: &words,
            environment: &environment,
            folder: c"/usr",
            streams: [nothing.as_fd(), writer.as_fd(), writer.as_fd()],
            memory_bytes_max: limits.memory_bytes_max,
            user_processes_max: limits.user_processes_max,
            listed: &listed,
        };
        let started = start.run();
        let number = listed.load(Ordering::SeqCst);
        assert_eq!(started.is_ok(), number > 1, "only a program that runs is listed");
        let group = started?;
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        let exit = ended(&group)?;
        end_group(number);
        group.forget();
        Ok((text, exit))
    }

    fn ended(group: &Group) -> io::Result<Exit> {
        wait(group, Until::Readable, 60_000)?;
        group.exit()?.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    #[test]
    fn a_program_runs() -> io::Result<()> {
        let (text, exit) = run(c"/bin/sh", "pwd; echo $A; ls /proc/self/fd | wc -l; ulimit -n; exit 3")?;

        assert_eq!(
            ("/usr\nb\n4\n1024\n", Exit::Status(3)),
            (text.as_str(), exit),
            "the fourth descriptor is the folder that ls reads"
        );
        Ok(())
    }

    #[test]
    fn what_cannot_run_says_why() {
        let kind = |path| run(path, "").map(|_| ()).map_err(|error| error.kind());

        assert_eq!(Err(io::ErrorKind::NotFound), kind(c"/nowhere/at/all"));
        assert_eq!(Err(io::ErrorKind::PermissionDenied), kind(c"/etc/passwd"));
    }

    #[test]
    fn memory_and_processes_are_limited() -> io::Result<()> {
        let command = "ulimit -v; while read a b c d e; do [ \"$b\" = processes ] && echo $c $d; done </proc/self/limits";
        let limits = Limits { memory_bytes_max: 64 << 20, user_processes_max: 1_000 };
        let (text, _) = run_limited(c"/bin/sh", command, &limits)?;

        assert_eq!("65536\n1000 1000\n", text);
        Ok(())
    }

    /// All processes of a group end with the group, even processes that the program itself did not start.
    #[test]
    fn a_group_ends() -> io::Result<()> {
        let (text, exit) = run(c"/bin/sh", "(sleep 600 >/dev/null 2>&1 & echo $!)")?;

        assert_eq!(Exit::Status(0), exit);
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", text.trim())).unwrap_or_default();
        // The shell was killed before `run` returned; the process that adopted its child may need a moment to notice
        // the child's end.
        while !(state().is_empty() || state().contains(") Z") || state().contains(") X")) {
            std::thread::yield_now();
        }
        Ok(())
    }
}
