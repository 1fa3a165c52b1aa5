//! The server's side: the small process, and the programs that it has started.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use adyton_sys::forks::Own;
use adyton_sys::{pass, pipe, temp};

use crate::frame::{FRAME_BYTES, Heard};
use crate::list::List;
use crate::order::Order;

/// The stack of the thread that waits for the small process to end.
const STACK_BYTES: usize = 256 << 10;

/// Starts programs for a server, by another process, which is started when it is first needed.
#[derive(Debug)]
pub struct Spawner {
    /// The command of that process, which has to call [`crate::serve`]: a program and its arguments.
    command: Vec<OsString>,
    helper: Mutex<Option<Own>>,
}

/// A program that was started, or will be in a moment. When its line is dropped, the program ends with all of its
/// group.
#[derive(Debug)]
pub struct Program {
    /// The program's standard output, to be read without waiting.
    pub output: Own,
    /// The program's standard error, to be read without waiting.
    pub errors: Own,
    /// The line over which the server hears of the program's end, and orders it.
    pub line: Line,
}

/// The line to the small process about a program: readable when there is something to [`Line::hear`].
#[derive(Debug)]
pub struct Line(Own);

impl Spawner {
    /// A spawner that starts its process by this command, with a socket as standard input.
    pub fn new(command: Vec<OsString>) -> Spawner {
        Spawner { command, helper: Mutex::new(None) }
    }

    /// Starts the process, if it is not there, so that the first program need not wait for it.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub fn begin(&self) -> io::Result<()> {
        let mut helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner);
        if helper.is_none() {
            *helper = Some(self.helper()?);
        }
        Ok(())
    }

    /// Has a program started, with `input` as its standard input. A failure to run it is heard later.
    ///
    /// # Errors
    ///
    /// The server is out of descriptors, or the small process cannot be started. `WouldBlock`: the small process has
    /// too much to do.
    pub fn start(&self, order: &Order, input: BorrowedFd<'_>) -> io::Result<Program> {
        let (output, output_of_program) = pipe::from_program()?;
        let (errors, errors_of_program) = pipe::from_program()?;
        let (line, line_of_helper) = pass::pair()?;
        let (output, errors, line) = (Own::new(output), Own::new(errors), Line(Own::new(line)));
        // A child that the application forks now would keep the output open.
        let [output_of_program, errors_of_program, line_of_helper] =
            [output_of_program, errors_of_program, line_of_helper].map(Own::new);
        let bytes = order.encode();
        let is_long = bytes.len() > pass::BYTES_MAX;
        let long = if is_long { Some(in_memory(&bytes)?) } else { None };
        let mut descriptors =
            vec![input, output_of_program.as_fd(), errors_of_program.as_fd(), line_of_helper.as_fd()];
        descriptors.extend(long.as_ref().map(AsFd::as_fd));
        let bytes = if is_long { &b"long"[..] } else { &bytes };
        self.send(bytes, &descriptors)?;
        Ok(Program { output, errors, line })
    }

    fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(socket) = &*helper {
            match pass::send_now(socket, bytes, descriptors) {
                Err(error) if is_gone(&error) => {}
                sent => return sent,
            }
        }
        // The small process was ended from outside.
        let socket = helper.insert(self.helper()?);
        pass::send_now(socket, bytes, descriptors)
    }

    /// Starts the process in a group of its own, so that a Ctrl-C for the server does not end programs that its
    /// requests wait for.
    fn helper(&self) -> io::Result<Own> {
        let (ours, theirs) = pass::pair()?;
        let ours = Own::new(ours);
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this server starts no programs"));
        };
        let list = List::new()?;
        pass::send_now(&ours, b"list", &[list.as_fd()])?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        end_with(child, list)?;
        Ok(ours)
    }
}

/// Has a thread wait for the small process to end, and then end the programs that it has started.
fn end_with(mut helper: Child, list: List) -> io::Result<()> {
    let wait = move || {
        // The application may have waited for this child (waitpid(2)): then this wait fails, and the child has ended,
        // too.
        let _ = helper.wait();
        list.end_all();
    };
    thread::Builder::new().name("adyton-scripts".to_owned()).stack_size(STACK_BYTES).spawn(wait).map(|_| ())
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
    )
}

impl Line {
    /// The next news of the program; `None` while there is nothing new.
    pub fn hear(&self) -> Option<Heard> {
        let mut buffer = [0; FRAME_BYTES];
        match pass::receive_now(&self.0, &mut buffer) {
            Ok(None) => None,
            Ok(Some(bytes)) => Some(Heard::of(&buffer[..bytes])),
            Err(_) => Some(Heard::Gone),
        }
    }

    /// Has the program end, with all of its group. The server hears later that no process of the group is left.
    pub fn end(&self) {
        // The other process may have gone, and the program with it.
        let _ = pass::send_now(&self.0, b"E", &[]);
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The standard input of a program.
#[derive(Debug)]
pub enum Input<'b> {
    /// Nothing.
    Empty,
    /// Bytes, which are put into a file in memory.
    Bytes(&'b [u8]),
    /// A file, from its beginning.
    File(BorrowedFd<'b>),
}

impl Input<'_> {
    /// Opens a descriptor from which a program reads this input, and nothing else.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors or memory.
    pub fn open(&self) -> io::Result<OwnedFd> {
        match self {
            Input::Empty => pipe::nothing(),
            Input::Bytes(bytes) => {
                let in_pipe = if bytes.len() <= pipe::BYTES_USUAL { pipe::filled(bytes)? } else { None };
                in_pipe.map_or_else(|| in_memory(bytes), Ok)
            }
            Input::File(file) => pipe::reread(file),
        }
    }
}

/// A file in memory that can only be read.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    pipe::reread(temp::sealed(bytes)?)
}
