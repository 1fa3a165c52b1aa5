//! A script that runs: its output, and its state.

use adyton_log::request::RequestId;
use adyton_log::{self as log, messages};
use adyton_spawn::{Heard, Line, Program};
use adyton_sys::child::{Exit, signal_name};
use adyton_sys::forks::Own;
use adyton_sys::pipe;

use crate::cgi::errors::PartialLine;
use crate::cgi::places::Permit;
use crate::client::stored::Stored;

/// Time in ms to wait for the exit of a script whose output has ended: the exit says whether the answer is whole.
const END_MS: u64 = 1_000;

/// Maximum number of bytes that are read from the script's standard error at the end.
const LAST_WORDS_BYTES_MAX: usize = 64 << 10;

/// A part of a script that the loop watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptPart {
    Output,
    Errors,
    Line,
}

impl ScriptPart {
    /// All parts, by their numbers.
    pub(crate) const ALL: [ScriptPart; 3] = [ScriptPart::Output, ScriptPart::Errors, ScriptPart::Line];
}

/// The progress of a script's answer.
#[derive(Debug)]
pub(crate) enum ScriptStage {
    /// The head: the bytes that have come, and how many of them were looked at.
    Head(Vec<u8>, usize),
    /// The body.
    Body,
    /// The answer is whole, or no client waits for it any more.
    Over,
}

/// The result of reading a script's output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScriptOutput {
    /// The number of bytes read.
    Bytes(usize),
    /// No bytes are there for now.
    Nothing,
    /// The output has ended; whether the answer is whole.
    End { is_whole: bool },
}

/// A script that runs.
pub(crate) struct Script {
    /// The name of the script in the logs.
    pub(crate) name: String,
    pub(crate) id: RequestId,
    /// The connection whose request the script answers, until it has answered.
    pub(crate) client: Option<usize>,
    pub(crate) stage: ScriptStage,
    pub(crate) is_unparsed: bool,
    /// Longest time without output, in ms; 0 is no limit.
    timeout_ms: u64,
    /// End of the script's time, in ms of the monotonic clock.
    due_ms: Option<u64>,
    /// `None` once the output has ended.
    output: Option<Own>,
    errors: Option<Own>,
    line: Line,
    lines: PartialLine,
    exit: Option<Exit>,
    /// Whether the script was told to end.
    is_ending: bool,
    /// The request body that the script reads; its disk space stays taken until the script has ended.
    _body: Option<Stored>,
    _place: Permit,
}

impl Script {
    pub(crate) fn new(
        name: String,
        id: RequestId,
        program: Program,
        place: Permit,
        body: Option<Stored>,
        timeout_ms: u64,
        now_ms: u64,
    ) -> Script {
        let Program { output, errors, line } = program;
        let mut script = Script {
            name,
            id,
            client: None,
            stage: ScriptStage::Head(Vec::new(), 0),
            is_unparsed: false,
            timeout_ms,
            due_ms: None,
            output: Some(output),
            errors: Some(errors),
            line,
            lines: PartialLine::default(),
            exit: None,
            is_ending: false,
            _body: body,
            _place: place,
        };
        script.give_time(now_ms);
        script
    }

