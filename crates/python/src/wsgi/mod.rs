//! WSGI applications (PEP 3333).

mod environ;
mod errors;
mod exchange;
mod fields;
mod input;

use adyton_cli::Settings;
use adyton_log::{self as log, messages};
use adyton_server::{Body, Call, MountPoint, Outcome, Pull, Reply};
use crossbeam_utils::atomic::AtomicCell;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{ffi, intern};

pub(crate) use self::environ::Listener;
pub(crate) use self::errors::{ErrorBytes, Errors};
pub(crate) use self::input::Input;

use self::environ::Environs;
use self::exchange::{Exchange, Lent};
use crate::hosted::Callable;
use crate::interpreter::forked;
use crate::values::file_wrapper::FileWrapper;
use crate::values::items::{Door, Items, write_list};
use crate::values::streamed::{Request, Streamed};
use crate::values::text::exact_bytes;

/// A WSGI application.
pub(crate) struct Wsgi {
    application: Py<PyAny>,
    caller: Caller,
}

/// Calls WSGI applications; holds the objects that their requests share.
pub(crate) struct Caller {
    environs: Environs,
    input_key: Py<PyAny>,
    /// Objects of the last request, for the next one.
    spare: AtomicCell<Option<Box<Lent>>>,
}

/// Whether an application may be called in several places at once.
#[derive(Clone, Copy)]
pub(crate) struct Concurrency {
    /// Whether other threads call it, too.
    pub(crate) has_threads: bool,
    /// Whether other processes call it, too.
    pub(crate) has_processes: bool,
}

impl Wsgi {
    /// An application, and its caller.
    pub(crate) fn new(application: Py<PyAny>, caller: Caller) -> Self {
        Self { application, caller }
    }
}

impl Caller {
    /// # Errors
    ///
    /// The interpreter is out of memory.
    pub(crate) fn new(
        py: Python<'_>,
        listeners: &[Listener],
        settings: &Settings,
        concurrency: Concurrency,
    ) -> PyResult<Self> {
        let shared = PyDict::new(py);
        shared.set_item("wsgi.version", (1, 0))?;
        shared.set_item("wsgi.url_scheme", "http")?;
        shared.set_item("wsgi.input", py.None())?;
        shared.set_item("wsgi.errors", Py::new(py, Errors)?)?;
        shared.set_item("wsgi.multithread", concurrency.has_threads)?;
        shared.set_item("wsgi.multiprocess", concurrency.has_processes)?;
        shared.set_item("wsgi.run_once", false)?;
        shared.set_item("wsgi.file_wrapper", py.get_type::<FileWrapper>())?;
        shared.set_item("wsgi.input_terminated", true)?;
        shared.set_item("SERVER_SOFTWARE", concat!("adyton/", env!("CARGO_PKG_VERSION")))?;
        shared.set_item("REQUEST_SCHEME", "http")?;
        shared.set_item("GATEWAY_INTERFACE", "CGI/1.1")?;
        shared.set_item("adyton.version", env!("CARGO_PKG_VERSION"))?;
        Ok(Self {
            environs: Environs::new(py, &shared, listeners, settings)?,
            input_key: intern!(py, "wsgi.input").clone().into_any().unbind(),
            spare: AtomicCell::new(None),
        })
    }

    fn lend(&self, py: Python<'_>) -> PyResult<Box<Lent>> {
        match self.spare.take() {
            Some(lent) => {
                lent.exchange().renew();
                Ok(lent)
            }
            None => Lent::new(py).map(Box::new),
        }
    }

    fn release(&self, py: Python<'_>, lent: Box<Lent>) {
        if lent.is_unshared(py) {
            self.spare.store(Some(lent));
        } else {
            lent.end();
        }
    }

