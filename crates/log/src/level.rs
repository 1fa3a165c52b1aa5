//! How much a message matters: four levels, by name and in order.

/// How much a message matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Details that help to find a fault: each refused request, each connection that ended early.
    Debug,
    /// Actions that the server takes of its own accord.
    #[default]
    Info,
    /// A condition that is probably not intended.
    Warning,
    /// A failure to serve one or more requests as they should be.
    Error,
}

impl Level {
    /// Returns the level with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Debug, Self::Info, Self::Warning, Self::Error].into_iter().find(|level| level.name() == name)
    }

    /// Returns `debug`, `info`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