    /// Returns the descriptor of a part, if the part has not ended.
    pub(crate) fn watched(&self, part: ScriptPart) -> Option<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd as _;
        match part {
            ScriptPart::Output => self.output.as_ref().map(|output| output.as_fd()),
            ScriptPart::Errors => self.errors.as_ref().map(|errors| errors.as_fd()),
            ScriptPart::Line => Some(self.line.as_fd()),
        }
    }

    /// Begins the script's time anew, because the script has given output or waits for its client.
    pub(crate) fn give_time(&mut self, now_ms: u64) {
        if !self.is_ending {
            self.due_ms = (self.timeout_ms > 0).then(|| now_ms + self.timeout_ms);
        }
    }

    /// Returns the time at which to look at the script, in ms of the monotonic clock.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }

    /// Whether the script's output has ended.
    pub(crate) fn has_ended_output(&self) -> bool {
        self.output.is_none()
    }

    /// Whether nothing more will come from the script, and its answer is given. Then the script may be forgotten, and
    /// the rest of its process group with it.
    pub(crate) fn is_done(&self) -> bool {
        self.client.is_none() && self.output.is_none() && self.exit.is_some()
    }

    /// Reads the script's output.
    pub(crate) fn read(&mut self, buffer: &mut [u8], now_ms: u64) -> ScriptOutput {
        let Some(output) = &self.output else { return self.at_end(now_ms) };
        match pipe::read_now(output, buffer) {
            Ok(Some(bytes @ 1..)) => {
                self.give_time(now_ms);
                ScriptOutput::Bytes(bytes)
            }
            Ok(None) => ScriptOutput::Nothing,
            Ok(Some(_)) | Err(_) => {
                self.output = None;
                if !self.is_ending {
                    let soon_ms = now_ms + END_MS;
                    self.due_ms = Some(self.due_ms.map_or(soon_ms, |due_ms| due_ms.min(soon_ms)));
                }
                self.at_end(now_ms)
            }
        }
    }

    fn at_end(&self, now_ms: u64) -> ScriptOutput {
        match self.exit {
            Some(Exit::Signal(_)) => ScriptOutput::End { is_whole: false },
            Some(Exit::Status(_)) => ScriptOutput::End { is_whole: true },
            // The script has closed its output, and goes on with something else.
            None if self.due_ms.is_none_or(|due_ms| due_ms <= now_ms) => {
                ScriptOutput::End { is_whole: !self.is_ending }
            }
            None => ScriptOutput::Nothing,
        }
    }

    /// Logs what the script has written to its standard error. As long as there is more, another event comes.
    pub(crate) fn read_errors(&mut self, buffer: &mut [u8]) {
        let Some(errors) = &self.errors else { return };
        match pipe::read_now(errors, buffer) {
            Ok(Some(bytes @ 1..)) => self.lines.take(&buffer[..bytes], &self.name, &self.id),
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => {
                self.lines.end(&self.name, &self.id);
                self.errors = None;
            }
        }
    }

    /// Reads how the script has ended, and logs the exit unless the script has succeeded or was told to end.
    pub(crate) fn hear(&mut self) -> Option<Heard> {
        let heard = self.line.hear()?;
        let (name, id) = (&self.name, Some(&self.id));
        match &heard {
            Heard::NotStarted(error) => {
                let why = explained(error);
                log::write_about(id, &messages::SCRIPT_FAILED, format_args!("{name} cannot be run: {why}"));
            }
            Heard::Exit(exit) => {
                self.exit = Some(*exit);
                match *exit {
                    _ if self.is_ending => {}
                    Exit::Status(0) => {}
                    Exit::Status(status) => log::write_about(
                        id,
                        &messages::SCRIPT_STATUS,
                        format_args!("{name} has ended with the status {status}"),
                    ),
                    Exit::Signal(signal) => log::write_about(
                        id,
                        &messages::SCRIPT_FAILED,
                        format_args!("{name} was ended by {}", signal_name(signal)),
                    ),
                }
            }
            Heard::Gone if self.exit.is_some() || self.is_ending => {}
            Heard::Gone => log::write_about(
                id,
                &messages::SCRIPT_FAILED,
                format_args!("{name} has ended with the process that starts scripts"),
            ),
        }
        Some(heard)
    }

    /// Releases a script whose output nobody wants any more: it may go on until its time is over.
    pub(crate) fn release(&mut self, now_ms: u64) {
        self.client = None;
        self.stage = ScriptStage::Over;
        self.output = None;
        self.give_time(now_ms);
    }

    /// Has the script end, with all of its process group; the loop hears later that nothing is left.
    pub(crate) fn end(&mut self) {
        self.line.end();
        self.is_ending = true;
        self.due_ms = None;
    }

    /// Logs the rest of what the script has written to its standard error.
    pub(crate) fn read_last_words(&mut self, buffer: &mut [u8]) {
        for _ in 0..=LAST_WORDS_BYTES_MAX / buffer.len().max(1) {
            self.read_errors(buffer);
        }
        self.lines.end(&self.name, &self.id);
    }
}

/// Explains an error of execve(2).
fn explained(error: &std::io::Error) -> String {
    use std::io::ErrorKind as Kind;
    match (error.kind(), error.raw_os_error()) {
        (Kind::NotFound, _) => "it does not exist, or the program behind its #! does not".to_owned(),
        (_, Some(NO_EXECUTABLE)) => {
            "it is neither a program nor does its first line name one, as #!/bin/sh does".to_owned()
        }
        (_, Some(LINK)) => "it has become a link, which is not followed".to_owned(),
        _ => error.to_string(),
    }
}

/// `ELOOP`, errno(3).
const LINK: i32 = 40;

/// `ENOEXEC`, errno(3).
const NO_EXECUTABLE: i32 = 8;