    /// The environ of a request; `mount` is the path at which the application is mounted, like [`Call::mount`].
    #[inline]
    pub(crate) fn environ<'py>(
        &self,
        py: Python<'py>,
        call: &Call<'_>,
        mount: MountPoint<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.environs.make(py, call, mount)
    }

    /// Calls an application to answer a request.
    #[inline]
    pub(crate) fn ask(
        &self,
        py: Python<'_>,
        application: &Py<PyAny>,
        environ: Bound<'_, PyDict>,
        call: &mut Call<'_>,
    ) -> PyResult<Outcome> {
        let lent = self.lend(py)?;
        let body = std::mem::replace(&mut call.body, Body::Empty);
        let has_body = !matches!(body, Body::Empty);
        lent.input.get().begin(body);
        environ.set_item(&self.input_key, &lent.input)?;
        let answered = ask(py, application, environ.as_any(), &lent, &mut call.reply);
        // The environ references the input: without the environ, the reference count shows whether the application
        // keeps the input.
        drop(environ);
        if has_body && !matches!(answered, Ok(Some(_))) {
            lent.input.get().end();
        }
        match answered {
            Ok(Some(items)) => Ok(Outcome::Stream(Box::new(Streamed::new(py, items, lent)?))),
            Ok(None) => {
                self.release(py, lent);
                Ok(Outcome::Done)
            }
            Err(error) => {
                let broken = lent.input.get().is_broken() && error.is_instance_of::<PyOSError>(py);
                self.release(py, lent);
                if !broken || call.reply.has_begun() {
                    return Err(error);
                }
                log::write(&messages::BODY_BROKE_OFF, format_args!("a request body broke off: {error}"));
                call.reply.refuse_body();
                Ok(Outcome::Done)
            }
        }
    }
}

impl Callable for Wsgi {
    #[inline]
    fn run(&self, py: Python<'_>, call: &mut Call<'_>) -> PyResult<Outcome> {
        let environ = self.caller.environ(py, call, call.mount)?;
        self.caller.ask(py, &self.application, environ, call)
    }
}

/// Calls the application and writes what it returns; returns the items that are not written yet.
fn ask(
    py: Python<'_>,
    application: &Py<PyAny>,
    environ: &Bound<'_, PyAny>,
    lent: &Lent,
    reply: &mut Reply<'_>,
) -> PyResult<Option<Items>> {
    let exchange = lent.exchange();
    // SAFETY: `reply` outlives this function, which leaves before it returns and before it
    // touches the reply itself.
    unsafe { exchange.enter(reply) };
    let returned = forked::stay(py, call_two(py, application, environ, lent.start_response.bind(py)));
    exchange.leave();
    let body = returned?;
    if let Ok(list) = body.cast_exact::<PyList>()
        && !reply.has_begun()
        && list.iter().all(|item| exact_bytes(&item).is_some())
    {
        return write_list(py, exchange, list, reply).map(|()| None);
    }
    let mut items = Items::new(body);
    match items
        .send_file(py, exchange, reply)
        .and_then(|sent| if sent { Ok(Pull::End) } else { items.advance(py, exchange, reply) })
    {
        Ok(Pull::More) => Ok(Some(items)),
        Ok(_) => {
            items.end(py, reply);
            Ok(None)
        }
        Err(error) => {
            items.end(py, reply);
            Err(error)
        }
    }
}

/// `application(environ, start_response)` by vectorcall (PEP 590).
fn call_two<'py>(
    py: Python<'py>,
    application: &Py<PyAny>,
    environ: &Bound<'py, PyAny>,
    start_response: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let args = [environ.as_ptr(), start_response.as_ptr()];
    // SAFETY: attached; `args` holds two live borrowed references, and no keywords are passed.
    unsafe {
        let returned =
            ffi::PyObject_Vectorcall(application.as_ptr(), args.as_ptr(), args.len(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(py, returned)
    }
}

impl Request for Box<Lent> {
    type Door = Exchange;

    fn door(&self) -> &Exchange {
        self.exchange()
    }

    fn ended(&self, _py: Python<'_>) {
        self.end();
    }
}
