//! Whether another program is to take the place of this one (SIGUSR2).

/// How far another program has come on its way into this one's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Succession {
    /// Nobody has asked for it.
    #[default]
    Unasked,
    /// It is to be tried out.
    Wanted,
    /// A process shows whether it can be started, with these settings.
    Tried {
        pid: u32,
        /// Until when it has to be done; `None`: it was not, and has been killed.
        due_ms: Option<u64>,
    },
    /// It can be: its time comes when workers are not between two states.
    Proven,
    /// Whoever has asked how things stand gets the answer first.
    Closing,
}

impl Succession {
    /// The process of the trial.
    pub(crate) fn trial(self) -> Option<u32> {
        if let Self::Tried { pid, .. } = self { Some(pid) } else { None }
    }

    /// Whether a program is on its way whose trial is not to be repeated.
    pub(crate) fn has_begun(self) -> bool {
        matches!(self, Self::Tried { .. } | Self::Closing)
    }
}
