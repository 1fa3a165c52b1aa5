//! Connections between a door and a group, in every order of events: none is lost, none is answered twice.
//!
//! Each process here is a real loop, with real sockets, and real passages to the other processes. Threads and time are
//! left out: each step is an [`Event`], and every event that may happen is tried in every state, until no new states
//! are found. A state is known by its visible part ([`World::seen`]). Two states with equal visible parts may still
//! differ in a hidden part (an event that the kernel owes a loop). So after each event the test also checks that from
//! there on everything comes to its end.
//!
//! The table of the states that this test goes through is in `docs/design/groups.md`.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adyton_log::Level;
use adyton_route::{PathPattern, Routes};
use adyton_sys::board::Board;
use adyton_sys::wake::Wake;
use adyton_sys::{pass, socket};

use super::arrivals::welcome;
use super::rounds::{advance, close_idle, time_out, wait};
use super::{Advance, Loop, Parts};
use crate::board::tally::{Cell, Tally};
use crate::client::connection::Phase;
use crate::client::passage::{self, Passage, Passenger, SealKey, TurnedBack, TurningBack};
use crate::common::Ending;
use crate::config::Config;
use crate::site::limits::SiteLimits;
use crate::site::plan::{Action, Fixed, Plan, Route, Site};
use crate::threads::desk::Desk;
use crate::threads::shared::Shared;

/// An event; processes, clients and passages are named by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A client sends its next request.
    Ask(usize),
    /// A client leaves.
    Leave(usize),
    /// A process does everything that it can do without waiting.
    Run(usize),
    /// All connections that wait for room at a process have waited for as long as they may.
    Expire(usize),
    /// A process is killed, with all its connections.
    Kill(usize),
    /// A process that was killed is started again.
    Start(usize),
    /// A process is told to stop, and its idle connections have had their time.
    Stop(usize),
    /// The group at the end of a passage dies, and does not start again.
    Fail(usize),
    /// The group that died starts.
    Mend(usize),
    /// The supervisor gives back a connection that waits for the group.
    TurnBack(usize),
}

/// A process, in a scenario.
struct Role {
    is_door: bool,
    /// The process's passages; it sends into the first of them.
    passages: &'static [usize],
    /// Whether the process answers requests; if not, it passes on every connection.
    answers: bool,
}

