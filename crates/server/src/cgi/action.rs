//! The scripts of a route, and the script that a path wants.

use std::path::PathBuf;
use std::sync::Arc;

use adyton_files::programs::{CHANGING, Found, NoProgram, Program, Programs};
use adyton_files::runs::Runs;

/// The scripts of a route.
pub struct Cgi {
    /// The places of the scripts.
    pub programs: Programs,
    /// Longest time without output of a script, in ms; 0 is no limit.
    pub timeout_ms: u64,
    /// Maximum memory of each process of a script, in bytes; 0 is no limit.
    pub memory_bytes_max: u64,
    /// The limit on the processes of a script's user, above which the script can start no more; 0 is no limit.
    pub user_processes_max: u64,
    /// Variables that each script gets besides the variables of its request, as names and values.
    pub environment: Vec<(String, Vec<u8>)>,
    /// The absolute path of the site's folder, for the variables `DOCUMENT_ROOT` and, with `PATH_INFO` behind it,
    /// `PATH_TRANSLATED` (RFC 3875 section 4.1.6).
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
    /// The number of its bytes that name the script.
    pub(crate) name_bytes: usize,
}

impl Cgi {
    /// Finds the script that a decoded path wants; the path's first `prefix_bytes` are the route's own.
    ///
    /// # Errors
    ///
    /// The path has no script that may be run.
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

    /// Finds the script of a path among the files that are run by the rules of their folders; `None` if the path names
    /// no such file.
    ///
    /// # Errors
    ///
    /// The file is to be run, and may not be.
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
    /// Looks at the script's file once more, because another file may have taken its place by now.
    ///
    /// # Errors
    ///
    /// No script is there any more, or its name takes another part of the path now.
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
            // The routes for the new name were not asked.
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

    /// Whether the script's output goes to the client as it is (RFC 3875 section 5).
    pub(crate) fn is_unparsed(&self) -> bool {
        self.program.path.rsplit(|&byte| byte == b'/').next().is_some_and(|name| name.starts_with(b"nph-"))
    }

    /// Returns the name of the script for the logs.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.program.path).into_owned()
    }
}
