//! One setting: its names, its kind with its range, its default, and its help.

use std::path::PathBuf;

use crate::settings::units::Unit;

/// One setting: everything that the command line, the environment, the help, the reference page and the tests know
/// about it. `S` is where the value is stored: the settings of the server, or of another command.
#[derive(Debug)]
pub struct Row<S: 'static> {
    /// The name, in lower case with hyphens, from which every other spelling follows: `keep-alive-timeout`.
    pub name: &'static str,
    /// The letter of the short flag, for the few that are typed every day.
    pub short: Option<char>,
    /// The heading under which the setting stands in the help and in the reference.
    pub group: &'static str,
    /// How the value is written, which values are allowed, and where the value is stored.
    pub kind: Kind<S>,
    /// The default as a user would write it; empty: unset.
    pub default: &'static str,
    /// A right value that differs from the default: the reference shows it, the tests use it.
    pub example: &'static str,
    /// Whether the setting may be given several times: its values form a list.
    pub repeatable: bool,
    /// A variable of the platform, as `PORT`, that applies if neither the flag nor the `ADYTON_` variable is
    /// given.
    pub ambient: Option<&'static str>,
    /// The innermost table of a file of sites in which the setting may stand.
    pub scope: Scope,
    /// For a setting that a reload cannot change: whether the settings before and after the reload have the same value.
    pub held: Option<fn(&S, &S) -> bool>,
    /// For a list that replaces the list of the enclosing table: empties the list that the table inherited.
    pub clear: Option<fn(&mut S)>,
    /// One line without a full stop, short enough that the line of the short help fits into 100 columns.
    pub help: &'static str,
    /// The purpose, the cost, and the reason for the default.
    pub detail: &'static str,
}

/// Settings that have a section as a part.
pub(crate) trait Has<P>: AsRef<P> + AsMut<P> + 'static {}

impl<S: AsRef<P> + AsMut<P> + 'static, P> Has<P> for S {}

/// A struct of settings that belong together, and their rows. A file of `rows/` holds all about its settings: fields, rows,
/// and the types of values. `S` has the section as a part; a section's own `Default` is blank.
pub(crate) trait Section<S: 'static> {
    /// The heading in the help and in the reference.
    const HEADING: &'static str;
    /// The scope of rows that set none.
    const SCOPE: Scope = Scope::Server;
    /// A row with defaults, from which the other rows take the fields that they do not name.
    const ROW: Row<S> = Row { group: Self::HEADING, scope: Self::SCOPE, ..Row::EMPTY };
    /// The rows, in the order of the help.
    const ROWS: &'static [Row<S>];
}

/// The innermost kind of table in a file of sites that may have a setting. The tables around it may have the setting,
/// too, which then applies to all tables inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// `[server]`.
    Server,
    /// `[[sites]]`.
    Site,
    /// `[[sites.routes]]`.
    Route,
}

/// How a value is written and checked; each kind holds the setter of a field.
#[derive(Debug)]
pub enum Kind<S: 'static> {
    /// A number with a unit, in a range that includes both ends.
    Number {
        /// How the number is written.
        unit: Unit,
        /// The smallest number that is allowed.
        least: u64,
        /// The largest number that is allowed.
        most: u64,
        /// Stores the number.
        set: fn(&mut S, u64),
    },
    /// `on` or `off`; the flag alone means `on`.
    Switch {
        /// Stores the value.
        set: fn(&mut S, bool),
    },
    /// One of a few words.
    Choice {
        /// The words, as written.
        words: &'static [&'static str],
        /// Stores the word with this index.
        set: fn(&mut S, usize),
    },
    /// A path, relative to `--chdir`; whether it exists is looked at later.
    Path {
        /// `FILE` or `DIR`.
        shape: &'static str,
        /// Stores the path.
        set: fn(&mut S, PathBuf),
    },
    /// Anything with a grammar of its own.
    Form {
        /// The grammar in a few letters: `PREFIX=DIR`.
        shape: &'static str,
        /// Reads, checks and stores the value, or returns half a sentence that says what is wrong.
        set: fn(&mut S, &str) -> Result<(), String>,
    },
}

