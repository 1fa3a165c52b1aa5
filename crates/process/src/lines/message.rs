//! Messages between a supervisor and its workers: JSON, one message on each line of a stream socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use adyton_server::Ending;
use adyton_sys::{forks, socket};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A message of a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// Take no more connections, finish the running requests, end.
    Drain {
        /// Whether idle connections may send one more request first.
        is_patient: bool,
        /// Whether the worker serves connections that wait in the listeners, because no other worker serves them.
        takes_queue: bool,
    },
    /// Say where every thread is; the answer carries this number.
    Dump(u64),
    /// Say which requests run; the answer carries this number.
    Running(u64),
    /// Say which files the application was imported from.
    Sources,
    /// To the supervisor of a group: replace all workers by new ones; the answer carries this number.
    Reload(u64),
    /// Log from this level on: `debug`, `info`, `warning` or `error`.
    LogLevel(String),
    /// Open the logs again: they were renamed.
    Reopen,
}

/// A message of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// The prototype has forked this process, which is about to fork the worker.
    Forking {
        /// The number of that process.
        pid: u32,
    },
    /// The worker was forked, and is this process.
    Hello {
        /// The worker's process number.
        pid: u32,
    },
    /// The worker serves.
    Ready {
        /// The application, such as `mysite.wsgi:application (WSGI)`; empty when there are only folders.
        serves: String,
    },
    /// A signal from outside has told the worker to end, and it ends.
    Leaving,
    /// The files that the application was imported from.
    Sources(Vec<Source>),
    /// The answer to the question with this number.
    Answer(u64, serde_json::Value),
}

/// A file that the application was imported from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The path of the file.
    pub path: PathBuf,
    /// The time of its last change before it was imported, in nanoseconds since 1970, if that was noted.
    pub modified_ns: Option<u64>,
}

/// The longest line: a longer one is a fault of the other side.
const LINE_BYTES_MAX: usize = 16 << 20;

/// One end of the line between a supervisor and a worker. A reader never waits; a writer waits while the line is full.
pub struct Channel {
    socket: OwnedFd,
    /// The received part of a line that is not whole.
    begun: Vec<u8>,
    ended: bool,
}

impl ToWorker {
    /// Makes the order to end in this way.
    pub(crate) fn drain(Ending { is_patient, takes_queue }: Ending) -> Self {
        Self::Drain { is_patient, takes_queue }
    }
}

impl Channel {
    /// Makes a channel of a connected, non-blocking stream socket.
    pub fn new(socket: OwnedFd) -> Self {
        forks::own(&socket);
        Self { socket, begun: Vec::new(), ended: false }
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The other side is gone, or has not listened for seconds.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        const PATIENCE_MS: u64 = 2_000;

        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut left = &line[..];
        while !left.is_empty() {
            match socket::send(&self.socket, left, false)? {
                Some(sent) => left = &left[sent..],
                None if socket::wait(&self.socket, socket::Until::Writable, PATIENCE_MS)? => {}
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }

    /// Returns the messages that have come; afterwards [`Channel::has_ended`] says whether the other side is gone.
    ///
    /// A line that is no known message is left out: it is from another version of this program.
    pub fn receive<M: DeserializeOwned>(&mut self) -> Vec<M> {
        // The supervisor calls this at each turn, mostly when nothing has come.
        let mut buffer = [0; 4 << 10];
        loop {
            match socket::recv(&self.socket, &mut buffer) {
                Ok(Some(0)) | Err(_) => self.ended = true,
                Ok(Some(bytes)) => {
                    self.begun.extend_from_slice(&buffer[..bytes]);
                    self.ended |= self.begun.len() > LINE_BYTES_MAX;
                    if !self.ended {
                        continue;
                    }
                }
                Ok(None) => {}
            }
            break;
        }
        let Some(end) = self.begun.iter().rposition(|&byte| byte == b'\n') else { return Vec::new() };
        let rest = self.begun.split_off(end + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        whole.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Whether the other side is gone.
    pub fn has_ended(&self) -> bool {
        self.ended
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        forks::disown(&self.socket);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use adyton_sys::socket;

    use super::{Channel, FromWorker, ToWorker};

    /// Messages arrive whole and in order, unknown messages are left out, and the end of the line is noticed.
    #[test]
    fn lines() -> io::Result<()> {
        let (one, other) = socket::pair()?;
        let (mut one, other) = (Channel::new(one), Channel::new(other));

        assert_eq!(Vec::<FromWorker>::new(), one.receive());

        other.send(&FromWorker::Ready { serves: "hello\n".to_owned() })?;
        other.send(&ToWorker::Drain { is_patient: true, takes_queue: false })?;
        other.send(&FromWorker::Answer(7, serde_json::json!({"a": [1, "two"]})))?;

        let expected = vec![
            FromWorker::Ready { serves: "hello\n".to_owned() },
            FromWorker::Answer(7, serde_json::json!({"a": [1, "two"]})),
        ];

        assert_eq!(expected, one.receive::<FromWorker>());
        assert!(!one.has_ended());

        drop(other);

        assert_eq!(Vec::<FromWorker>::new(), one.receive());
        assert!(one.has_ended());
        Ok(())
    }
}
