//! Resources that the kernel grants this process.

use std::io;
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::files::stream;
use crate::sockets::socket::{self, Until};

/// Raises the soft limit of open descriptors to the hard one, and returns the new limit.
pub fn raise_descriptors_max() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    // If the kernel refuses, the present limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(most)
}

/// Ends the process at once, like `_exit(2)`: no exit handler runs.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` may be called anywhere, and does not return.
    unsafe { libc::_exit(status) }
}

/// Gives the calling thread a lower priority: `steps` of nice(2) more, and `SCHED_BATCH`, under which a thread that
/// wakes up waits its turn and does not interrupt another thread. On Linux both belong to a thread, not to a process
/// (sched(7)).
pub fn give_way(steps: u8) {
    let now = rustix::process::getpriority_process(None).unwrap_or(0);
    // If the kernel refuses, the thread keeps its priority.
    let _ = rustix::process::setpriority_process(None, now + i32::from(steps));
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread, and the parameter is only read.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const none) };
}

/// Makes the kernel wake the calling thread at the time that it asks for. By default the kernel may wake it up to 50 us
/// later, to save wake-ups (`PR_SET_TIMERSLACK`, prctl(2)).
pub fn wake_on_time() {
    // If the kernel refuses, the thread wakes a little late.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Redirects everything that this process writes to its standard error to `file`.
///
/// # Errors
///
/// Errors of dup2(2).
pub fn become_stderr(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::stdio::dup2_stderr(file)?)
}

/// Runs a function at exit(3), after all handlers that are registered after this call.
pub fn at_exit(run: fn()) {
    static RUN: OnceLock<fn()> = OnceLock::new();
    extern "C" fn at_exit() {
        if let Some(run) = RUN.get() {
            run();
        }
    }
    if RUN.set(run).is_ok() {
        // SAFETY: the handler is a function of this library, which is never unloaded.
        let refused = unsafe { libc::atexit(at_exit) };
        debug_assert!(refused == 0, "there is memory for one handler");
    }
}

/// The flag of open(2) that refuses a symbolic link at the end of a path.
pub const NO_FOLLOW: i32 = libc::O_NOFOLLOW;

/// The flag of open(2) that does not wait until a pipe has a reader.
pub const NO_WAIT: i32 = libc::O_NONBLOCK;

/// A number that cannot be guessed; if the kernel has no random bits yet, a number that depends on this process.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(_) => u64::from_ne_bytes(bytes),
        Err(_) => crate::clock::unix_ms() << 22 | u64::from(id()),
    }
}

/// 256 bits that nobody can guess. They come from getrandom(2), which may block until the machine has gathered enough
/// entropy.
///
/// # Errors
///
/// The kernel has no random bits to give.
pub fn secret() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    // Up to 256 bytes come whole (man 2 getrandom).
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}

/// How long a write waits for the reader of standard error. If the reader has not read by then, later writes do not
/// wait at all, until a write finds that the reader reads again.
const STDERR_PATIENCE_MS: u64 = 100;

/// Whether the reader of standard error has read nothing for [`STDERR_PATIENCE_MS`].
static STDERR_STANDS: AtomicBool = AtomicBool::new(false);

/// Writes to standard error without a lock: a child forked while another thread held the lock would wait for ever.
///
/// # Errors
///
/// `WouldBlock` if standard error is a full pipe that nobody reads; otherwise errors of write(2). Part may be written.
pub fn write_stderr(bytes: &[u8]) -> io::Result<()> {
    write_at_once(rustix::stdio::stderr(), bytes)
}