/// The first state of a world, and the events that may happen in it.
struct Scenario {
    name: &'static str,
    passages: usize,
    processes: &'static [Role],
    /// For each client the process that accepts it, and the paths of its requests.
    clients: &'static [(usize, &'static [&'static str])],
    /// Whether the passages are full at first, on the way to the group and to the door.
    is_full: [bool; 2],
    /// Number of faults and orders that happen.
    faults: usize,
    /// The faults and orders that may happen, each with any number.
    may_happen: &'static [fn(usize) -> Event],
    /// Whether the whole server stops when its door gets the order; if not, another version takes the place of the
    /// door.
    is_end: bool,
}

const DOOR: Role = Role { is_door: true, passages: &[0], answers: true };
const GROUP: Role = Role { is_door: false, passages: &[0], answers: true };
const STRANGER: Role = Role { is_door: false, passages: &[0], answers: false };

/// The path that the group answers, and the path that the door answers.
const THERE: &str = "/group";
const HERE: &str = "/door";

const QUIET: Scenario = Scenario {
    name: "two clients, there and back",
    passages: 1,
    processes: &[DOOR, GROUP, GROUP],
    clients: &[(0, &[THERE, HERE]), (0, &[THERE])],
    is_full: [false, false],
    faults: 0,
    may_happen: &[],
    is_end: false,
};

static SCENARIOS: [Scenario; 8] = [
    QUIET,
    Scenario { name: "passages that are full", is_full: [true, true], ..QUIET },
    Scenario {
        name: "a passage that is full, and clients that leave or wait too long",
        processes: &[DOOR, GROUP],
        is_full: [true, false],
        faults: 2,
        may_happen: &[Event::Leave, Event::Expire],
        ..QUIET
    },
    Scenario {
        name: "processes that are killed",
        processes: &[DOOR, GROUP],
        faults: 2,
        may_happen: &[Event::Kill, Event::Leave],
        ..QUIET
    },
    Scenario {
        name: "a group that dies and does not start",
        processes: &[DOOR, GROUP],
        is_full: [false, true],
        faults: 1,
        may_happen: &[Event::Fail, Event::Kill],
        ..QUIET
    },
    Scenario {
        name: "another version takes the place of the door and of the group",
        passages: 2,
        processes: &[DOOR, GROUP, Role { passages: &[1, 0], ..DOOR }, Role { passages: &[1], ..GROUP }],
        clients: &[(0, &[THERE, HERE]), (2, &[THERE])],
        faults: 3,
        may_happen: &[Event::Stop, Event::Kill],
        ..QUIET
    },
    Scenario {
        name: "the server stops",
        processes: &[DOOR, GROUP],
        clients: &[(0, &[THERE, HERE]), (0, &[THERE, HERE])],
        faults: 2,
        may_happen: &[Event::Stop],
        is_end: true,
        ..QUIET
    },
    Scenario {
        name: "processes that do not agree on who answers",
        processes: &[DOOR, STRANGER],
        clients: &[(0, &[THERE])],
        ..QUIET
    },
];

/// More states than any scenario has.
const STATES_MAX: usize = 50_000;

/// More rounds than it takes until everything that has begun is done, if each process gets a turn in each round.
const ROUNDS_MAX: usize = 64;

/// Length of a message in bytes, so large that few messages fill a passage.
const FILLING_BYTES: usize = 60_000;

/// A process that runs.
struct Process {
    driven: Box<Loop>,
    desk: Desk,
    stop: Arc<AtomicBool>,
}

impl Process {
    fn start(role: &Role, ways: &[Option<Way>], ending: Ending) -> io::Result<Process> {
        let of = |way: &Way| -> io::Result<Passage> {
            let (end, open) =
                if role.is_door { (&way.door, Some((Arc::clone(&way.open), 0))) } else { (&way.group, None) };
            Ok(Passage { end: end.try_clone()?, name: "another".into(), open })
        };
        let there = role.passages.iter().filter_map(|&number| ways[number].as_ref());
        let passages = there.map(of).collect::<io::Result<_>>()?;
        let (wake, stop) = (Arc::new(Wake::new()?), Arc::new(AtomicBool::new(false)));
        let asked = Arc::clone(&stop);
        let asked = Box::new(move || asked.load(Ordering::Relaxed).then_some(ending));
        let seal_key = role.is_door.then(key);
        let config = Config { seal_key, ..Config::default() };
        let wakes = vec![Arc::clone(&wake)];
        let shared = Arc::new(Shared::new(config, plan(role)?, wakes, asked, None, Tally::new()?));
        let (listeners, folders) = (Vec::new(), Vec::new());
        let parts = Parts { listeners, addresses: 1, passages, share: None, folders, wake };
        let desk = Desk::new(&shared.config);
        let mut driven = Box::new(Loop::new(parts, 0, shared)?);
        let now_ms = driven.now_ms;
        // Full passages count as logged already, so nothing about them is logged for a while.
        for &passage in role.passages {
            let _ = driven.departures.note_stuck(passage, now_ms);
        }
        Ok(Process { driven, desk, stop })
    }

