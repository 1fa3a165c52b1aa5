//! A gate inside the application: while a call stands there, the loop does nothing else.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use adyton_server::{Call, Outcome};

use super::{PATIENCE, text};

/// A gate at which calls for `/slow` wait until the test lets them go on.
pub(crate) struct Gate {
    arrived: (Sender<()>, Mutex<Receiver<()>>),
    open: (Sender<()>, Mutex<Receiver<()>>),
}

impl Gate {
    /// A closed gate.
    pub(crate) fn closed() -> Arc<Self> {
        let pair = || {
            let (sender, receiver) = mpsc::channel();
            (sender, Mutex::new(receiver))
        };
        Arc::new(Self { arrived: pair(), open: pair() })
    }

    /// An application that says hello, from behind the gate if it is asked for `/slow`.
    pub(crate) fn application(self: &Arc<Self>) -> impl Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static {
        let gate = Arc::clone(self);
        move |call| {
            if call.request.path() == b"/slow" {
                gate.stand();
            }
            text(&mut call.reply, "hello")
        }
    }

    /// A call stands here until the gate opens.
    pub(crate) fn stand(&self) {
        self.arrived.0.send(()).unwrap();
        self.open.1.lock().unwrap().recv_timeout(PATIENCE).expect("the gate opens");
    }

    /// Waits until a call stands at the gate.
    pub(crate) fn wait(&self) {
        self.arrived.1.lock().unwrap().recv_timeout(PATIENCE).expect("a call comes");
    }

    /// Lets one call go on.
    pub(crate) fn open(&self) {
        self.open.0.send(()).unwrap();
    }
}
