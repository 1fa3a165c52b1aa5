//! Two servers joined by a passage: connections move to the server that answers, and back, and none is lost on its way.

use std::io::Read;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use adyton_files::{Folder, Options};
use adyton_route::{PathPattern, Routes};
use adyton_server::tally::Cell;
use adyton_server::{Action, App, Call, Config, Fixed, Plan, Route, SealKey, Site, SiteLimits};
use adyton_sys::{pass, socket};

use crate::support::{Client, Closure, PATIENCE, SHORT_MS, Server, assert_timed, body_bytes, config, text};

fn prefix(path: &str) -> PathPattern {
    PathPattern::Prefix(path.as_bytes().into())
}

fn plan(routes: Vec<(PathPattern, Action)>) -> Plan {
    let routes: Vec<(PathPattern, Route)> =
        routes.into_iter().map(|(path, action)| (path, action.into())).collect();
    Plan::new(vec![Site::new(Vec::new(), Routes::new(routes), SiteLimits::default(), None)]).unwrap()
}

fn fixed(body: &'static str) -> Action {
    Action::Fixed(Fixed { status: 200, content_type: "text/plain".into(), body: body.as_bytes().into() })
}

const ELSEWHERE: Action = Action::Elsewhere { passage: 0, is_folder: false };

/// Answers with the client's address, and the body.
fn says_peer() -> Arc<dyn App> {
    let answer = |call: &mut Call<'_>| {
        let peer = call.peer.map_or_else(|| "unix".to_owned(), |peer| peer.to_string());
        let body = body_bytes(&call.body);
        text(&mut call.reply, &format!("{peer} {}", String::from_utf8_lossy(&body)))
    };
    Arc::new(Closure { answer })
}

/// The door answers `/here`; the group has the rest.
fn door(config: Config, passage: OwnedFd) -> Server {
    let config = Config { seal_key: Some(SealKey::new([3; 32])), ..config };
    let plan = plan(vec![(prefix(""), ELSEWHERE), (prefix("/here"), fixed("door"))]);
    Server::joined(config, plan, vec![Vec::new()], &[passage])
}

fn group(passage: OwnedFd) -> Server {
    let plan = plan(vec![(prefix(""), Action::App(says_peer())), (prefix("/here"), ELSEWHERE)]);
    Server::joined(config(), plan, vec![Vec::new()], &[passage])
}

fn ask(client: &mut Client, request: &str) -> String {
    client.send(request);
    let answer = client.answer();
    assert_eq!(200, answer.status, "{request}: {}", answer.text());
    answer.text().to_owned()
}

