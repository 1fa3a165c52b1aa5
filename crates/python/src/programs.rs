//! The small process that starts CGI scripts: this program started again, without an application.
//!
//! The process runs only as much Python as finding this library takes.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Python code that loads this library by its path, in an interpreter that has no folders to import from, and stays in
/// it.
const CODE: &str = "\
import sys, _imp
from importlib.machinery import ExtensionFileLoader, ModuleSpec
name, path = 'adyton._core', sys.argv[1]
core = _imp.create_dynamic(ModuleSpec(name, ExtensionFileLoader(name, path), origin=path))
_imp.exec_dynamic(core)
core.start_programs()
";

/// The command line of the process that starts programs.
pub(crate) fn command(py: Python<'_>) -> PyResult<Vec<OsString>> {
    let program: OsString = py.import("sys")?.getattr("executable")?.extract()?;
    let library: OsString = py.import("adyton._core")?.getattr("__file__")?.extract()?;
    let words = ["-I", "-S", "-c", CODE].map(OsString::from);
    Ok([program].into_iter().chain(words).chain([library]).collect())
}

/// Starts programs for the server at the other end of standard input, until standard input ends.
#[pyfunction]
pub(crate) fn start_programs(py: Python<'_>) -> PyResult<()> {
    py.detach(adyton_spawn::serve)?;
    Ok(())
}
