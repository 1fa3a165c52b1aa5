//! The Python module `adyton._core`: the only crate that knows Python.
//!
//! | module | holds |
//! | --- | --- |
//! | `serving` | `adyton serve` and `adyton check`: from settings to a running loop |
//! | `hosted` | the interface of the loop to every kind of application |
//! | `wsgi`, `handler`, `scripts` | the kinds: WSGI applications, plain handlers, scripts of a folder |
//! | `authority` | Python functions that authenticate and admit clients |
//! | `exceptions` | an exception of an application becomes a line of the error log |
//! | `values` | values of Python as the server reads and sends them |
//! | `interpreter` | the interpreter, and the threads that attach to it |
//! | `logging` | the error log, as the Python half of the package and `wsgi.errors` reach it |
//! | `programs` | the small process that starts CGI scripts |
//! | `measure`, `importing` | `adyton bench` and `adyton import` |

mod authority;
mod exceptions;
mod handler;
mod hosted;
mod importing;
mod interpreter;
mod logging;
mod measure;
mod programs;
mod scripts;
mod serving;
mod values;
mod wsgi;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use adyton_cli::{Client, Command, Handed, Interface, ProcessCount, To};
use adyton_log::{self as log, messages};
use adyton_process::grant::Grant;
use adyton_sys::stdio;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

use crate::interpreter::threads;
use crate::serving::{Failure, Life};
use crate::values::text::{self, environment, one_line};

/// The server, the classes that it hands to applications, and its command line.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::handler::Request;
    #[pymodule_export]
    use super::logging::{begin_capture, end_lines, put_out, relay, request_id};
    #[pymodule_export]
    use super::programs::start_programs;
    #[pymodule_export]
    use super::values::file_wrapper::FileWrapper;
    #[pymodule_export]
    use super::wsgi::{ErrorBytes, Errors, Input};
    #[pymodule_export]
    use super::{counters, end_with_parent, granted, main, place, serve};
}

/// Runs the command line and returns its exit status: 0 after a clean stop, 1 when the operating
/// system refused something, 2 for a wrong setting, 3 when the application could not be loaded.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>, color: bool) -> u8 {
    let program = if args.first().is_some_and(|word| word == "bench") { "adyton bench" } else { "adyton" };
    let args = match args.into_iter().map(text).collect::<Result<Vec<String>, String>>() {
        Ok(args) => args,
        Err(why) => return refuse(program, &why, 2),
    };
    let handed = match adyton_process::handed(&args) {
        Ok(handed) => handed,
        Err(why) => return refuse(program, &format!("what is served was not handed over: {why}"), 1),
    };
    let handed = handed
        .as_ref()
        .map(|handed| Handed { text: &handed.text, to: handed.group.as_deref().map_or(To::Door, To::Group) });
    let done = match adyton_cli::parse(&args, &environment(), color, handed) {
        Ok(Command::Done(text)) => print(&text),
        Ok(Command::Init(file, text)) => init(&file, &text),
        Ok(Command::Serve(settings)) if settings.processes.processes == ProcessCount::None => {
            serving::serve(py, &settings).map(|done| end(py, done))
        }
        Ok(Command::Serve(settings)) => match serving::supervise(py, &settings, &args, Life::First) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        // The arguments that the user has typed stand behind the command and its note.
        Ok(Command::Succeed(note, settings)) => {
            match serving::supervise(py, &settings, &args[2..], Life::Next(&note)) {
                Ok(status) => return status,
                Err(failure) => Err(failure),
            }
        }
        Ok(Command::Group(told, settings)) => {
            match serving::supervise(py, &settings, &args[2..], Life::Group(&told)) {
                Ok(status) => return status,
                Err(failure) => Err(failure),
            }
        }
        Ok(Command::Prototype(line, settings)) => {
            serving::be_prototype(py, &settings, &line).map(|done| end(py, done))
        }
        Ok(Command::Worker(place, settings)) => {
            serving::work(py, &settings, &place).map(|done| end(py, done))
        }
        Ok(Command::Bench(bench)) => return py.detach(|| measure::bench(&bench)),
        Ok(Command::Compare(words)) => return command(py, "adyton.compare", words),
        Ok(Command::Tune(words)) => return command(py, "adyton.tune", words),
        Ok(Command::Client(client)) => return order(py, &client, color),
        Ok(Command::Import(import)) => return importing::import(&import),
        Ok(Command::Check(settings)) => {
            serving::check(py, &settings).and_then(|found| print(&format!("{found}\n")))
        }
        Ok(Command::Route(question, settings)) => match &settings.sites {
            Some(sites) => sites.explain(&question).map_err(Failure::from).and_then(|text| print(&text)),
            None => Ok(()),
        },
        Err(refused) => Err(serving::refusal(py, refused, args.first().is_some_and(|word| word == "check"))),
    };
    match done {
        Ok(()) => 0,
        Err(Failure::Application) => 3,
        Err(Failure::Said(message, status)) => refuse(program, &message, status),
        Err(Failure::Mistakes(sentences, status)) => refuse_all(program, &sentences, status),
    }
}

