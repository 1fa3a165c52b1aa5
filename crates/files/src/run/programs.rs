//! A folder of programs: finds the program that a path names, and the rest of the path after it.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use adyton_sys::fs::{Fault, Kind, Root, Symlinks};

use crate::path::is_meant;
use crate::run::runs::{Runs, Way};

/// Programs beneath a folder, which are run for requests. All threads share this value.
#[derive(Debug)]
pub struct Programs {
    root: Mutex<Root>,
    links: Symlinks,
    /// Endings of names, and the programs that run files with these endings; if empty, files are executed themselves.
    interpreters: Vec<(Vec<u8>, PathBuf)>,
}

/// A program that a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The absolute path of its file.
    pub path: Vec<u8>,
    /// The program that runs the file; `None` if the file is executed itself.
    pub interpreter: Option<PathBuf>,
    /// Length of the part of the path that names the program; the program gets the rest.
    pub name_bytes: usize,
}

/// The file that a path names in a folder where some files are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A program.
    Program(Program),
    /// A file that is not run, a folder, or nothing.
    Other,
}

/// The program that runs a file.
enum Runner {
    Itself,
    By(PathBuf),
    Nothing,
}

/// The reason why a path names no program, as an answer: its status, and a sentence for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoProgram {
    /// 400, 403, 404, 500 or 503.
    pub status: u16,
    /// The error, as a sentence.
    pub detail: &'static str,
}

/// The answer if the folder is changed during the search.
pub const CHANGING: NoProgram = no_program(503, "The folder is being changed; try again.");

const fn no_program(status: u16, detail: &'static str) -> NoProgram {
    NoProgram { status, detail }
}

const ABSENT: NoProgram = no_program(404, "There is no such script.");

const UNEXECUTABLE: NoProgram = no_program(403, "This file is not executable.");

const UNNAMED: NoProgram = no_program(403, "Files with such a name are not run.");

impl Programs {
    /// Opens a folder, which may be absent at first. `interpreters` are endings of names, such as `.pl`, each with the
    /// program that runs such files.
    ///
    /// # Errors
    ///
    /// Errors of [`Root::open`].
    pub fn open(
        folder: &Path,
        follow_symlinks: bool,
        interpreters: Vec<(Vec<u8>, PathBuf)>,
    ) -> io::Result<Programs> {
        let links = if follow_symlinks { Symlinks::Follow } else { Symlinks::Refuse };
        Ok(Programs { root: Mutex::new(Root::open(folder)?), links, interpreters })
    }

    /// The absolute path of the folder.
    pub fn folder(&self) -> PathBuf {
        self.root.lock().unwrap_or_else(PoisonError::into_inner).path().to_owned()
    }

    /// Whether links are followed.
    pub fn follows_links(&self) -> bool {
        self.links == Symlinks::Follow
    }

    /// Finds the program that a path names: the first file on the path. The path must be decoded, have single slashes
    /// and no dot segments, and begin with a slash unless it is empty. No name up to the program may be hidden or an
    /// editor's leftover; the rest of the path may hold any names.
    ///
    /// # Errors
    ///
    /// [`NoProgram`].
    pub fn find(&self, path: &[u8]) -> Result<Program, NoProgram> {
        match self.first_file(path, |name, executes| self.runner(name, executes))? {
            Found::Program(program) => Ok(program),
            Found::Other => Err(ABSENT),
        }
    }

    /// Finds the program that a path names, in a folder where the rules for names decide which files are run.
    ///
    /// # Errors
    ///
    /// [`NoProgram`]: the file should be run but must not be, or it cannot be determined which file the path names.
    pub fn find_among(&self, path: &[u8], runs: &Runs) -> Result<Found, NoProgram> {
        let runner = |name: &[u8], executes: bool| match runs.way(name) {
            Way::Sent => Ok(Runner::Nothing),
            Way::Refused => Err(UNNAMED),
            Way::Run(Some(program)) => Ok(Runner::By(program.clone())),
            Way::Run(None) if executes => Ok(Runner::Itself),
            Way::Run(None) => Err(UNEXECUTABLE),
        };
        match self.first_file(path, runner) {
            Err(ABSENT) => Ok(Found::Other),
            found => found,
        }
    }

    /// Finds the first file on a path, and the way in which the file is run.
    fn first_file(
        &self,
        path: &[u8],
        runner: impl Fn(&[u8], bool) -> Result<Runner, NoProgram>,
    ) -> Result<Found, NoProgram> {
        if memchr::memchr(0, path).is_some() {
            return Err(no_program(400, "The path holds a NUL."));
        }
        let relative = path.strip_prefix(b"/").unwrap_or(path);
        let before = path.len() - relative.len();
        let mut root = self.root.lock().unwrap_or_else(PoisonError::into_inner);
        // By now another folder may be at the root's path.
        root.follow();
        let slashes = memchr::memchr_iter(b'/', relative);
        let mut start = 0;
        for end in slashes.chain([relative.len()]) {
            let name = &relative[start..end];
            if !is_meant(name) || matches!(name, b"..") {
                return Err(ABSENT);
            }
            // The default is never taken, because the path holds no NUL.
            let so_far = CString::new(&relative[..end]).unwrap_or_default();
            match root.program_beneath(&so_far, self.links) {
                Ok((Kind::Folder, _)) => start = end + 1,
                Ok((Kind::File, executes)) => {
                    let interpreter = match runner(name, executes)? {
                        Runner::Nothing => return Ok(Found::Other),
                        Runner::By(program) => Some(program),
                        Runner::Itself => None,
                    };
                    let path = root.path().join(std::ffi::OsStr::from_bytes(&relative[..end]));
                    let path = path.as_os_str().as_bytes().to_vec();
                    return Ok(Found::Program(Program { path, interpreter, name_bytes: before + end }));
                }
                Ok(_) => return Err(ABSENT),
                Err(error) => return Err(why(&error)),
            }
        }
        Err(ABSENT)
    }

    /// Returns the runner of a file of this name.
    fn runner(&self, name: &[u8], executes: bool) -> Result<Runner, NoProgram> {
        if self.interpreters.is_empty() {
            return if executes { Ok(Runner::Itself) } else { Err(UNEXECUTABLE) };
        }
        match self.interpreters.iter().find(|(end, _)| name.ends_with(end)) {
            Some((_, interpreter)) => Ok(Runner::By(interpreter.clone())),
            None => Err(UNNAMED),
        }
    }
}

fn why(error: &io::Error) -> NoProgram {
    match Fault::of(error) {
        Fault::Absent => ABSENT,
        Fault::Denied => no_program(403, "The server may not look at this script."),
        Fault::Racing => CHANGING,
        Fault::OutOfFiles => no_program(503, "The server has too many files open; try again."),
        Fault::Broken => no_program(500, "The script could not be looked at."),
    }
}