/// Prefix of the names of our variables.
pub(crate) const VARIABLE_PREFIX: &str = "ADYTON_";

// `Clone` is written out, because a derived impl would require bounds on `S`, though a row holds no `S`.
impl<S> Clone for Row<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Row<S> {}

impl<S> Clone for Kind<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Kind<S> {}

impl<S> Row<S> {
    /// A row with defaults, from which the other rows take the fields that they do not name.
    pub(crate) const EMPTY: Self = Self {
        name: "",
        short: None,
        group: "",
        kind: Kind::Switch { set: |_, _| {} },
        default: "",
        example: "",
        repeatable: false,
        ambient: None,
        scope: Scope::Server,
        held: None,
        clear: None,
        help: "",
        detail: "",
    };

    /// Returns the flag: `--keep-alive-timeout`.
    pub fn flag(&self) -> String {
        format!("--{}", self.name)
    }

    /// Returns the variable: `ADYTON_KEEP_ALIVE_TIMEOUT`.
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.name.replace('-', "_").to_ascii_uppercase())
    }

    /// Returns the keyword of `adyton.serve(...)`: `keep_alive_timeout`.
    pub fn keyword(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Whether the flag alone is enough.
    pub fn is_switch(&self) -> bool {
        matches!(self.kind, Kind::Switch { .. })
    }

    /// Returns the placeholder for the value in the help: `BYTES`, `on|off`, `PREFIX=DIR`.
    pub fn shape(&self) -> String {
        match self.kind {
            Kind::Number { unit, .. } => unit.shape().to_owned(),
            Kind::Switch { .. } => "on|off".to_owned(),
            Kind::Choice { words, .. } => words.join("|"),
            Kind::Path { shape, .. } | Kind::Form { shape, .. } => shape.to_owned(),
        }
    }

    /// Whether the one value is several texts with commas between them: a file of sites may have an array instead.
    pub(crate) fn is_list(&self) -> bool {
        !self.repeatable && self.shape().contains(',')
    }

    /// Returns `from 1k to 1m`, for a kind that has a range.
    pub fn range(&self) -> Option<String> {
        match self.kind {
            Kind::Number { unit, least, most, .. } => {
                Some(format!("from {} to {}", unit.show(least), unit.show(most)))
            }
            _ => None,
        }
    }

    /// Returns the example as a file of sites has it: `true`, `16`, `"64k"`.
    pub(crate) fn quoted(&self) -> String {
        match self.example {
            "on" if self.is_switch() => "true".to_owned(),
            "off" if self.is_switch() => "false".to_owned(),
            example if example.bytes().all(|byte| byte.is_ascii_digit()) => example.to_owned(),
            example => format!("{example:?}"),
        }
    }

    /// Reads one value as a user writes it, and stores it.
    ///
    /// # Errors
    ///
    /// Half a sentence that says what is right, to stand behind the name and the value.
    pub fn apply(&self, settings: &mut S, text: &str) -> Result<(), String> {
        if text.contains('\0') {
            // Only a keyword can contain a NUL: arguments and variables that come from the kernel end at the first NUL.
            return Err("a NUL character cannot be part of a setting".to_owned());
        }
        match self.kind {
            Kind::Number { unit, least, most, set } => {
                let number = unit.parse(text).ok_or_else(|| unit.wanted().to_owned())?;
                if number < least || number > most {
                    let range = self.range().unwrap_or_default();
                    return Err(format!("out of range, which is {range}"));
                }
                set(settings, number);
            }
            Kind::Switch { set } => set(settings, switch(text).ok_or("a switch is on or off")?),
            Kind::Choice { words, set } => {
                let index = words.iter().position(|word| word.eq_ignore_ascii_case(text));
                set(settings, index.ok_or_else(|| format!("choose {}", either(words)))?);
            }
            Kind::Path { .. } if text.is_empty() => return Err("write a path".to_owned()),
            Kind::Path { set, .. } => set(settings, text.into()),
            Kind::Form { set, .. } => set(settings, text)?,
        }
        Ok(())
    }
}

/// Reads `on` and `off`, and the words that people and programs write instead in variables.
pub(crate) fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Returns `a, b or c`.
fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
