//! Python functions that authenticate and admit clients, like the functions of `mod_wsgi` authentication scripts.

use adyton_log::messages;
use adyton_server::{Authority, Call, Outcome};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use crate::exceptions;
use crate::interpreter::{forked, threads};
use crate::values::payload;
use crate::wsgi::Caller;

/// Longest name of a user or a group: names go into logs and environs.
const NAME_BYTES_MAX: usize = 1024;

/// The largest number of groups of a user: enough for any directory service.
const GROUPS_MAX: usize = 10_000;

/// Hexadecimal digits of an MD5.
const HASH_DIGITS: usize = 32;

/// A Python function that authenticates or admits clients.
pub(crate) struct Function {
    callable: Py<PyAny>,
    /// File and function, such as `site_auth.py:check_password`.
    name: String,
    caller: Caller,
}

impl Function {
    pub(crate) fn new(callable: Py<PyAny>, name: String, caller: Caller) -> Function {
        Function { callable, name, caller }
    }

    /// Calls the function with an environ and these texts, and has `read` convert its result.
    fn ask<T>(
        &self,
        call: &mut Call<'_>,
        texts: &[&str],
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, Outcome> {
        // SAFETY: the server asks between `attach` and `detach`, as it calls applications.
        let py = unsafe { Python::assume_attached() };
        payload::give_back(py);
        let said = self.call(py, call, texts).and_then(|said| read(&said));
        forked::stay(py, said).map_err(|error| {
            if !threads::is_timeout(py, &error) {
                let what = format!("{} for {}", self.name, exceptions::request_line(call.request));
                exceptions::log_as(&messages::ASKING_FAILED, py, &error, &what);
                return Outcome::Failed;
            }
            // The log already says where the function was.
            Outcome::TimedOut
        })
    }

    fn call<'py>(&self, py: Python<'py>, call: &Call<'_>, texts: &[&str]) -> PyResult<Bound<'py, PyAny>> {
        let environ = self.caller.environ(py, call, call.mount)?;
        hide(&environ)?;
        let texts = texts.iter().map(|text| PyString::new(py, text).into_any());
        let arguments: Vec<_> = std::iter::once(environ.into_any()).chain(texts).collect();
        forked::stay(py, self.callable.bind(py).call1(PyTuple::new(py, arguments)?))
    }

    fn no_answer(&self, wanted: &str, said: &Bound<'_, PyAny>) -> PyErr {
        let kind =
            said.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("{} returns {wanted}, and not {kind}", self.name))
    }
}

/// Removes environ entries that a function about clients must not see: the body, which only the application may read,
/// and the Authorization field, which holds the password.
fn hide(environ: &Bound<'_, PyDict>) -> PyResult<()> {
    for key in ["wsgi.input", "wsgi.input_terminated", "HTTP_AUTHORIZATION"] {
        if environ.contains(key)? {
            environ.del_item(key)?;
        }
    }
    Ok(())
}

/// Reads a name that a function has returned.
fn name(text: &Bound<'_, PyString>) -> PyResult<String> {
    let name: String = text.extract()?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
        let what = format!("a name has 1 to {NAME_BYTES_MAX} bytes and no control characters");
        return Err(PyValueError::new_err(what));
    }
    Ok(name)
}

impl Authority for Function {
    fn check_password(
        &self,
        call: &mut Call<'_>,
        user: &str,
        password: &str,
    ) -> Result<Option<String>, Outcome> {
        self.ask(call, &[user, password], |said| {
            if said.is_none() {
                Ok(None)
            } else if let Ok(is_right) = said.cast::<PyBool>() {
                Ok(is_right.is_true().then(|| user.to_owned()))
            } else if let Ok(text) = said.cast::<PyString>() {
                name(text).map(Some)
            } else {
                Err(self.no_answer("True, False, None, or the name of the user", said))
            }
        })
    }

    fn realm_hash(&self, call: &mut Call<'_>, user: &str, realm: &str) -> Result<Option<String>, Outcome> {
        self.ask(call, &[user, realm], |said| {
            if said.is_none() {
                return Ok(None);
            }
            let Ok(text) = said.cast::<PyString>() else {
                return Err(self.no_answer("None, or 32 hexadecimal digits", said));
            };
            let hash: String = text.extract()?;
            if hash.len() != HASH_DIGITS || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                let what = "the hash of a user in a realm is an MD5: it has 32 hexadecimal digits";
                return Err(PyValueError::new_err(what));
            }
            Ok(Some(hash))
        })
    }

    fn allows(&self, call: &mut Call<'_>, client: &str) -> Result<bool, Outcome> {
        self.ask(call, &[client], |said| match said.cast::<PyBool>() {
            // A function that returns None leaves the decision to the other functions.
            _ if said.is_none() => Ok(true),
            Ok(is_allowed) => Ok(is_allowed.is_true()),
            Err(_) => Err(self.no_answer("True, False or None", said)),
        })
    }

    fn groups(&self, call: &mut Call<'_>, user: &str) -> Result<Vec<String>, Outcome> {
        self.ask(call, &[user], |said| {
            let wrong = || self.no_answer("a list of names", said);
            if said.is_instance_of::<PyString>() {
                return Err(wrong());
            }
            let mut groups = Vec::new();
            for group in said.try_iter().map_err(|_| wrong())? {
                groups.push(name(group?.cast::<PyString>().map_err(|_| wrong())?)?);
                if groups.len() > GROUPS_MAX {
                    return Err(PyValueError::new_err(format!("there are more than {GROUPS_MAX} groups")));
                }
            }
            Ok(groups)
        })
    }
}
