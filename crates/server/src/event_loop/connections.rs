//! The table of a loop's connections.

use slab::Slab;

use crate::client::connection::Connection;

/// The row of one connection in the table, which stays while the connection is being worked on, or away.
pub(crate) struct Slot {
    /// `None` while it is being worked on.
    connection: Option<Box<Connection>>,
    /// Whether the peer's end was announced, which the kernel does only once.
    ending: bool,
    /// Whether something came while it was away.
    missed: bool,
    /// Whether the connection waits for its next turn. It has only one place in that queue, whatever comes for it
    /// meanwhile.
    is_queued: bool,
}

impl Slot {
    /// The connection, unless it is away or being worked on.
    pub(crate) fn here(&self) -> Option<&Connection> {
        self.connection.as_deref().filter(|connection| !connection.is_away())
    }

    /// Returns the connection like [`Slot::here`], as a mutable reference.
    pub(crate) fn here_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_deref_mut().filter(|connection| !connection.is_away())
    }

    /// Takes the connection, to work on it, unless it is away.
    pub(crate) fn take_here(&mut self) -> Option<Box<Connection>> {
        self.connection.take_if(|connection| !connection.is_away())
    }

    /// Notes that something has come while the connection was away. Returns whether that is the first thing.
    pub(crate) fn miss(&mut self) -> bool {
        !std::mem::replace(&mut self.missed, true)
    }

    /// Notes, if `ending`, that the peer's end was announced.
    pub(crate) fn note_ending(&mut self, ending: bool) {
        self.ending |= ending;
    }

    /// Notes that something has come, if the connection waits for its turn. Returns `false` if the connection does not
    /// wait, and should get a turn now.
    pub(crate) fn hears_while_queued(&mut self, ending: bool) -> bool {
        if !self.is_queued {
            return false;
        }
        let Some(connection) = self.connection.as_deref_mut().filter(|held| !held.is_away()) else {
            return false;
        };
        self.ending |= ending;
        connection.more = true;
        true
    }
}

/// Connections by their keys. A key is used again once its connection is forgotten.
pub(crate) struct Connections {
    slots: Slab<Slot>,
    /// Number of connections that are with other threads, or wait for one.
    pub(crate) away: usize,
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self { slots: Slab::new(), away: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn contains(&self, key: usize) -> bool {
        self.slots.contains(key)
    }

    /// The key that the next connection gets.
    pub(crate) fn next_key(&self) -> usize {
        self.slots.vacant_key()
    }

    pub(crate) fn insert(&mut self, connection: Box<Connection>) {
        self.slots.insert(Slot {
            connection: Some(connection),
            ending: false,
            missed: false,
            is_queued: false,
        });
    }

    /// Forgets a connection. Returns whether it had missed something.
    pub(crate) fn remove(&mut self, key: usize) -> bool {
        self.slots.remove(key).missed
    }

    pub(crate) fn get(&self, key: usize) -> Option<&Slot> {
        self.slots.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: usize) -> Option<&mut Slot> {
        self.slots.get_mut(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Slot)> {
        self.slots.iter_mut()
    }

    /// Puts a connection that was worked on back into its place.
    pub(crate) fn put(&mut self, key: usize, connection: Box<Connection>) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.connection = Some(connection);
        }
    }

    /// Puts a connection back like [`Connections::put`], while its exchange is with the application.
    pub(crate) fn put_away(&mut self, key: usize, connection: Box<Connection>) {
        debug_assert!(connection.is_away(), "its exchange has the outbox");
        self.put(key, connection);
    }

    /// Returns a connection whose exchange is with the application.
    pub(crate) fn kept(&mut self, key: usize) -> Option<&mut Connection> {
        self.slots.get_mut(key)?.connection.as_deref_mut()
    }

    /// Takes the connection of an exchange that comes back. If it is missing, that is a fault of ours (see `guarded` in
    /// `course`).
    #[expect(clippy::unnecessary_box_returns, reason = "it is moved as a pointer, and lives in its box")]
    pub(crate) fn take_away(&mut self, key: usize) -> Box<Connection> {
        let connection = self.slots.get_mut(key).and_then(|slot| slot.connection.take());
        let Some(connection) = connection else { unreachable!("it waits in the table") };
        connection
    }

    /// Whether something came while the connection was away; `true` only at the first call after it came.
    pub(crate) fn take_missed(&mut self, key: usize) -> bool {
        self.slots.get_mut(key).is_some_and(|slot| std::mem::take(&mut slot.missed))
    }

    /// Whether the peer's end was announced; `true` only at the first call after the announcement.
    pub(crate) fn take_ending(&mut self, key: usize) -> bool {
        self.slots.get_mut(key).is_some_and(|slot| std::mem::take(&mut slot.ending))
    }

    /// Whether the peer's end was announced, and not looked at yet.
    pub(crate) fn has_ended(&self, key: usize) -> bool {
        self.slots.get(key).is_some_and(|slot| slot.ending)
    }

    /// Has a connection wait for its turn. `false` if it does already.
    pub(crate) fn enqueue(&mut self, key: usize) -> bool {
        self.slots.get_mut(key).is_some_and(|slot| !std::mem::replace(&mut slot.is_queued, true))
    }

    /// Notes that a connection's turn has come. `None` if it was forgotten meanwhile.
    pub(crate) fn dequeue(&mut self, key: usize) -> Option<()> {
        self.slots.get_mut(key)?.is_queued = false;
        Some(())
    }
}