/// Prints the output of a command.
fn print(text: &str) -> Result<(), Failure> {
    stdio::print(text).map_err(|error| Failure::Said(error.to_string(), 1))
}

/// Writes a first file of sites, unless the file exists.
fn init(file: &Path, text: &str) -> Result<(), Failure> {
    let shown = file.display();
    let written = File::create_new(file).and_then(|mut made| made.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::Said(format!("{shown} is there already, and was left alone"), 2)
        }
        _ => Failure::Said(format!("{shown} cannot be written: {error}"), 1),
    })?;
    print(&format!(
        "{shown} is written; adyton check {shown} says what is in it, adyton serve {shown} serves it.\n"
    ))
}

/// Converts an argument, which must be text.
fn text(arg: OsString) -> Result<String, String> {
    arg.into_string().map_err(|arg| {
        format!(
            "{} is not UTF-8; bytes that are to be sent can stand in a file, as for --data @FILE or curl --data-binary @FILE",
            arg.display()
        )
    })
}

/// Says why the program does nothing, and returns the exit status.
fn refuse(program: &str, why: &str, status: u8) -> u8 {
    refuse_all(program, &[why.to_owned()], status)
}

/// Prints everything that is wrong, one line each.
fn refuse_all(program: &str, sentences: &[String], status: u8) -> u8 {
    let lines = sentences.iter().map(|why| format!("{program}: {}\n", one_line(why)));
    log::complain(&messages::CANNOT_START, &lines.collect::<String>());
    status
}

/// Ends the Python side of a server that has run in this process.
fn end(py: Python<'_>, done: bool) {
    for call in ["forget_children", "end_timers"] {
        if let Err(error) = py.import("adyton._process.ending").and_then(|module| module.call_method0(call)) {
            log::write(&messages::ENDING_FAILED, format_args!("{call} of the server failed: {error}"));
        }
    }
    logging::end(py);
    if !done {
        threads::leave(py, 0);
    }
}

/// Runs a command that is written in Python, because the command starts programs and waits for them.
fn command(py: Python<'_>, module: &str, words: Vec<String>) -> u8 {
    let status = py.import(module).and_then(|module| module.call_method1("main", (words,))?.extract());
    status.unwrap_or_else(|error: PyErr| {
        // `argparse` has said why, and ends the process with `SystemExit`.
        if let Ok(status) = error.value(py).getattr("code").and_then(|code| code.extract()) {
            return status;
        }
        error.print(py);
        1
    })
}

/// Sends an order to a running server; the exit status is 0 if the server has done it.
fn order(py: Python<'_>, client: &Client, color: bool) -> u8 {
    let Client { order, about, control, json } = client.clone();
    // Ctrl-C ends a live view, not only its current call.
    let default = py.import("signal").and_then(|signal| {
        signal.call_method1("signal", (signal.getattr("SIGINT")?, signal.getattr("SIG_DFL")?))
    });
    if let Err(error) = default {
        eprintln!("adyton: Ctrl-C may not work: {error}");
    }
    py.detach(|| {
        adyton_process::order(order, about.as_deref(), control.as_deref().map(Path::new), json, color)
    })
}

/// Makes this process end when its parent does.
#[pyfunction]
fn end_with_parent() -> std::io::Result<()> {
    adyton_sys::child::end_with_parent()
}

/// The place of this process among workers: `(number, count, generation, group)`; `None` when it serves by itself.
#[pyfunction]
fn place() -> Option<(usize, usize, u32, Option<String>)> {
    threads::place().map(|place| (place.number, place.of, place.generation, place.group))
}

