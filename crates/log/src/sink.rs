//! The outputs of logs: a file, standard output or syslog, each of which may fail without stopping the server.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adyton_sys::socket::{self, Until};
use adyton_sys::stream::{self, WHOLE_BYTES_MAX};
use adyton_sys::{clock, process};

use crate::files;
use crate::level::Level;
use crate::stamp::Stamp;

/// The output that a log goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Standard output for the access log, standard error for the error log.
    #[default]
    Standard,
    /// A file, which is appended to.
    File(PathBuf),
    /// A program that collects the logs of many programs.
    Syslog(SyslogAddress),
}

/// The address of syslog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SyslogAddress {
    /// A datagram socket of this machine, such as `/dev/log`.
    Local(PathBuf),
    /// `HOST:PORT`, by UDP (RFC 5426).
    Remote(String),
}

impl Destination {
    /// Returns a number that stands for this destination: the same in each process of a program.
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Display for Destination {
    /// Writes the destination as the settings do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str("-"),
            Self::File(path) => path.display().fmt(f),
            Self::Syslog(SyslogAddress::Local(path)) => write!(f, "syslog:{}", path.display()),
            Self::Syslog(SyslogAddress::Remote(address)) => write!(f, "syslog:{address}"),
        }
    }
}

/// The output of a log, on the thread that may wait for it.
pub(crate) struct Sink {
    way: Way,
    /// Whether the bytes are lines: a pipe then gets in one write as many whole lines as it takes in one piece.
    /// Otherwise all bytes are one piece.
    is_lines: bool,
    /// Whether the last successful write ended inside a line.
    is_within: bool,
    /// Whether the rest of that line is lost.
    is_cut: bool,
}

enum Way {
    File(Arc<File>),
    /// A pipe, a socket or a terminal, whose reader is not waited for.
    Stream(Arc<File>),
    Syslog(Syslog),
}

impl Way {
    fn to(file: Arc<File>) -> Self {
        if stream::has_reader(&*file) { Self::Stream(file) } else { Self::File(file) }
    }
}

/// Returns as many whole lines from the beginning as a pipe takes in one piece, or the first part of a line that is
/// longer.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let most = &bytes[..bytes.len().min(WHOLE_BYTES_MAX)];
    let end = most.iter().rposition(|&byte| byte == b'\n').map_or(most.len(), |at| at + 1);
    &most[..end]
}

impl Sink {
    /// Opens an output for lines.
    ///
    /// # Errors
    ///
    /// The errors of open(2), and of dup(2) for standard output.
    pub(crate) fn open(destination: &Destination) -> io::Result<Self> {
        let way = match destination {
            Destination::Standard => Way::to(files::stdout()?),
            Destination::File(path) => Way::to(files::open_file(path)?.into()),
            Destination::Syslog(address) => Way::Syslog(Syslog::open(address)),
        };
        Ok(Self::new(way, true))
    }

    /// Makes an output for entries, each of which is written in one piece.
    pub(crate) fn of_entries(file: Arc<File>) -> Self {
        Self::new(Way::to(file), false)
    }

    /// Makes an output for lines, to a file that is open.
    #[cfg(test)]
    pub(crate) fn of_lines(file: Arc<File>) -> Self {
        Self::new(Way::to(file), true)
    }

    fn new(way: Way, is_lines: bool) -> Self {
        Self { way, is_lines, is_within: false, is_cut: false }
    }

