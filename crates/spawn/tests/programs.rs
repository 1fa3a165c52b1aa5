//! Programs are started by another process, heard of, and ended.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;

use adyton_spawn::{Heard, Input, Order, Program, Spawner};
use adyton_sys::child::Exit;
use adyton_sys::pipe;
use adyton_sys::socket::{Until, wait};

/// A bound against hanging, in ms.
const PATIENCE_MS: u64 = 60_000;

/// The variable that makes a process of this test the small one.
const AS_HELPER: &str = "ADYTON_TEST_AS_HELPER";

/// The small process: this test program, with this test alone.
#[test]
fn helper() -> io::Result<()> {
    if std::env::var_os(AS_HELPER).is_some() { adyton_spawn::serve() } else { Ok(()) }
}

fn spawner() -> io::Result<Spawner> {
    let own = std::env::current_exe()?;
    let words = ["--exact", "helper", "--nocapture"].map(Into::into);
    let command = ["/usr/bin/env".into(), format!("{AS_HELPER}=1").into(), own.into()];
    Ok(Spawner::new(command.into_iter().chain(words).collect()))
}

fn shell(command: &str) -> Order {
    Order {
        path: b"/bin/sh".to_vec(),
        may_be_link: true,
        arguments: vec![b"sh".to_vec(), b"-c".to_vec(), command.into()],
        environment: b"PATH=/usr/bin:/bin\0".to_vec(),
        folder: b"/usr".to_vec(),
        ..Order::default()
    }
}

fn start(spawner: &Spawner, order: &Order, input: &Input<'_>) -> io::Result<Program> {
    let input = input.open()?;
    spawner.start(order, input.as_fd())
}

fn read(pipe: &impl AsFd) -> io::Result<String> {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match pipe::read_now(pipe, &mut buffer)? {
            None if wait(pipe, Until::Readable, PATIENCE_MS)? => {}
            None => return Err(io::ErrorKind::TimedOut.into()),
            Some(0) => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Some(bytes) => text.extend_from_slice(&buffer[..bytes]),
        }
    }
}

fn hear(program: &Program) -> io::Result<Heard> {
    wait(&program.line, Until::Readable, PATIENCE_MS)?;
    program.line.hear().ok_or_else(|| io::ErrorKind::TimedOut.into())
}

#[test]
fn one_runs() -> io::Result<()> {
    let spawner = spawner()?;
    let program = start(&spawner, &shell("pwd; cat; echo wrong >&2; exit 7"), &Input::Bytes(b"body"))?;

    assert_eq!("/usr\nbody", read(&program.output)?);
    assert_eq!("wrong\n", read(&program.errors)?);
    assert!(matches!(hear(&program)?, Heard::Exit(Exit::Status(7))));
    program.line.end();
    assert!(matches!(hear(&program)?, Heard::Gone));
    Ok(())
}

/// Bodies of any size arrive, even if a pipe cannot hold them, and so does an environment that is longer than a
/// message.
#[test]
fn much_arrives() -> io::Result<()> {
    let spawner = spawner()?;
    for bytes in [0, 1, 64 << 10, (64 << 10) + 1, 3 << 20] {
        let body = vec![b'x'; bytes];
        let input = if bytes == 0 { Input::Empty } else { Input::Bytes(&body) };
        let program = start(&spawner, &shell("wc -c"), &input)?;
        assert_eq!(bytes.to_string(), read(&program.output)?.trim());
    }
    let environment = [b"A=".to_vec(), vec![b'x'; 100_000], vec![0]].concat();
    let order = Order { environment, ..shell("echo ${#A}") };

    assert_eq!("100000\n", read(&start(&spawner, &order, &Input::Empty)?.output)?);
    Ok(())
}

/// A program that is told to end ends with all processes that it has started, even if it resists. A program whose line
/// is dropped ends in the same way.
#[test]
fn one_ends() -> io::Result<()> {
    let spawner = spawner()?;
    let stays = shell("trap '' TERM; sleep 600 & echo begun; wait; sleep 600");
    let program = start(&spawner, &stays, &Input::Empty)?;
    wait(&program.output, Until::Readable, PATIENCE_MS)?;
    program.line.end();

    assert_eq!("begun\n", read(&program.output)?, "both have closed it");
    assert!(matches!(hear(&program)?, Heard::Exit(Exit::Signal(9))));
    assert!(matches!(hear(&program)?, Heard::Gone));

    let Program { output, line, .. } = start(&spawner, &shell("echo begun; sleep 600"), &Input::Empty)?;
    wait(&output, Until::Readable, PATIENCE_MS)?;
    drop(line);
    assert_eq!("begun\n", read(&output)?);
    Ok(())
}

/// If the small process is killed, its programs end with all processes that they have started, and another small
/// process starts the next program.
#[test]
fn the_helper_is_killed() -> io::Result<()> {
    let spawner = spawner()?;
    let command = "trap '' TERM; (sleep 600 & sleep 600) & echo begun; kill -KILL $PPID; sleep 600";
    let program = start(&spawner, &shell(command), &Input::Empty)?;

    assert_eq!("begun\n", read(&program.output)?, "all of them have closed it");
    assert!(matches!(hear(&program)?, Heard::Gone));

    let next = start(&spawner, &shell("echo next"), &Input::Empty)?;
    assert_eq!("next\n", read(&next.output)?);
    Ok(())
}

#[test]
fn what_cannot_start_says_why() -> io::Result<()> {
    let spawner = spawner()?;
    let order = Order { path: b"/nowhere/at/all".to_vec(), ..shell("") };
    let program = start(&spawner, &order, &Input::Empty)?;

    let heard = hear(&program)?;
    assert!(
        matches!(&heard, Heard::NotStarted(error) if error.kind() == io::ErrorKind::NotFound),
        "{heard:?}"
    );
    assert!(matches!(hear(&program)?, Heard::Gone));
    Ok(())
}

/// An order that allows no link runs nothing if its path is a link.
#[test]
fn a_link_is_not_run() -> io::Result<()> {
    let spawner = spawner()?;
    let folder = std::env::temp_dir().join(format!("adyton-spawn-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let link = folder.join("sh");
    std::os::unix::fs::symlink("/bin/sh", &link)?;
    let path = link.into_os_string().into_vec();
    for may_be_link in [false, true] {
        let order = Order { path: path.clone(), may_be_link, ..shell("echo run") };
        let program = start(&spawner, &order, &Input::Empty)?;
        let said = read(&program.output)?;
        assert_eq!(if may_be_link { "run\n" } else { "" }, said);
        assert_eq!(!may_be_link, matches!(hear(&program)?, Heard::NotStarted(_)));
    }
    std::fs::remove_dir_all(folder)
}

#[test]
fn without_a_command_nothing_starts() {
    let error = start(&Spawner::new(Vec::new()), &shell(""), &Input::Empty).err();

    assert_eq!(Some(io::ErrorKind::Unsupported), error.map(|error| error.kind()));
}