    /// Does everything that can be done without waiting. Returns whether the process has ended.
    fn run(&mut self) -> io::Result<bool> {
        loop {
            match advance(&mut self.driven, &mut self.desk) {
                Advance::Errand(_) => return Err(io::Error::other("there is no application")),
                Advance::End => return Ok(true),
                Advance::Wait { .. } => {
                    // A loop that is awake does not wait.
                    self.driven.shared.inboxes[0].asleep.store(false, Ordering::Relaxed);
                    wait(&mut self.driven)?;
                    if !self.driven.poll.has_next() && self.driven.turns.is_empty() {
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn accept(&mut self, client: OwnedFd) {
        let connection = self.driven.new_connection(client, None, 0);
        welcome(&mut self.driven, Box::new(connection), &mut self.desk);
    }

    /// Returns the keys of the connections that wait for room.
    fn departing(&self) -> Vec<usize> {
        let departs = |phase: &Phase| matches!(phase, Phase::Depart(_));
        let all = self.driven.connections.iter();
        let here = all.filter_map(|(key, slot)| Some((key, slot.here()?)));
        here.filter(|(_, connection)| departs(&connection.phase)).map(|(key, _)| key).collect()
    }

    /// Returns the numbers of the process's sockets, and the phase of each connection.
    fn sockets(&self) -> io::Result<Vec<(u64, &'static str)>> {
        let all = self.driven.connections.iter().filter_map(|(_, slot)| slot.here());
        let told = all.map(|connection| {
            let phase = match connection.phase {
                Phase::Head => "head",
                Phase::Upload(_) => "upload",
                Phase::Respond(_) => "respond",
                Phase::Depart(_) => "depart",
                Phase::Linger(_) => "linger",
            };
            Ok((socket::cookie(&connection.outbox().transport)?, phase))
        });
        told.collect()
    }
}

fn key() -> SealKey {
    SealKey::new([7; 32])
}

/// Makes the plan of a process: paths that it answers itself, and paths that the other side answers.
fn plan(role: &Role) -> io::Result<Plan> {
    let elsewhere = || Action::Elsewhere { passage: 0, is_folder: false };
    let own = if role.is_door { HERE } else { THERE };
    let fixed = Fixed { status: 200, content_type: "text/plain".into(), body: own.as_bytes().into() };
    let prefix = |path: &str| PathPattern::Prefix(path.as_bytes().into());
    let mut routes: Vec<(PathPattern, Route)> = vec![(prefix(""), elsewhere().into())];
    if role.answers {
        routes.push((prefix(own), Action::Fixed(fixed).into()));
    }
    let site = Site::new(Vec::new(), Routes::new(routes), SiteLimits::default(), None);
    Plan::new(vec![site]).map_err(|_| io::Error::other("no plan"))
}

/// A passage, as the supervisor has it.
struct Way {
    door: OwnedFd,
    group: OwnedFd,
    /// Whether there is a process at the group's end.
    open: Arc<Board>,
    back: TurningBack,
}

impl Way {
    fn new(is_full: [bool; 2]) -> io::Result<Way> {
        let (door, group) = pass::passage()?;
        let open = Arc::new(Board::new(1)?);
        let way = Way { door, group, open, back: TurningBack::default() };
        way.set_open(true);
        for (end, _) in [&way.door, &way.group].into_iter().zip(is_full).filter(|(_, is_full)| *is_full) {
            // The passage is filled with clients that have gone.
            let (client, _) = socket::pair()?;
            let passenger = Passenger { peer: None, listener: 0, hops: 1, has_missed: false };
            let seal = passenger.seal(&key(), &client)?;
            let bytes = vec![b'x'; FILLING_BYTES];
            while passage::send(end, passenger, &seal, &bytes, &client)? {}
        }
        Ok(way)
    }

    fn set_open(&self, open: bool) {
        self.open.cells().iter().for_each(|cell| cell.store(open.into(), Ordering::Relaxed));
    }

    fn is_open(&self) -> bool {
        self.open.cells().iter().all(|cell| cell.load(Ordering::Relaxed) == 1)
    }

    /// Whether a connection waits for the group.
    fn is_knocked_at(&self) -> io::Result<bool> {
        Ok(self.back.holds_one() || socket::wait(&self.group, socket::Until::Readable, 0)?)
    }
}

/// A client.
struct Client {
    socket: Option<OwnedFd>,
    /// The number of the socket that the processes pass on.
    cookie: u64,
    paths: &'static [&'static str],
    asked: usize,
    received: Vec<u8>,
    /// Whether the server has ended the connection.
    is_closed: bool,
    /// Whether the client has left, or its connection was in a process that was killed.
    is_given_up: bool,
}

impl Client {
    /// Returns the answers so far; each comes whole.
    fn answers(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.received).into_owned();
        let word = |answer: &str| {
            let (status, body) = (&answer[..3], answer.rsplit("\r\n").next().unwrap_or_default());
            if status == "200" { body.to_owned() } else { status.to_owned() }
        };
        text.split("HTTP/1.1 ").skip(1).map(word).collect()
    }

    /// Reads the bytes that have come.
    fn read(&mut self) {
        let mut buffer = [0; 4096];
        while let Some(socket) = &self.socket {
            match socket::recv(socket, &mut buffer) {
                Ok(None) => break,
                Ok(Some(bytes)) if bytes > 0 => self.received.extend_from_slice(&buffer[..bytes]),
                _ => (self.socket, self.is_closed) = (None, true),
            }
        }
    }
}

struct World {
    scenario: &'static Scenario,
    /// The passages; `None` in the place of a passage whose version of the server has ended.
    ways: Vec<Option<Way>>,
    processes: Vec<Option<Process>>,
    /// Whether each process was told to stop.
    are_stopping: Vec<bool>,
    clients: Vec<Client>,
    faults_left: usize,
}

impl World {
    fn new(scenario: &'static Scenario) -> io::Result<World> {
        let is_full = |number| if number == 0 { scenario.is_full } else { [false, false] };
        let ways = (0..scenario.passages).map(|number| Way::new(is_full(number)).map(Some));
        let count = scenario.processes.len();
        let mut world = World {
            scenario,
            ways: ways.collect::<io::Result<_>>()?,
            processes: (0..count).map(|_| None).collect(),
            are_stopping: vec![false; count],
            clients: Vec::new(),
            faults_left: scenario.faults,
        };
        (0..count).try_for_each(|process| world.start(process))?;
        for &(process, paths) in scenario.clients {
            let (ours, theirs) = socket::pair()?;
            world.clients.push(Client {
                socket: Some(ours),
                cookie: socket::cookie(&theirs)?,
                paths,
                asked: 0,
                received: Vec::new(),
                is_closed: false,
                is_given_up: false,
            });
            if let Some(process) = &mut world.processes[process] {
                process.accept(theirs);
            }
        }
        Ok(world)
    }

    /// Returns the world after these events.
    fn replayed(scenario: &'static Scenario, events: &[Event]) -> io::Result<World> {
        let mut world = World::new(scenario)?;
        events.iter().try_for_each(|event| world.happen(*event))?;
        Ok(world)
    }

    /// Returns the processes at the group's end of a passage.
    fn group_of(&self, way: usize) -> Vec<usize> {
        let of = |role: &Role| !role.is_door && role.passages[0] == way;
        (0..self.processes.len()).filter(|&process| of(&self.scenario.processes[process])).collect()
    }

    /// Whether no process of the door sends into this passage any more.
    fn is_leaving(&self, way: usize) -> bool {
        let roles = self.scenario.processes.iter().enumerate();
        let mut doors = roles.filter(|(_, role)| role.is_door && role.passages[0] == way);
        doors.all(|(process, _)| self.are_stopping[process] && self.processes[process].is_none())
    }

    /// Whether the group at the end of a passage has left.
    fn is_over(&self, way: usize) -> bool {
        self.is_leaving(way) && self.group_of(way).iter().all(|&process| self.processes[process].is_none())
    }

    /// Whether the supervisor has a connection to give back, or a passage to end.
    fn turns_back(&self, number: usize) -> io::Result<bool> {
        let Some(way) = &self.ways[number] else { return Ok(false) };
        Ok(self.is_over(number) || (!way.is_open() && way.is_knocked_at()?))
    }

    fn may_start(&self, process: usize) -> bool {
        let role = &self.scenario.processes[process];
        let way = self.ways[role.passages[0]].as_ref();
        let serves = |way: &Way| way.is_open() && !self.is_leaving(role.passages[0]);
        self.processes[process].is_none()
            && !self.are_stopping[process]
            && (role.is_door || way.is_some_and(serves))
    }

    /// Returns the events that may happen now.
    fn events(&self) -> io::Result<Vec<Event>> {
        let can_ask = |client: &Client| {
            client.socket.is_some()
                && client.asked == client.answers().len()
                && client.asked < client.paths.len()
        };
        let mut all = Vec::new();
        all.extend((0..self.clients.len()).filter(|&one| can_ask(&self.clients[one])).map(Event::Ask));
        for process in 0..self.processes.len() {
            all.extend(self.processes[process].is_some().then_some(Event::Run(process)));
            all.extend(self.may_start(process).then_some(Event::Start(process)));
        }
        for number in 0..self.ways.len() {
            let is_shut = self.ways[number].as_ref().is_some_and(|way| !way.is_open());
            all.extend(is_shut.then_some(Event::Mend(number)));
            all.extend(self.turns_back(number)?.then_some(Event::TurnBack(number)));
        }
        if self.faults_left > 0 {
            let numbers = 0..self.processes.len().max(self.clients.len());
            let faults = self.scenario.may_happen.iter().flat_map(|fault| numbers.clone().map(fault));
            all.extend(faults.filter(|fault| self.can_happen(*fault)));
        }
        Ok(all)
    }

    fn can_happen(&self, fault: Event) -> bool {
        let runs = |process: usize| self.processes.get(process).is_some_and(Option::is_some);
        match fault {
            Event::Leave(client) => self.clients.get(client).is_some_and(|client| client.socket.is_some()),
            Event::Kill(process) => runs(process),
            Event::Expire(process) => {
                let process = self.processes.get(process).and_then(Option::as_ref);
                process.is_some_and(|process| !process.departing().is_empty())
            }
            Event::Fail(way) => self.ways.get(way).and_then(Option::as_ref).is_some_and(Way::is_open),
            Event::Stop(process) if runs(process) && !self.are_stopping[process] => {
                let role = &self.scenario.processes[process];
                let way = role.passages[0];
                if role.is_door { way == 0 } else { self.is_leaving(way) }
            }
            _ => false,
        }
    }

    fn happen(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Ask(number) => {
                let client = &mut self.clients[number];
                let path = client.paths[client.asked];
                client.asked += 1;
                let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
                // The server may have closed the connection, which the client sees when it reads.
                let _ = client.socket.as_ref().map(|socket| socket::send(socket, request.as_bytes(), false));
            }
            Event::Leave(client) => {
                (self.clients[client].socket, self.clients[client].is_given_up) = (None, true);
            }
            Event::Run(process) => self.run(process)?,
            Event::Expire(process) => {
                if let Some(process) = &mut self.processes[process] {
                    for key in process.departing() {
                        time_out(&mut process.driven, key, &mut process.desk);
                    }
                }
            }
            Event::Kill(process) => self.kill(process)?,
            Event::Start(process) => self.start(process)?,
            Event::Stop(process) => self.stop(process)?,
            Event::Fail(way) => {
                self.ways[way].iter().for_each(|way| way.set_open(false));
                self.group_of(way).into_iter().try_for_each(|process| self.kill(process))?;
            }
            Event::Mend(way) => {
                self.ways[way].iter().for_each(|way| way.set_open(true));
                self.group_of(way).into_iter().try_for_each(|process| self.start(process))?;
            }
            Event::TurnBack(way) => self.turn_back(way)?,
        }
        let is_fault = matches!(
            event,
            Event::Leave(_) | Event::Kill(_) | Event::Expire(_) | Event::Fail(_) | Event::Stop(_)
        );
        self.faults_left -= usize::from(is_fault);
        self.clients.iter_mut().for_each(Client::read);
        Ok(())
    }

    fn run(&mut self, number: usize) -> io::Result<()> {
        if let Some(process) = &mut self.processes[number]
            && process.run()?
        {
            self.processes[number] = None;
        }
        Ok(())
    }

    fn kill(&mut self, number: usize) -> io::Result<()> {
        let Some(process) = self.processes[number].take() else { return Ok(()) };
        for (cookie, _) in process.sockets()? {
            let inside = self.clients.iter_mut().filter(|client| client.cookie == cookie);
            inside.for_each(|client| client.is_given_up = true);
        }
        Ok(())
    }

    fn start(&mut self, number: usize) -> io::Result<()> {
        let role = &self.scenario.processes[number];
        // Other processes listen in its place, except at the end of the whole server, or of a group.
        let ending = Ending { is_patient: true, takes_queue: self.scenario.is_end || !role.is_door };
        self.processes[number] = Some(Process::start(role, &self.ways, ending)?);
        Ok(())
    }

    fn stop(&mut self, number: usize) -> io::Result<()> {
        let role = &self.scenario.processes[number];
        if self.scenario.is_end {
            let end = |way: &Way| {
                if role.is_door { socket::shutdown_read(&way.door) } else { socket::shutdown(&way.door) }
            };
            self.ways.iter().flatten().for_each(end);
        }
        self.are_stopping[number] = true;
        if let Some(process) = &mut self.processes[number] {
            process.stop.store(true, Ordering::Relaxed);
            process.driven.wake().wake();
            if !process.run()? {
                close_idle(&mut process.driven);
            }
        }
        self.run(number)
    }

    fn turn_back(&mut self, number: usize) -> io::Result<()> {
        let is_over = self.is_over(number);
        let Some(way) = &mut self.ways[number] else { return Ok(()) };
        let is_done = way.back.go_on(&way.group)? == TurnedBack::All;
        if is_over && is_done && !socket::wait(&way.door, socket::Until::Readable, 0)? {
            self.ways[number] = None;
        }
        Ok(())
    }

    /// Returns the visible part of the world's state.
    fn seen(&self) -> io::Result<String> {
        let mut seen = format!("{} ", self.faults_left);
        for client in &self.clients {
            let Client { asked, is_closed, is_given_up, .. } = client;
            let places = self.places(client)?;
            let _ = write!(seen, "{asked} {:?} {is_closed} {is_given_up} {places:?}; ", client.answers());
        }
        for (process, is_stopping) in self.processes.iter().zip(&self.are_stopping) {
            let _ = write!(seen, "{} {is_stopping}; ", process.is_some());
        }
        for way in &self.ways {
            let Some(way) = way else { continue };
            let _ = write!(seen, "{} {} ", way.is_open(), way.back.holds_one());
            for end in [&way.door, &way.group] {
                let ready = |until| socket::wait(end, until, 0);
                let _ =
                    write!(seen, "{} {} ", ready(socket::Until::Readable)?, ready(socket::Until::Writable)?);
            }
        }
        Ok(seen)
    }

    /// Returns the processes that have a client's connection, and its phase there.
    fn places(&self, client: &Client) -> io::Result<Vec<(usize, &'static str)>> {
        let mut places = Vec::new();
        for (number, process) in self.processes.iter().enumerate() {
            let Some(process) = process else { continue };
            let here = process.sockets()?.into_iter().filter(|(cookie, _)| *cookie == client.cookie);
            places.extend(here.map(|(_, phase)| (number, phase)));
        }
        Ok(places)
    }

    /// Checks the invariants that hold at any time. `told`: the events that led here, in words.
    fn check(&self, told: &str) -> io::Result<()> {
        let mut asked = 0;
        for client in &self.clients {
            let answers = client.answers();
            let places = self.places(client)?;
            assert!(places.len() <= 1, "one connection is at {places:?}: {told}");
            assert!(answers.len() <= client.asked, "answered twice: {answers:?}: {told}");
            for (path, answer) in client.paths.iter().zip(&answers) {
                assert!(answer == path || answer == "503", "{path} is answered {answer}: {told}");
            }
            let is_lost = client.is_closed && !client.is_given_up && answers.len() < client.asked;
            assert!(!is_lost, "closed without an answer: {told}");
            asked += client.asked as u64;
        }
        let moved = self.moves();
        assert!(moved <= asked * u64::from(passage::HOPS_MAX), "{moved} moves: {told}");
        Ok(())
    }

    /// Returns how often the running processes have passed connections on.
    fn moves(&self) -> u64 {
        self.running().map(|process| process.driven.shared.tally.get(Cell::PassedOn)).sum()
    }

    fn running(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().flatten()
    }

    /// Checks that without further faults every request is answered, whatever has happened, and that nothing is left of
    /// clients that leave.
    fn settle(mut self, told: &str) -> io::Result<()> {
        self.go_on(told)?;
        self.check(told)?;
        for client in self.clients.iter().filter(|client| !client.is_given_up) {
            assert_eq!(client.asked, client.answers().len(), "never answered: {told}; {}", self.seen()?);
        }
        self.clients.iter_mut().for_each(|client| client.socket = None);
        self.go_on(told)?;
        assert!(self.running().all(|process| process.driven.connections.is_empty()), "a row is left: {told}");
        for way in self.ways.iter().flatten().filter(|_| !self.scenario.is_end) {
            let waits = |end: &OwnedFd| socket::wait(end, socket::Until::Readable, 0);
            assert!(!waits(&way.door)? && !waits(&way.group)?, "a message is left: {told}");
        }
        Ok(())
    }

    /// Has every process do its work, until nothing is left to do.
    fn go_on(&mut self, told: &str) -> io::Result<()> {
        for _ in 0..ROUNDS_MAX {
            let before = (self.seen()?, self.moves());
            for process in 0..self.processes.len() {
                if self.may_start(process) {
                    self.start(process)?;
                }
                self.run(process)?;
            }
            for way in 0..self.ways.len() {
                if self.turns_back(way)? {
                    self.turn_back(way)?;
                }
            }
            self.clients.iter_mut().for_each(Client::read);
            if before == (self.seen()?, self.moves()) {
                return Ok(());
            }
        }
        Err(io::Error::other(format!("it goes on for ever: {told}; {}", self.seen()?)))
    }
}

/// Tries everything that may happen in a scenario. Returns the number of its states.
fn explore(scenario: &'static Scenario) -> io::Result<usize> {
    let mut known = HashSet::new();
    let mut ahead = VecDeque::from([Vec::new()]);
    while let Some(path) = ahead.pop_front() {
        for event in World::replayed(scenario, &path)?.events()? {
            let mut world = World::replayed(scenario, &path)?;
            let path = [&path[..], &[event]].concat();
            let told = format!("{}: {path:?}", scenario.name);
            world.happen(event)?;
            world.check(&told)?;
            if known.insert(world.seen()?) {
                ahead.push_back(path);
            }
            world.settle(&told)?;
        }
        assert!(known.len() <= STATES_MAX, "{}: there is no end of it", scenario.name);
    }
    Ok(known.len())
}

/// Wherever a connection is when an event happens, its requests are answered in the end, unless the process that had it
/// was killed, or its client has left.
#[test]
fn every_order() -> io::Result<()> {
    adyton_log::set_level(Level::Error);
    for scenario in &SCENARIOS {
        let states = explore(scenario)?;
        assert!(states >= 4, "{}: {states}", scenario.name);
    }
    Ok(())
}
