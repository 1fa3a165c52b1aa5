//! CPU time and state of a thread, as other threads of its process see them.

use std::fs::File;
use std::io::Read;

use rustix::thread::{Pid, gettid};

/// A thread, by its number. A thread that has ended uses no more CPU time and is not runnable.
#[derive(Clone, Copy, Debug)]
pub struct Tid {
    thread: Pid,
}

impl Tid {
    /// The number of the calling thread.
    pub fn own() -> Self {
        Self { thread: gettid() }
    }

    /// Microseconds of CPU time that the thread has used: a system call.
    pub fn cpu_us(&self) -> u64 {
        // The kernel's number for the CPU clock of a thread (pthread_getcpuclockid(3)).
        let clock = !self.thread.as_raw_nonzero().get() << 3 | 6;
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is a whole `timespec`; a clock that does not exist is an error, and leaves `now` as it is.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1000
    }

    /// Whether the thread runs or waits only for a CPU; `false` if /proc does not tell (proc(5)). Takes some 10 us.
    pub fn is_runnable(&self) -> bool {
        let mut text = [0; 64];
        let path = format!("/proc/self/task/{}/stat", self.thread.as_raw_nonzero());
        let bytes = File::open(path).and_then(|mut file| file.read(&mut text)).unwrap_or(0);
        // The state follows the closing parenthesis of the name; the name itself may hold any bytes, also parentheses.
        let end = text[..bytes].iter().rposition(|&byte| byte == b')');
        end.is_some_and(|end| text[..bytes].get(end + 2) == Some(&b'R'))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::Tid;

    /// A thread that computes is runnable and uses CPU time; a thread that waits does neither.
    #[test]
    fn seen_by_another() {
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        let busy = thread::spawn(move || {
            tell.send(Tid::own()).unwrap_or_default();
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(100) {
                std::hint::spin_loop();
            }
            // `recv` fails when the other end is dropped, which ends the wait.
            let _ = ended.recv();
        });
        let Ok(tid) = told.recv() else { return assert!(busy.join().is_ok()) };

        assert!(tid.is_runnable());

        let deadline = Instant::now() + Duration::from_secs(10);
        while tid.is_runnable() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let used_us = tid.cpu_us();

        assert!(!tid.is_runnable());
        assert!(used_us > 1_000, "{used_us}");

        thread::sleep(Duration::from_millis(20));

        assert!(tid.cpu_us() - used_us < 5_000);

        drop(end);

        assert!(busy.join().is_ok());
    }
}
