//! The event loop, connections and timers; knows no Python.
