//! Workers that give no sign of life: a worker that is stopped, gets no CPU, or hangs.
//!
//! Each worker counts up a number on its board while its loops and its interpreter go on (`threads/pulse.rs` in
//! `server`). A worker whose number stands still is named in the log, and does not count as serving any more. After
//! `--heartbeat-timeout` it is given up: its successor starts at once, and an order to finish its requests is left on
//! its line, in case the worker goes on after all.

use adyton_server::pulse::Ailment;

use crate::workers::limits::Limits;

/// The cells of a worker's board about its signs of life.
#[derive(Clone, Copy)]
pub(crate) struct Heart {
    /// The number of signs.
    pub(crate) beats: u64,
    pub(crate) ailment: Ailment,
}

/// The signs of life of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// The signs of life at the last look.
    beats: u64,
    /// The time since the last sign.
    pub(crate) silent_ms: u64,
    /// Whether the worker does not count as serving.
    pub(crate) is_silent: bool,
}

impl Pulse {
    /// Takes note of the board's number `elapsed_ms` after the last look; returns whether the worker has just become
    /// silent, or has just been heard again.
    pub(crate) fn look(&mut self, beats: u64, elapsed_ms: u64, limits: &Limits) -> bool {
        let has_beaten = std::mem::replace(&mut self.beats, beats) != beats;
        self.silent_ms = if has_beaten { 0 } else { self.silent_ms + elapsed_ms };
        let is_silent = self.silent_ms >= limits.silence_ms();
        std::mem::replace(&mut self.is_silent, is_silent) != is_silent
    }
}

#[cfg(test)]
mod tests {
    use super::Pulse;
    use crate::workers::limits::Limits;

    /// A worker is silent after three beats have not come, and is heard again at the next beat.
    #[test]
    fn silence() {
        let limits = Limits { heartbeat_timeout_ms: 30_000, ..Limits::default() };
        let mut pulse = Pulse::default();

        assert_eq!(Some(1_000), limits.beat_ms());
        assert!(!pulse.look(1, 1_000, &limits));
        assert!(!pulse.look(1, 1_000, &limits));
        assert!(!pulse.look(1, 1_999, &limits));
        assert!(pulse.look(1, 1, &limits));
        assert!(!pulse.look(1, 1_000, &limits), "that is known");
        assert_eq!((4_000, true), (pulse.silent_ms, pulse.is_silent));
        assert!(pulse.look(2, 1_000, &limits));
        assert_eq!((0, false), (pulse.silent_ms, pulse.is_silent));
        assert_eq!(None, Limits::default().beat_ms());
    }
}