    /// Whether a write never waits.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.way, Way::Stream(_))
    }

    /// Writes the rest of `bytes` from `done` on, usually by one write(2), which `O_APPEND` keeps apart from the writes
    /// of other processes.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if a reader that is behind may take the rest in a moment; else the errors of write(2).
    pub(crate) fn write(&mut self, bytes: &[u8], done: &mut usize) -> io::Result<()> {
        if self.is_cut {
            // A line feed keeps these bytes apart from the line that a failure has cut.
            self.write_some(b"\n")?;
            self.is_cut = false;
        }
        while *done < bytes.len() {
            *done += self.write_some(&bytes[*done..])?;
        }
        Ok(())
    }

    /// Notes that the bytes not written are lost.
    pub(crate) fn lose(&mut self) {
        self.is_cut = self.is_within;
    }

    /// Waits for a moment until there may be room again.
    pub(crate) fn wait(&self) {
        match &self.way {
            Way::Stream(file) if socket::wait(&**file, Until::Writable, RETRY_MS).is_ok() => {}
            _ => std::thread::sleep(Duration::from_millis(RETRY_MS)),
        }
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let written = match &mut self.way {
                Way::File(file) => (&**file).write(bytes),
                Way::Stream(file) if self.is_lines => stream::write_now(&**file, whole_lines(bytes)),
                Way::Stream(file) => stream::write_now(&**file, bytes),
                Way::Syslog(syslog) => syslog.send_line(bytes),
            };
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.is_within = !bytes[..written].ends_with(b"\n");
                    return Ok(written);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A connection to syslog. A line that finds no room in the socket is lost or tried again: the server does not wait.
pub(crate) struct Syslog {
    address: SyslogAddress,
    /// Address of a remote collector: looked up once, because that may take long.
    remote: Option<SocketAddr>,
    socket: Option<Socket>,
}

enum Socket {
    Local(UnixDatagram),
    Remote(UdpSocket),
}

impl Socket {
    fn open(address: &SyslogAddress, remote: Option<SocketAddr>) -> io::Result<Self> {
        Ok(match address {
            SyslogAddress::Local(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                socket.set_nonblocking(true)?;
                Self::Local(socket)
            }
            SyslogAddress::Remote(_) => {
                let remote = remote.ok_or_else(|| io::Error::other("the name has no address"))?;
                let any = if remote.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(remote)?;
                socket.set_nonblocking(true)?;
                Self::Remote(socket)
            }
        })
    }
}

impl Destination {
    /// Checks whether the destination can be written to now. A server that starts reports a failure; a running server
    /// goes on without the log.
    ///
    /// # Errors
    ///
    /// The errors of connect(2), and of open(2) for an existing file. A missing file is not made; only its folder is
    /// looked at.
    pub fn check(&self) -> io::Result<()> {
        match self {
            Self::Standard => Ok(()),
            Self::File(path) => match path.metadata() {
                Ok(found) if found.is_file() => OpenOptions::new().append(true).open(path).map(|_| ()),
                // The reader of a pipe would take the close for the pipe's end.
                Ok(_) => Ok(()),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    std::path::absolute(path)?.parent().map_or(Ok(()), |folder| folder.metadata().map(|_| ()))
                }
                Err(error) => Err(error),
            },
            Self::Syslog(address) => Socket::open(address, address.look_up()?).map(|_| ()),
        }
    }
}

impl SyslogAddress {
    fn look_up(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Local(_) => Ok(None),
            Self::Remote(name) => Ok(name.to_socket_addrs()?.next()),
        }
    }
}

impl Syslog {
    /// Opens a connection; while no collector listens there, entries are lost.
    pub(crate) fn open(address: &SyslogAddress) -> Self {
        // A failure at this point is reported with the first entry.
        let remote = address.look_up().ok().flatten();
        let socket = Socket::open(address, remote).ok();
        Self { address: address.clone(), remote, socket }
    }

    /// Sends one entry. A collector that was started anew is found again.
    pub(crate) fn send(&mut self, level: Level, code: Option<&str>, text: &[u8]) -> io::Result<()> {
        let severity = match level {
            Level::Error => 3,
            Level::Warning => 4,
            Level::Info => 6,
            Level::Debug => 7,
        };
        let (priority, process) = (DAEMON * 8 + severity, process::id());
        let mut datagram = match &self.address {
            // This is the form of syslog(3), without the time, which the collector knows.
            SyslogAddress::Local(_) => format!("<{priority}>adyton[{process}]: "),
            // This is the form of RFC 5424 section 6.
            SyslogAddress::Remote(_) => {
                let stamp = Stamp::at(clock::unix_seconds());
                let (time, code) = (stamp.rfc3339().escape_ascii(), code.unwrap_or("-"));
                format!("<{priority}>1 {time} - adyton {process} {code} - ")
            }
        }
        .into_bytes();
        datagram.extend_from_slice(&text[..text.len().min(DATAGRAM_BYTES_MAX)]);
        match self.try_send(&datagram) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(error),
            Err(_) => {
                // A datagram to a port without a listener makes the next send fail.
                if !matches!(self.socket, Some(Socket::Remote(_))) {
                    self.socket = Some(Socket::open(&self.address, self.remote)?);
                }
                self.try_send(&datagram)
            }
            sent => sent,
        }
    }

    fn try_send(&self, datagram: &[u8]) -> io::Result<()> {
        let sent = match &self.socket {
            Some(Socket::Local(socket)) => socket.send(datagram),
            Some(Socket::Remote(socket)) => socket.send(datagram),
            None => Err(ErrorKind::NotConnected.into()),
        };
        sent.map(|_| ())
    }

    /// Sends the first of these lines, and returns its length.
    fn send_line(&mut self, lines: &[u8]) -> io::Result<usize> {
        let line = lines.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
        self.send(Level::Info, None, line.strip_suffix(b"\n").unwrap_or(line))?;
        Ok(line.len())
    }
}