/// Writes bytes like [`write_stderr`], to a descriptor that stands for standard error.
///
/// # Errors
///
/// Errors of [`write_stderr`].
pub fn write_at_once(stderr: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    let stderr = stderr.as_fd();
    let has_reader = stream::has_reader(stderr);
    while !bytes.is_empty() {
        let written = if has_reader {
            stream::write_now(stderr, bytes)
        } else {
            rustix::io::write(stderr, bytes).map_err(io::Error::from)
        };
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                STDERR_STANDS.store(false, Ordering::Relaxed);
                bytes = &bytes[written..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let stands = STDERR_STANDS.load(Ordering::Relaxed)
                    || !socket::wait(stderr, Until::Writable, STDERR_PATIENCE_MS)?;
                STDERR_STANDS.store(stands, Ordering::Relaxed);
                if stands {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Number of CPUs on which the calling thread may run (`sched_getaffinity(2)`). The CPU quota of a control group is not
/// considered.
pub fn cpus_allowed() -> u32 {
    match rustix::thread::sched_getaffinity(None) {
        Ok(cpus) => cpus.count().max(1),
        // The call fails on a machine with more than 1024 CPUs.
        Err(_) => std::thread::available_parallelism()
            .map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX)),
    }
}

/// Number of CPUs of the machine, whether this process may use them or not.
pub fn cpus_of_the_machine() -> u32 {
    // SAFETY: asks for a number, and changes nothing.
    u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

/// The size of a page of memory: 4 KiB mostly, up to 64 KiB on some machines.
pub fn page_bytes() -> u64 {
    // SAFETY: asks for a number, and changes nothing.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The number of this process.
pub fn id() -> u32 {
    std::process::id()
}

/// The effective user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Lowers the priority of this process by `steps` of nice(2). When other processes want the CPU, each step costs this
/// process about a tenth of its share.
pub fn lower_priority(steps: u8) {
    if steps > 0 {
        let now = rustix::process::getpriority_process(None).unwrap_or(0);
        // A lower priority is never refused.
        let _ = rustix::process::setpriority_process(None, now + i32::from(steps));
    }
}

/// Limits the data that this process may allocate (`RLIMIT_DATA`, setrlimit(2)); 0 sets no limit.
pub fn limit_data(bytes: u64) {
    if bytes > 0 {
        let most = getrlimit(Resource::Data).maximum;
        let bytes = most.map_or(bytes, |most| most.min(bytes));
        // Lowering a limit is always allowed.
        let _ = setrlimit(Resource::Data, Rlimit { current: Some(bytes), maximum: most });
    }
}

/// Bytes of this process that `RLIMIT_DATA` limits, as /proc counts them; 0 without /proc.
pub fn data_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Stack size of a new thread if its starter sets none: see `pthread_create(3)`.
pub fn stack_bytes() -> u64 {
    // The C library's stack size if `RLIMIT_STACK` sets no limit.
    const WITHOUT_LIMIT: u64 = 2 << 20;
    getrlimit(Resource::Stack).current.unwrap_or(WITHOUT_LIMIT)
}

/// Names the calling thread, and its process if this is the main thread, for `ps` and `top`: at most 15 bytes.
pub fn set_name(name: &str) {
    let name: Vec<u8> = name.bytes().filter(|&byte| byte != 0).take(15).collect();
    if let Ok(name) = std::ffi::CString::new(name) {
        // The name only helps people, so a failure does not matter.
        let _ = rustix::thread::set_name(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::{cpus_allowed, data_bytes, wake_on_time};

    /// Allocated memory counts even before it is touched.
    #[test]
    fn data() {
        let before = data_bytes();
        let allocated = Vec::<u8>::with_capacity(1 << 30);

        // Threads of other tests may end meanwhile and give back their stacks.
        assert!(before > 0 && data_bytes() >= before + (1 << 29));
        drop(allocated);
    }

    /// The number is the count of CPUs in the affinity mask. The quota of a control group, by which the standard
    /// library lowers its count, has no effect here.
    #[test]
    fn cpus() {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap_or_default();
        let ones = mask.chars().filter_map(|letter| letter.to_digit(16)).map(u32::count_ones).sum();

        assert_eq!(cpus_allowed(), ones);
    }

    /// The timer slack is set for this thread, and not for other threads.
    #[test]
    fn on_time() {
        let slack = || rustix::thread::current_timer_slack().unwrap_or(0);
        let before = slack();
        let changed = std::thread::spawn(move || {
            wake_on_time();
            slack()
        });

        assert_eq!(Some(1), changed.join().ok());
        assert_eq!(before, slack());
    }
}
