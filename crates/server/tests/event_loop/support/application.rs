//! An application made of a closure, and its host: both note when the loop breaks its promises to a [`Host`] or an
//! [`App`].

use std::cell::{Cell, RefCell};
use std::sync::{Mutex, PoisonError};

use adyton_http::{BadResponse, BodySize};
use adyton_server::{App, Body, Call, Host, LateCall, Outcome, Pull, Reply, Stream};

thread_local! {
    /// Starts another thread of this thread's server; `None` if there can be no other thread.
    pub(crate) static SPAWN: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };


    /// Whether this thread is between `attach` and `detach`.
    static ATTACHED: Cell<bool> = const { Cell::new(false) };
}

/// Promises that loops of this process have broken. They are noted here, because a loop would take a panic for a failed
/// request.
static FAULTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note_unless(right: bool, what: &str) {
    if !right {
        FAULTS.lock().unwrap_or_else(PoisonError::into_inner).push(what.to_owned());
    }
}

/// The bytes of a body that is in memory; empty for any other body.
pub(crate) fn body_bytes(body: &Body<'_>) -> Vec<u8> {
    match body {
        Body::Bytes(bytes) => bytes.to_vec(),
        Body::Memory(pieces) => pieces.to_vec(),
        Body::Empty | Body::File(_) | Body::Live(_) => Vec::new(),
    }
}

/// Runs `work` attached.
pub(crate) fn attached(work: impl FnOnce()) {
    ATTACHED.set(true);
    work();
    ATTACHED.set(false);
}

/// Fails when a loop of this process broke a promise.
pub(crate) fn assert_no_faults() {
    assert_eq!(Vec::<String>::new(), *FAULTS.lock().unwrap_or_else(PoisonError::into_inner));
}

/// A host that notes whether a thread is attached.
pub(crate) struct Witness;

impl Host for Witness {
    fn attach(&self) {
        note_unless(!ATTACHED.replace(true), "attached twice");
    }

    fn detach(&self) {
        note_unless(ATTACHED.replace(false), "detached twice, or on another thread");
    }

    fn spawn(&self) -> bool {
        SPAWN.with_borrow(|spawn| spawn.as_ref().map(|spawn| spawn()).is_some())
    }

    /// Says that the call is in a closure. The call goes on, because no exception can be raised in a closure.
    fn interrupt(&self, _thread: u64, call: &mut dyn LateCall) -> Option<String> {
        let mut is_in = false;
        call.end(&mut || is_in = true);
        is_in.then(|| "in a closure".to_owned())
    }

    fn absolve(&self, _thread: u64) {
        note_unless(ATTACHED.get(), "absolved while detached");
    }
}

/// An application that answers with `answer`.
pub(crate) struct Closure<F> {
    pub(crate) answer: F,
}

impl<F: Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static> App for Closure<F> {
    fn call(&self, call: &mut Call<'_>) -> Outcome {
        note_unless(ATTACHED.get(), "called while detached");
        (self.answer)(call)
    }
}

/// The rest of an answer, made by a closure. Like an object of an interpreter, it may be touched only by attached
/// threads.
struct Pulled<F: FnMut(&mut Reply<'_>) -> Pull + Send> {
    pull: F,
}

impl<F: FnMut(&mut Reply<'_>) -> Pull + Send> Stream for Pulled<F> {
    fn pull(&mut self, reply: &mut Reply<'_>) -> Pull {
        note_unless(ATTACHED.get(), "pulled while detached");
        (self.pull)(reply)
    }
}

impl<F: FnMut(&mut Reply<'_>) -> Pull + Send> Drop for Pulled<F> {
    fn drop(&mut self) {
        note_unless(ATTACHED.get(), "a stream was dropped while detached");
    }
}

/// Answers with a chunked body, which `pull` makes piece by piece.
pub(crate) fn stream(
    reply: &mut Reply<'_>,
    pull: impl FnMut(&mut Reply<'_>) -> Pull + Send + 'static,
) -> Outcome {
    begin(reply, BodySize::Unknown);
    Outcome::Stream(Box::new(Pulled { pull }))
}

/// Answers with a short text.
pub(crate) fn text(reply: &mut Reply<'_>, text: &str) -> Outcome {
    begin(reply, BodySize::Known(text.len() as u64));
    reply.write(text.as_bytes());
    Outcome::Done
}

/// Writes the head of a 200.
pub(crate) fn begin(reply: &mut Reply<'_>, size: BodySize) {
    let written: Result<(), BadResponse> = reply.head(200, b"OK", size, |_| Ok(()));
    written.expect("nothing in this head can be wrong");
}

/// A piece of a large body; it begins with its own number.
pub(crate) fn piece(number: usize, bytes: usize) -> Vec<u8> {
    let mut piece = format!("{number:08}").into_bytes();
    piece.resize(bytes, b'.');
    piece
}