/// How long a line waits for its next try when its reader has no room, unless the reader reports room earlier.
const RETRY_MS: u64 = 20;

/// The facility of system daemons (RFC 5424 section 6.2.1).
const DAEMON: u32 = 3;

/// Bytes of a datagram at most: collectors cut longer ones themselves, at 1 KiB to 8 KiB.
const DATAGRAM_BYTES_MAX: usize = 32 << 10;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is the test's result")]

    use std::io::{PipeReader, Read};
    use std::os::fd::OwnedFd;

    use super::*;

    fn piped() -> (PipeReader, Sink) {
        let (reader, writer) = io::pipe().unwrap();
        (reader, Sink::of_lines(Arc::new(File::from(OwnedFd::from(writer)))))
    }

    /// Writes bytes, and returns how many are taken now.
    fn write(sink: &mut Sink, bytes: &[u8]) -> usize {
        let mut done = 0;
        match sink.write(bytes, &mut done) {
            Ok(()) => assert_eq!(bytes.len(), done),
            Err(error) => assert_eq!(ErrorKind::WouldBlock, error.kind()),
        }
        done
    }

    #[test]
    fn a_cut_line_is_ended_before_the_next() {
        let (mut reader, mut sink) = piped();
        write(&mut sink, b"whole\n");
        // A full disk takes part of a line, too.
        write(&mut sink, b"part of a li");
        sink.lose();
        write(&mut sink, b"next\n");
        write(&mut sink, b"after\n");
        drop(sink);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();

        assert_eq!("whole\npart of a li\nnext\nafter\n", text);
    }

    /// A write to a full pipe does not wait, and when the pipe is read again, no line comes twice or in parts.
    #[test]
    fn a_full_pipe_takes_the_rest_later() {
        let (mut reader, mut sink) = piped();
        let line = [b"a line of some length".repeat(300), b"\n".to_vec()].concat();
        let lines = line.repeat(200);
        let taken = write(&mut sink, &lines);

        assert!(0 < taken && taken < lines.len(), "{taken}");
        assert_eq!(0, write(&mut sink, &lines[taken..]));

        let text = std::thread::spawn(move || {
            let mut text = Vec::new();
            reader.read_to_end(&mut text).map(|_| text)
        });
        let mut done = taken;
        while done < lines.len() {
            done += write(&mut sink, &lines[done..]);
        }
        drop(sink);

        assert_eq!(lines, text.join().unwrap().unwrap());
    }

    /// Each line is sent as a datagram with its priority, in the order of writing; a line that finds no room is not
    /// sent.
    #[test]
    fn syslog() {
        let folder = std::env::temp_dir().join(format!("adyton-syslog-{}", process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("log");
        let collector = UnixDatagram::bind(&path).unwrap();
        let mut sink = Sink::open(&Destination::Syslog(SyslogAddress::Local(path.clone()))).unwrap();
        assert_eq!(8, write(&mut sink, b"one\ntwo\n"));
        let mut buffer = [0; 256];
        let mut next = |collector: &UnixDatagram| {
            let bytes = collector.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..bytes]).into_owned()
        };

        assert_eq!(format!("<30>adyton[{}]: one", process::id()), next(&collector));
        assert_eq!(format!("<30>adyton[{}]: two", process::id()), next(&collector));

        let many = b"much\n".repeat(100_000);
        let sent_bytes = write(&mut sink, &many);

        assert!(0 < sent_bytes && sent_bytes < many.len() && sent_bytes.is_multiple_of(5), "{sent_bytes}");
        assert!(next(&collector).ends_with(": much"));
        assert_eq!(5, write(&mut sink, b"much\n"), "there is room again");

        std::fs::remove_file(&path).unwrap();
        drop(collector);
        let collector = UnixDatagram::bind(&path).unwrap();
        assert_eq!(6, write(&mut sink, b"three\n"));

        assert!(next(&collector).ends_with(": three"));

        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn remote_syslog() {
        let collector = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = SyslogAddress::Remote(collector.local_addr().unwrap().to_string());
        Syslog::open(&address).send(Level::Error, Some("ADY101"), b"text").unwrap();
        let mut buffer = [0; 256];
        let bytes = collector.recv(&mut buffer).unwrap();
        let text = String::from_utf8_lossy(&buffer[..bytes]);
        let words: Vec<&str> = text.splitn(8, ' ').collect();

        assert_eq!(
            ["<27>1", "-", "adyton", "ADY101", "-", "text"],
            [words[0], words[2], words[3], words[5], words[6], words[7]]
        );
    }
}
