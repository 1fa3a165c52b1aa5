//! Each target takes all inputs of its corpus, and some thousands that are made from these, the same ones in each run.

mod changes;

use std::fs;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use adyton_fuzz::targets::{ALL, Target};

use changes::Changes;

/// Inputs that are made for each target.
const INPUTS: usize = 10_000;
/// Number of inputs that are made one from another before the next one is made from the corpus again.
const GENERATION: usize = 8;
/// Limit of the time for an input, which only an input that hangs can reach.
const HANGING_AFTER: Duration = Duration::from_secs(120);
/// Limit of memory, which a target reaches only if it allocates as much as its input says.
const BYTES_MAX: u64 = 2 << 30;

/// Makes a test for each target.
macro_rules! each {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        #[test]
        fn all_targets_are_here() {
            let names: Vec<_> = ALL.iter().map(|(name, _)| *name).collect();

            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

each! {
    access_log authorization cache_control chunked coded_head folder_file head import_apache import_gunicorn import_nginx
    import_unit import_uwsgi line passage proxied range received response rewrite script_head site sites_file split
    url_path
}

/// Gives a target all of its inputs.
fn run(name: &str) {
    adyton_sys::process::limit_data(BYTES_MAX);
    let (_, target) = ALL.iter().find(|(other, _)| *other == name).expect("one of the targets");
    let corpus = read(&fuzz().join("corpus").join(name));
    let input = Mutex::new((Instant::now(), Vec::new()));
    let (ended, end) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(|| {
            take_all(*target, name, &corpus, &input);
            drop(ended);
        });
        while end.recv_timeout(HANGING_AFTER / 4) == Err(RecvTimeoutError::Timeout) {
            let (began, input) = &*input.lock().unwrap_or_else(PoisonError::into_inner);
            if began.elapsed() > HANGING_AFTER {
                // `eprintln!` would not do: the harness keeps its output until the test ends.
                let _ =
                    writeln!(io::stderr(), "{name} takes more than {HANGING_AFTER:?} for {}", shown(input));
                #[expect(clippy::disallowed_methods, reason = "the thread that hangs would be waited for")]
                process::exit(1);
            }
        }
    });
}

fn take_all(target: Target, name: &str, corpus: &[Vec<u8>], current: &Mutex<(Instant, Vec<u8>)>) {
    let take = |input: &[u8]| {
        *current.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), input.to_vec());
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
            eprintln!("{name} fails for {}", shown(input));
            resume_unwind(panic);
        }
    };
    take(b"");
    for input in corpus {
        take(input);
    }
    let words = words(&fuzz().join("words.dict"));
    let mut changes = Changes::new(name, corpus, &words);
    for number in 0..INPUTS {
        take(if number % GENERATION == 0 { changes.begin() } else { changes.go_on() });
    }
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Shows an input as a Rust literal.
fn shown(input: &[u8]) -> String {
    format!("b\"{}\"", input.escape_ascii())
}

/// Reads the files of a folder, in the order of their names.
fn read(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder of inputs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file")).collect()
}

/// Reads the words of a dictionary as libFuzzer does: each in quotes, with bytes as `\x0d`.
fn words(file: &Path) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(file).expect("a dictionary");
    let quoted = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (_, behind) = line.split_once('"')?;
        behind.rsplit_once('"').map(|(word, _)| unescaped(word))
    });
    quoted.collect()
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut parts = word.split(r"\x");
    let mut bytes = parts.next().unwrap_or_default().replace('\\', "").into_bytes();
    for part in parts {
        let (digits, behind) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("hexadecimal digits"));
        bytes.extend(behind.replace('\\', "").bytes());
    }
    bytes
}
