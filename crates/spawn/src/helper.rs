//! The small process: starts programs for the server, waits for their ends, and ends them when it is told to.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};

use adyton_sys::child::Kick;
use adyton_sys::epoll::{Epoll, Events, Interest};
use adyton_sys::spawn::{Group, Start};
use adyton_sys::{clock, pass, process, spawn, stdio};

use crate::frame::{FRAME_BYTES, Frame};
use crate::list::List;
use crate::order::Read;

/// How long a program may take to end after it was told to, in ms.
pub const GRACE_MS: u64 = 2_000;

/// The token of the socket to the server. The token of a program is twice its number, and the token of its line is one
/// more.
const SERVER: u64 = u64::MAX;

/// `EAGAIN`, errno(3): no more programs can be started for now.
const TOO_MANY: i32 = 11;

/// The descriptors of an order: three streams, the line, and the order itself if it is long.
const DESCRIPTORS: usize = 4;

/// Starts programs for the server at the other end of standard input, until the server closes that socket. The first
/// message carries the list of groups.
///
/// # Errors
///
/// The process is out of descriptors or memory, or there is no list.
pub fn serve() -> io::Result<()> {
    spawn::settle();
    stdio::occupy()?;
    // The socket is not for the programs, which have three descriptors.
    let server = std::io::stdin().as_fd().try_clone_to_owned()?;
    stdio::replace(std::io::stdin(), std::fs::File::open("/dev/null")?)?;
    process::raise_descriptors_max();
    process::set_name("adyton-cgi");
    // In the root folder, this process keeps no file system from being unmounted.
    std::env::set_current_dir("/")?;
    let epoll = Epoll::new()?;
    epoll.add(&server, SERVER, Interest::Level)?;
    let list = pass::receive(&server)?.and_then(|(_, mut descriptors)| descriptors.pop());
    let list = List::open(list.ok_or(io::ErrorKind::UnexpectedEof)?)?;
    let mut helper = Helper { epoll, server, list, programs: HashMap::new(), next: 0 };
    let mut events = Events::new();
    let ended = loop {
        match helper.wait(&mut events) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // The programs that are left end at once: there is no server any more that could want an answer.
    helper.programs.values().for_each(|program| program.group.kick(Kick::Kill));
    ended
}

/// A program that was started.
struct RunningProgram {
    group: Group,
    /// The program's place in the list.
    place: usize,
    line: OwnedFd,
    /// Whether the program itself has ended, and the server was told.
    has_ended: bool,
    /// Whether the server wants the program to end.
    is_ending: bool,
    /// The time at which the program is killed, in ms of the monotonic clock.
    due_ms: Option<u64>,
}

struct Helper {
    epoll: Epoll,
    server: OwnedFd,
    list: List,
    programs: HashMap<u64, RunningProgram>,
    next: u64,
}

impl Helper {
    /// Waits for something to do, and does it; `false` when the server has gone.
    fn wait(&mut self, events: &mut Events) -> io::Result<bool> {
        let now_ms = clock::monotonic_ms();
        let due_ms = self.programs.values().filter_map(|program| program.due_ms).min();
        let wait_ms =
            due_ms.map(|due_ms| u32::try_from(due_ms.saturating_sub(now_ms) + 1).unwrap_or(u32::MAX));
        self.epoll.wait(events, wait_ms)?;
        for ready in (0..).map_while(|at| events.at(at)) {
            match ready.token {
                SERVER => match pass::receive(&self.server) {
                    Ok(Some((bytes, descriptors))) => self.start(bytes, descriptors),
                    Ok(None) | Err(_) => return Ok(false),
                },
                token if token % 2 == 0 => self.see_exit(token / 2),
                token => self.hear(token / 2),
            }
        }
        let now_ms = clock::monotonic_ms();
        let is_due = |program: &RunningProgram| program.due_ms.is_some_and(|due_ms| due_ms <= now_ms);
        for program in self.programs.values_mut().filter(|program| is_due(program)) {
            program.group.kick(Kick::Kill);
            program.due_ms = None;
        }
        Ok(true)
    }

    /// Starts a program. A message that is no order is dropped, with its line.
    fn start(&mut self, mut bytes: Vec<u8>, mut descriptors: Vec<OwnedFd>) {
        if descriptors.len() == DESCRIPTORS + 1
            && let Some(long) = descriptors.pop()
        {
            bytes.clear();
            if std::fs::File::from(long).read_to_end(&mut bytes).is_err() {
                return;
            }
        }
        let Ok([input, output, errors, line]) = <[OwnedFd; DESCRIPTORS]>::try_from(descriptors) else {
            return;
        };
        let Some(order) = Read::decode(&bytes) else { return };
        let Some(place) = self.list.take() else { return tell(&line, &Frame::NotStarted(TOO_MANY)) };
        let start = Start {
            path: &order.path,
            may_be_link: order.may_be_link,
            arguments: &order.arguments,
            environment: &order.environment,
            folder: &order.folder,
            streams: [input.as_fd(), output.as_fd(), errors.as_fd()],
            memory_bytes_max: order.memory_bytes_max,
            user_processes_max: order.user_processes_max,
            listed: self.list.at(place),
        };
        match start.run() {
            Ok(group) => self.watch(group, place, line),
            Err(error) => {
                self.list.give_back(place);
                tell(&line, &Frame::NotStarted(error.raw_os_error().unwrap_or(0)));
            }
        }
    }

    fn watch(&mut self, group: Group, place: usize, line: OwnedFd) {
        let number = self.next;
        self.next += 1;
        let watched = self.epoll.add(&group, number * 2, Interest::Level);
        let watched = watched.and_then(|()| self.epoll.add(&line, number * 2 + 1, Interest::Level));
        let program = RunningProgram { group, place, line, has_ended: false, is_ending: false, due_ms: None };
        if let Err(error) = watched {
            tell(&program.line, &Frame::NotStarted(error.raw_os_error().unwrap_or(0)));
            self.end(program);
        } else {
            self.programs.insert(number, program);
        }
    }

    /// Notes that a program has ended by itself, or because it was told to.
    fn see_exit(&mut self, number: u64) {
        let Some(program) = self.programs.get_mut(&number) else { return };
        let Ok(Some(exit)) = program.group.exit() else { return };
        tell(&program.line, &Frame::Exit(exit));
        program.has_ended = true;
        // The ended process makes no further events. While the group is kept, no other process gets its number.
        let _ = self.epoll.remove(&program.group);
        if program.is_ending {
            self.clear(number);
        }
    }

    /// Ends a program, because the server has said so or has closed its line.
    fn hear(&mut self, number: u64) {
        let Some(program) = self.programs.get_mut(&number) else { return };
        let mut buffer = [0; FRAME_BYTES];
        if matches!(pass::receive_now(&program.line, &mut buffer), Ok(None)) {
            return;
        }
        if program.has_ended {
            return self.clear(number);
        }
        // A line at its end would be readable for ever.
        let _ = self.epoll.remove(&program.line);
        program.is_ending = true;
        program.group.kick(Kick::Terminate);
        // A stopped program would not receive SIGTERM.
        program.group.kick(Kick::Continue);
        program.due_ms = Some(clock::monotonic_ms() + GRACE_MS);
    }

    /// Ends the rest of a group whose first program has ended.
    fn clear(&mut self, number: u64) {
        if let Some(program) = self.programs.remove(&number) {
            self.end(program);
        }
    }

    /// Ends a program with its group. The group leaves the list before its number may be given to another process.
    fn end(&mut self, program: RunningProgram) {
        program.group.kick(Kick::Kill);
        self.list.give_back(program.place);
        program.group.forget();
    }
}

/// Sends a message to the server, which may have gone.
fn tell(line: &OwnedFd, frame: &Frame) {
    let _ = pass::send_now(line, &frame.bytes(), &[]);
}
