//! A client that parses answers strictly, and never waits for ever.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{A_MOMENT, PATIENCE};

/// One answer.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: u16,
    /// Status line and fields, as they came.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// A field's value; the server writes names in one way.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    Reset,
}

/// One connection of a client.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) socket: S,
    /// Received bytes that belong to the next answer.
    ahead: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { socket, ahead: Vec::new() }
    }

    /// Fails if the server sends anything, or closes, within a moment.
    pub(crate) fn expect_silence(&mut self) {
        self.socket.set_read_timeout(Some(A_MOMENT)).unwrap();
        let error = self.socket.read(&mut [0]).expect_err("silence was expected");
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
}

impl Client<UnixStream> {
    pub(crate) fn connect_unix(path: &Path) -> Self {
        let socket = UnixStream::connect(path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { socket, ahead: Vec::new() }
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).unwrap();
    }

    /// One GET and its answer.
    pub(crate) fn get(&mut self, path: &str) -> Received {
        self.send(get(path));
        self.answer()
    }

    /// One `read`, at most `bytes_max`; empty at the end of a connection that was closed.
    pub(crate) fn read_once(&mut self, bytes_max: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes_max];
        let bytes = self.socket.read(&mut buffer).unwrap();
        buffer.truncate(bytes);
        buffer
    }

    /// Reads until `text` has come; the bytes behind it are kept for the next read.
    pub(crate) fn read_until(&mut self, text: &str) -> Vec<u8> {
        loop {
            if let Some(at) = self.ahead.windows(text.len()).position(|window| window == text.as_bytes()) {
                let behind = self.ahead.split_off(at + text.len());
                return std::mem::replace(&mut self.ahead, behind);
            }
            self.read_on();
        }
    }

    /// One whole answer, whose body has the length that its head has promised, or ends with the last chunk.
    pub(crate) fn answer(&mut self) -> Received {
        let head = String::from_utf8(self.read_until("\r\n\r\n")).unwrap();
        let status = head.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let mut answer = Received { status, head, body: Vec::new() };
        answer.body = if answer.field("Transfer-Encoding") == Some("chunked") {
            self.chunks()
        } else {
            let length = answer.field("Content-Length").expect("an answer has a length").parse().unwrap();
            self.exactly(length)
        };
        answer
    }

    /// Everything until the connection ends, and how it ends.
    pub(crate) fn rest(mut self) -> (Vec<u8>, End) {
        let mut rest = std::mem::take(&mut self.ahead);
        let end = match self.socket.read_to_end(&mut rest) {
            Ok(_) => End::Closed,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
            Err(error) => panic!("the connection has not ended: {error}"),
        };
        (rest, end)
    }

    /// Fails unless the connection is closed without another byte.
    pub(crate) fn expect_end(self) {
        let (rest, end) = self.rest();

        assert_eq!("", String::from_utf8_lossy(&rest));
        assert_eq!(End::Closed, end);
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = String::from_utf8(self.read_until("\r\n")).unwrap();
            let bytes = usize::from_str_radix(line.trim_end(), 16).unwrap();
            body.extend(self.exactly(bytes));
            assert_eq!(b"\r\n", &*self.exactly(2));
            if bytes == 0 {
                return body;
            }
        }
    }

    fn exactly(&mut self, bytes: usize) -> Vec<u8> {
        while self.ahead.len() < bytes {
            self.read_on();
        }
        let behind = self.ahead.split_off(bytes);
        std::mem::replace(&mut self.ahead, behind)
    }

    fn read_on(&mut self) {
        let more = self.read_once(64 << 10);
        assert!(!more.is_empty(), "ended inside an answer: {}", String::from_utf8_lossy(&self.ahead));
        self.ahead.extend(more);
    }
}

/// A request without a body.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}