/// One connection asks both servers in turn, with bodies of every kind; the address of its client must stay known.
#[test]
fn there_and_back() {
    let (one, other) = pass::passage().unwrap();
    let (door, group) = (door(config(), one), group(other));
    let mut client = door.client();
    let own = client.socket.local_addr().unwrap().to_string();
    let long = "x".repeat(100_000);
    for round in 0..20 {
        assert_eq!("door", ask(&mut client, "GET /here HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(format!("{own} "), ask(&mut client, "GET /app HTTP/1.1\r\nHost: a\r\n\r\n"));
        let with = format!("POST /app HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nno {round:2}");
        assert_eq!(format!("{own} no {round:2}"), ask(&mut client, &with));
        assert_eq!("door", ask(&mut client, "GET /here HTTP/1.1\r\nHost: a\r\n\r\n"));
        let chunked =
            "POST /app HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(format!("{own} abc"), ask(&mut client, chunked));
        assert_eq!("door", ask(&mut client, "GET /here HTTP/1.1\r\nHost: a\r\n\r\n"));
        let large = format!("POST /app HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{long}");
        assert_eq!(format!("{own} {long}"), ask(&mut client, &large));
    }
    drop(client);
    door.stop();
    group.stop();
}

/// Many pipelined requests, for both servers in turn, must be answered in order.
#[test]
fn pipelined() {
    let (one, other) = pass::passage().unwrap();
    let (door, group) = (door(config(), one), group(other));
    let mut client = door.client();
    let own = client.socket.local_addr().unwrap().to_string();
    let both = "GET /here HTTP/1.1\r\nHost: a\r\n\r\nGET /app HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(both.repeat(100));
    for _ in 0..100 {
        assert_eq!("door", client.answer().text());
        assert_eq!(format!("{own} "), client.answer().text());
    }
    drop(client);
    door.stop();
    group.stop();
}

/// Connections that no group takes wait in the passage, and when it is full, at the door. Clients that wait there too
/// long get a 503, and a group that starts later must answer the other clients.
#[test]
fn full() {
    let (one, other) = pass::passage().unwrap();
    let door = door(Config { queue_timeout_ms: SHORT_MS, ..config() }, one);
    let since = Instant::now();
    // A message of this size fills the buffer of the passage soon.
    let body = "x".repeat(60_000);
    let request = format!("POST /app HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n{body}");
    let mut clients: Vec<Client> = (0..32).map(|_| door.client()).collect();
    for client in &mut clients {
        client.send(&request);
    }
    let refused = || door.tally.get(Cell::NoGroup);
    let passed = || door.tally.get(Cell::PassedOn);
    while refused() + passed() < 32 {
        assert!(since.elapsed() < PATIENCE);
        thread::yield_now();
    }
    assert_timed(since, SHORT_MS);
    assert!(refused() > 0 && passed() > 0, "{} {}", refused(), passed());

    let group = group(other);
    let answers: Vec<u16> = clients.iter_mut().map(|client| client.answer().status).collect();

    assert_eq!(u64::try_from(answers.iter().filter(|&&status| status == 200).count()).unwrap(), passed());
    assert_eq!(u64::try_from(answers.iter().filter(|&&status| status == 503).count()).unwrap(), refused());
    drop(clients);
    door.stop();
    group.stop();
}

/// If the passage is full again and again, but has room again in time, all requests must be answered.
#[test]
fn room_again() {
    let (one, other) = pass::passage().unwrap();
    let door = door(config(), one);
    let body = "x".repeat(60_000);
    let request = format!("POST /app HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n{body}");
    let mut clients: Vec<Client> = (0..64).map(|_| door.client()).collect();
    for client in &mut clients {
        client.send(&request);
    }
    let group = group(other);
    for client in &mut clients {
        assert_eq!(200, client.answer().status);
    }
    drop(clients);
    door.stop();
    group.stop();
}

/// If each of two servers holds that the other should answer, the client gets a 503, and the request does not go back
/// and forth for ever.
#[test]
fn no_agreement() {
    let (one, other) = pass::passage().unwrap();
    let door = door(config(), one);
    let lost = plan(vec![(prefix(""), ELSEWHERE)]);
    let group = Server::joined(config(), lost, vec![Vec::new()], &[other]);
    let mut client = door.client();
    client.send("GET /app HTTP/1.1\r\nHost: a\r\n\r\n");

    let answer = client.answer();

    assert_eq!(503, answer.status);
    assert!(answer.text().contains("do not agree"), "{}", answer.text());
    drop(client);
    door.stop();
    group.stop();
}

/// The door does not accept sockets that a group made itself as clients: it drops them without an answer, and serves
/// other clients.
#[test]
fn strangers() {
    let (one, other) = pass::passage().unwrap();
    let (forger, group_end) = (other.try_clone().unwrap(), other);
    let door = door(config(), one);
    let (mine, theirs) = socket::pair().unwrap();
    let mut message = vec![0; 64];
    message[0] = 1;
    message.extend_from_slice(b"GET /here HTTP/1.1\r\nHost: a\r\n\r\n");
    pass::send(&forger, &message, &[std::os::fd::AsFd::as_fd(&theirs)]).unwrap();
    pass::send(&forger, b"short", &[std::os::fd::AsFd::as_fd(&theirs)]).unwrap();
    pass::send(&forger, b"without a descriptor", &[]).unwrap();
    drop(theirs);

    // The connection ends without an answer.
    let mut buffer = [0; 16];
    assert!(socket::wait(&mine, socket::Until::Readable, 20_000).unwrap());
    assert_eq!(Some(0), socket::recv(&mine, &mut buffer).unwrap());
    let group = group(group_end);
    let mut client = Client::connect(SocketAddr::clone(&door.address));
    client.send("GET /app HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(200, client.answer().status);
    drop(client);
    door.stop();
    group.stop();
}

/// A group believes the door, but takes only connected stream sockets: listeners, unconnected sockets and pipes must be
/// closed at once, and other clients must be served.
#[test]
fn no_connections() {
    let (one, other) = pass::passage().unwrap();
    let forger = one.try_clone().unwrap();
    let (door, group) = (door(config(), one), group(other));
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = socket::listen_tcp(local, 8, false).unwrap();
    let address = socket::local_address(&listener).unwrap().unwrap();
    let unconnected = socket::listen_tcp(local, 8, false).unwrap();
    socket::shutdown(&unconnected);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut message = vec![0; 64];
    message[0] = 1;
    let whole = [&message[..], b"GET /app HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
    for bytes in [message, whole] {
        for strange in [listener.as_fd(), unconnected.as_fd(), writer.as_fd()] {
            pass::send(&forger, &bytes, &[strange]).unwrap();
        }
    }
    drop((listener, unconnected, writer));

    // The group has closed its descriptors of the pipe and of the listener.
    assert_eq!(0, (&reader).read(&mut [0; 16]).unwrap());
    let mut client = door.client();
    assert!(ask(&mut client, "GET /app HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("127.0.0.1"));
    let since = Instant::now();
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(since.elapsed() < PATIENCE);
        thread::yield_now();
    }
    drop(client);
    door.stop();
    group.stop();
}

/// A passage whose peer has closed is no longer polled, because the kernel would report the hang-up for ever.
#[test]
fn ended() {
    let (one, other) = pass::passage().unwrap();
    let door = door(config(), one);
    let mut client = door.client();
    assert_eq!("door", ask(&mut client, "GET /here HTTP/1.1\r\nHost: a\r\n\r\n"));
    drop(other);

    let waits = door.waits();
    client.expect_silence();
    let waits = door.waits() - waits;
    assert!(waits < 20, "the loop spins: it has waited {waits} times");

    client.send("GET /app HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(503, client.answer().status);
    drop(client);
    door.stop();
}

/// If a group keeps a descriptor of a connection that it has passed back, and makes it blocking, the door must still
/// not block when it receives or sends.
#[test]
fn made_to_wait() {
    const LARGE_BYTES: usize = 32 << 20;
    let (one, group) = pass::passage().unwrap();
    let body = vec![b'x'; LARGE_BYTES].into();
    let large = Action::Fixed(Fixed { status: 200, content_type: "text/plain".into(), body });
    let config_of_door = Config { seal_key: Some(SealKey::new([3; 32])), ..config() };
    let routes = vec![(prefix(""), ELSEWHERE), (prefix("/here"), fixed("door")), (prefix("/wide"), large)];
    let door = Server::joined(config_of_door, plan(routes), vec![Vec::new()], &[one]);
    let mut clients = Vec::new();
    for path in ["/here", "/wide"] {
        let mut client = door.client();
        client.send("GET /away HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(socket::wait(&group, socket::Until::Readable, 20_000).unwrap());
        let (bytes, descriptors) = pass::receive(&group).unwrap().unwrap();
        socket::set_waits(&descriptors[0], true).unwrap();
        let bytes = [&bytes[..64], format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()].concat();
        pass::send(&group, &bytes, &[descriptors[0].as_fd()]).unwrap();
        // The door has begun to answer, and the client takes no more.
        assert!(socket::wait(&client.socket, socket::Until::Readable, 20_000).unwrap());
        clients.push((client, descriptors));

        let mut other = door.client();
        assert_eq!("door", ask(&mut other, "GET /here HTTP/1.1\r\nHost: a\r\n\r\n"), "{path}");
    }
    for (client, _) in &mut clients {
        assert_eq!(200, client.answer().status);
    }
    drop(clients);
    door.stop();
}

/// If a folder of the door lacks a file, the group must get the request, and must not send it back to that folder.
#[test]
fn missed() {
    let (one, other) = pass::passage().unwrap();
    let place = std::env::temp_dir().join(format!("adyton-passages-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("a.txt"), "a file").unwrap();
    let folder = Folder::open(Options { fall_through: true, ..Options::new(&place) }).unwrap();
    let routes = || (PathPattern::Prefix(Box::default()), PathPattern::Prefix(Box::default()));
    let ((first, second), (third, fourth)) = (routes(), routes());
    let config_of_door = Config { seal_key: Some(SealKey::new([3; 32])), ..config() };
    let of_door = plan(vec![(first, Action::Files(0)), (second, ELSEWHERE)]);
    let door = Server::joined(config_of_door, of_door, vec![vec![folder]], &[one]);
    let files = Action::Elsewhere { passage: 0, is_folder: true };
    let of_group = plan(vec![(third, files), (fourth, Action::App(says_peer()))]);
    let group = Server::joined(config(), of_group, vec![Vec::new()], &[other]);
    let mut client = door.client();
    for _ in 0..3 {
        assert_eq!("a file", ask(&mut client, "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(ask(&mut client, "GET /b.txt HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("127.0.0.1"));
        assert!(
            ask(
                &mut client,
                "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
            )
            .ends_with(" x")
        );
    }
    drop(client);
    door.stop();
    group.stop();
    std::fs::remove_dir_all(&place).unwrap();
}
