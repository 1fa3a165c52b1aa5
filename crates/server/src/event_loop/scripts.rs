//! The scripts that run for a loop's connections, or go on without them.

use std::collections::HashMap;

use slab::Slab;

use crate::cgi::Script;

/// A timer that has fired: the key of a connection with the tick of its deadline, or, from [`FIRST_SCRIPT`] on, the
/// number of a script.
pub(crate) type Fired = (usize, u64);

/// The offset of the numbers of scripts among timers: beyond all keys of connections.
pub(crate) const FIRST_SCRIPT: usize = 1 << (usize::BITS - 2);

/// The scripts of a loop by their numbers, which are used again once their scripts are forgotten.
#[derive(Default)]
pub(crate) struct Scripts {
    all: Slab<Script>,
    /// Numbers of scripts, by the keys of the connections whose requests they answer.
    of_clients: HashMap<usize, usize>,
}

impl Scripts {
    /// Returns the number that the next script gets.
    pub(crate) fn next_number(&self) -> usize {
        self.all.vacant_key()
    }

    /// Keeps a script that answers the request of connection `key`.
    pub(crate) fn insert(&mut self, mut script: Script, key: usize) {
        script.client = Some(key);
        let number = self.all.insert(script);
        self.of_clients.insert(key, number);
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut Script> {
        self.all.get_mut(number)
    }

    /// Returns the number of the script that answers the request of connection `key`.
    pub(crate) fn of_client(&self, key: usize) -> Option<usize> {
        self.of_clients.get(&key).copied()
    }

    /// Releases a connection's script, which goes on by itself.
    pub(crate) fn release(&mut self, key: usize, now_ms: u64) {
        if let Some(script) = self.of_clients.remove(&key).and_then(|number| self.all.get_mut(number)) {
            script.release(now_ms);
        }
    }

    /// Ends the script of a connection that is forgotten.
    pub(crate) fn leave(&mut self, key: usize) {
        if let Some(script) = self.of_clients.remove(&key).and_then(|number| self.all.get_mut(number)) {
            script.release(0);
            script.end();
        }
    }

    /// Forgets a script.
    pub(crate) fn remove(&mut self, number: usize) -> Option<Script> {
        let script = self.all.try_remove(number)?;
        if let Some(key) = script.client {
            self.of_clients.remove(&key);
        }
        Some(script)
    }

    /// Returns the time at which the next script is due, in ms of the monotonic clock.
    #[inline]
    pub(crate) fn due_ms(&self) -> Option<u64> {
        if self.all.is_empty() { None } else { self.first_due_ms() }
    }

    #[inline(never)]
    fn first_due_ms(&self) -> Option<u64> {
        self.all.iter().filter_map(|(_, script)| script.due_ms()).min()
    }

    /// Adds the scripts that are due.
    #[inline]
    pub(crate) fn take_due(&self, now_ms: u64, due: &mut Vec<Fired>) {
        if !self.all.is_empty() {
            self.add_due(now_ms, due);
        }
    }

    #[inline(never)]
    fn add_due(&self, now_ms: u64, due: &mut Vec<Fired>) {
        let is_due = |script: &Script| script.due_ms().is_some_and(|due_ms| due_ms <= now_ms);
        let all = self.all.iter().filter(|(_, script)| is_due(script));
        due.extend(all.map(|(number, _)| (FIRST_SCRIPT + number, 0)));
    }
}
