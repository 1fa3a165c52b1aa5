//! What a route with scripts says, and which of them a path wants.

use std::path::PathBuf;
use std::sync::Arc;

use adyton_files::programs::{CHANGING, Found, NoProgram, Program, Programs};
use adyton_files::runs::Runs;

/// The scripts of a route.
pub struct Cgi {
    /// Where they are.
    pub programs: Programs,
    /// How long one may give nothing, in ms; 0 is no limit.
    pub timeout_ms: u64,
    /// The most memory that each of its processes may have, in bytes; 0 is no limit.
    pub memory_bytes_max: u64,
    /// The number of its user's processes from which on it starts no more; 0 is no limit.
    pub user_processes_max: u64,
    /// Variables that each gets beside those of its request, as names and values.
    pub environment: Vec<(String, Vec<u8>)>,
    /// The folder of the site, from the top: `DOCUMENT_ROOT`, in which a script's `PATH_INFO` is a file (`PATH_TRANSLATED`,
    /// RFC 3875 section 4.1.6).
    pub root: Option<PathBuf>,
}

/// A script that a request wants.
pub(crate) struct WantedScript {
    pub(crate) cgi: Arc<Cgi>,
    pub(crate) program: Program,
    /// The rules of folders, if these say which files are run.
    pub(crate) runs: Option<Arc<Runs>>,
    /// The path of the request, decoded.
    pub(crate) path: Vec<u8>,
    /// How much of it has named the script.
    pub(crate) name_bytes: usize,
}

impl Cgi {
    /// The script that a decoded path wants, whose first `prefix_bytes` are the route's own.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn wanted(
        self: &Arc<Self>,
        path: &[u8],
        prefix_bytes: usize,
    ) -> Result<Box<WantedScript>, NoProgram> {
        let program = self.programs.find(path.get(prefix_bytes..).unwrap_or_default())?;
        let name_bytes = prefix_bytes + program.name_bytes;
        let cgi = Arc::clone(self);
        Ok(Box::new(WantedScript { cgi, program, runs: None, path: path.to_vec(), name_bytes }))
    }

    /// Finds the script of a path where folders say which files are run; nothing, if the path wants none of these.
    ///
    /// # Errors
    ///
    /// A file that is to be run may not.
    pub(crate) fn wanted_among(
        self: &Arc<Self>,
        path: &[u8],
        prefix_bytes: usize,
        runs: &Arc<Runs>,
    ) -> Result<Option<Box<WantedScript>>, NoProgram> {
        let rest = path.get(prefix_bytes..).unwrap_or_default();
        let Found::Program(program) = self.programs.find_among(rest, runs)? else { return Ok(None) };
        let name_bytes = prefix_bytes + program.name_bytes;
        let (cgi, runs) = (Arc::clone(self), Some(Arc::clone(runs)));
        Ok(Some(Box::new(WantedScript { cgi, program, runs, path: path.to_vec(), name_bytes })))
    }
}

impl WantedScript {
    /// Looks at the file once more, in whose place another one may stand by now.
    ///
    /// # Errors
    ///
    /// No script stands there, or other names on the way to one.
    pub(crate) fn look_again(&mut self) -> Result<(), NoProgram> {
        let prefix_bytes = self.name_bytes - self.program.name_bytes;
        let path = self.path.get(prefix_bytes..).unwrap_or_default();
        let program = match &self.runs {
            None => self.cgi.programs.find(path)?,
            Some(runs) => match self.cgi.programs.find_among(path, runs)? {
                Found::Program(program) => program,
                Found::Other => return Err(CHANGING),
            },
        };
        if program.name_bytes != self.program.name_bytes {
            // Routes for that name were not asked.
            return Err(CHANGING);
        }
        self.program = program;
        Ok(())
    }

    /// `SCRIPT_NAME`.
    pub(crate) fn name(&self) -> &[u8] {
        &self.path[..self.name_bytes]
    }

    /// `PATH_INFO`.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.path[self.name_bytes..]
    }

    /// Whether what it prints goes to the client as it is (RFC 3875 section 5).
    pub(crate) fn is_unparsed(&self) -> bool {
        self.program.path.rsplit(|&byte| byte == b'/').next().is_some_and(|name| name.starts_with(b"nph-"))
    }

    /// What the logs call it.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.program.path).into_owned()
    }
}