/// Serves an application of this program until a signal stops it; `settings` are the command line's,
/// with underscores in their names.
///
/// Raises `ValueError` for a wrong setting and `OSError` for what the operating system refuses.
#[pyfunction]
#[pyo3(signature = (app=None, /, **settings))]
fn serve(py: Python<'_>, app: Option<Py<PyAny>>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let keywords = settings.map_or_else(|| Ok(Vec::new()), keywords)?;
    let is_for_supervisor =
        |name: &str| adyton_cli::ROWS.iter().any(|row| row.group == "Processes" && row.keyword() == name);
    if let Some((name, _)) =
        keywords.iter().find(|(name, values)| is_for_supervisor(name) && *values != ["0"])
    {
        let hint = "a program serves in its own process, without a supervisor; adyton serve has one";
        return Err(PyValueError::new_err(format!("{name}: {hint}")));
    }
    let settings = adyton_cli::from_keywords(&keywords, &environment())
        .map_err(|failure| PyValueError::new_err(failure.sentences().collect::<Vec<_>>().join("\n")))?;
    let application = app.map(|object| examine(py, object, settings.application.interface)).transpose()?;
    serving::serve_application(py, &settings, application.into_iter().collect()).map(|_| ()).map_err(
        |failure| match failure {
            Failure::Mistakes(sentences, 1) => PyOSError::new_err(sentences.join("\n")),
            Failure::Mistakes(sentences, _) => PyValueError::new_err(sentences.join("\n")),
            Failure::Said(message, 2) => PyValueError::new_err(message),
            Failure::Said(message, _) => PyOSError::new_err(message),
            Failure::Application => PyValueError::new_err("the application could not be loaded"),
        },
    )
}

/// The counters of this process's server; zeros without one.
#[pyfunction]
fn counters(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let counters = threads::running().map(|server| server.counters()).unwrap_or_default();
    let named = [
        ("inline", counters.inline),
        ("handed_over", counters.handed_over),
        ("queued", counters.queued),
        ("turned_away", counters.turned_away),
        ("departed", counters.departed),
        ("timed_out", counters.timed_out),
        ("stuck", counters.stuck),
        ("threads", counters.threads),
        ("threads_busy", counters.threads_busy),
        ("queue_length", counters.queue_length),
    ];
    let dict = PyDict::new(py);
    named.into_iter().try_for_each(|(name, number)| dict.set_item(name, number))?;
    Ok(dict)
}

/// The CPU time per second and the bytes of memory that the kernel grants this process.
#[pyfunction]
fn granted() -> (f64, u64) {
    let grant = Grant::ask();
    (grant.cpus, grant.memory_bytes)
}

fn examine(py: Python<'_>, object: Py<PyAny>, interface: Interface) -> PyResult<serving::Application> {
    let name = object.getattr(py, "__name__").and_then(|name| name.extract::<String>(py));
    let name = name.unwrap_or_else(|_| text::type_name(object.bind(py)));
    serving::examine(py, object, &name, interface)
}

/// Converts keywords of a call to settings: a list of texts for each.
fn keywords(settings: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Vec<String>)>> {
    settings
        .iter()
        .map(|(name, value)| {
            let is_empty_list = value.is_instance_of::<PyList>()
                || value.is_instance_of::<PyTuple>()
                || value.is_instance_of::<PyDict>();
            if is_empty_list && value.is_empty()? {
                let what =
                    format!("{name}: an empty list says neither all nor none; leave it out, or pass None");
                return Err(PyValueError::new_err(what));
            }
            let values = if value.is_none() {
                Vec::new()
            } else if let Ok(pairs) = value.cast::<PyDict>() {
                pairs.iter().map(|(key, value)| format!("{key}={value}")).collect()
            } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
                value.try_iter()?.map(|item| item.and_then(|item| written(&item))).collect::<PyResult<_>>()?
            } else {
                vec![written(&value)?]
            };
            Ok((name.extract()?, values))
        })
        .collect()
}

fn written(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyBool>() {
        Ok(switch) => Ok(if switch.is_true() { "on" } else { "off" }.to_owned()),
        Err(_) => Ok(value.str()?.to_string()),
    }
}
