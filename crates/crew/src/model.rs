//! The hand-over, run by loom in every order that threads and memory allow.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p adyton-crew`

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Called, Crew, Duties, Duty, Held, Look, Post, QueueTimes, Size, SlotClaim};

struct Model;

/// A loop that notices when two threads drive it, and ends after some requests.
struct Driven {
    busy: Arc<AtomicBool>,
    steps_left: usize,
    claim: SlotClaim,
    called: Called<Model>,
}

impl Duties for Model {
    type Loop = Driven;
    type Job = usize;
    type Own = ();
}

struct Scene {
    crew: Crew<Model>,
    /// Threads inside the application.
    inside: AtomicUsize,
    answered: AtomicUsize,
    ended: AtomicUsize,
    /// Whether every other request goes to the queue, as requests to slow endpoints do.
    queued: bool,
}

impl Driven {
    fn hold(&self) {
        assert!(!self.busy.swap(true, Ordering::AcqRel), "driven twice");
    }

    fn release(&self) {
        assert!(self.busy.swap(false, Ordering::AcqRel), "released twice");
    }
}

impl Scene {
    fn new(slots: usize, reserve: usize, queued: bool) -> Arc<Self> {
        Arc::new(Self {
            crew: Crew::new(Size { loops: 1, slots, reserve, queue_max: 10, queue_timeout_ms: 1_000 }),
            inside: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            queued,
        })
    }

    fn enter(&self) {
        assert!(self.inside.fetch_add(1, Ordering::AcqRel) < self.crew.slots(), "too many inside");
        self.inside.fetch_sub(1, Ordering::AcqRel);
        self.answered.fetch_add(1, Ordering::AcqRel);
    }

    /// A thread of the crew, to its end.
    fn work(&self, enters: bool) {
        let post = self.crew.join(enters, ());
        let mut slot = false;
        loop {
            match self.crew.next(&post, &mut slot, 0, || ()) {
                Duty::Drive(mut driven) => {
                    driven.claim.held |= std::mem::take(&mut slot);
                    slot = self.drive(&post, driven);
                }
                Duty::Work(_) => self.enter(),
                Duty::Resume => panic!("no thread was parked"),
                Duty::Leave => return,
            }
        }
    }

    /// Drives the loop until it ends (returns `false`) or is taken away (returns `true`: its slot is this thread's
    /// now).
    fn drive(&self, post: &Arc<Post<Model>>, mut driven: Box<Driven>) -> bool {
        self.crew.begin_driving(0, post);
        driven.hold();
        loop {
            if self.crew.should_give_up(post) {
                let slot = std::mem::take(&mut driven.claim.held);
                driven.called.wake();
                driven.release();
                self.crew.offer(driven);
                return slot;
            }
            if driven.steps_left == 0 {
                // As in the server, the slot of a loop that has ended is free.
                self.crew.give_slot(&mut driven.claim, 0);
                driven.release();
                self.ended.fetch_add(1, Ordering::AcqRel);
                self.crew.end_loop();
                return false;
            }
            driven.steps_left -= 1;
            let queued = self.queued && driven.steps_left % 2 == 0;
            let Driven { claim, called, .. } = &mut *driven;
            if queued || !(post.enters && self.crew.take_slot(claim)) {
                let spare = (!self.crew.can_spare_slots() || queued).then_some(claim);
                assert_eq!(Ok(()), self.crew.submit(1, QueueTimes { since_ms: 0, now_ms: 0 }, spare, called));
                if driven.steps_left == 0 || !queued {
                    // The server wakes these threads before it waits, or when the loop is taken; it may go on for a
                    // while before.
                    driven.called.wake();
                }
                continue;
            }
            driven.release();
            post.begin_errand();
            post.publish(driven);
            self.enter();
            match post.reclaim() {
                Some(again) => driven = again,
                None => return true,
            }
            driven.hold();
        }
    }

    /// The watch: takes the loop from its driver whenever the driver is in a call.
    fn watch(&self, looks: usize) {
        let mut last = Look::default();
        for _ in 0..looks {
            // Two looks at the same call show that the call lasts.
            self.crew.look(0, &mut last, |_| true);
            if let Some((mut driven, _)) = self.crew.look(0, &mut last, |_| true) {
                driven.claim.held = false;
                driven.called.wake();
                self.crew.offer(driven);
            }
            loom::thread::yield_now();
        }
    }
}

/// Limits of a model, which keep its orders few.
#[derive(Clone, Copy)]
struct Bounds {
    /// The requests of the loop.
    steps: usize,
    /// How often the watch looks.
    looks: usize,
    /// Most switches of threads that no thread asked for.
    switches: usize,
}

/// Runs a loop of some requests on threads that may enter or not, in all orders within the bounds.
fn run(slots: usize, enters: &'static [bool], bounds: Bounds, queued: bool) {
    let Bounds { steps, looks, switches } = bounds;
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(move || {
        // With three threads or more, one thread is reserved for the loop.
        let reserve = usize::from(enters.len() > 2);
        let scene = Scene::new(slots, reserve, queued);
        let busy = Arc::new(AtomicBool::new(false));
        let called = Called::empty();
        scene.crew.offer(Box::new(Driven { busy, steps_left: steps, claim: SlotClaim::default(), called }));
        let mut threads = Vec::new();
        for &enters in &enters[1..] {
            let scene = Arc::clone(&scene);
            threads.push(loom::thread::spawn(move || scene.work(enters)));
        }
        let watched = Arc::clone(&scene);
        threads.push(loom::thread::spawn(move || watched.watch(looks)));
        scene.work(enters[0]);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(1, scene.ended.load(Ordering::Acquire), "the loop has ended once");
        // Threads that take only loops leave requests in the queue when the last loop has ended.
        let left = scene.crew.waiting();
        assert!(left == 0 || reserve > 0, "no thread was left to answer");
        assert_eq!(steps, scene.answered.load(Ordering::Acquire) + left, "every request was answered once");
        assert_eq!(
            (0, slots),
            (scene.crew.threads(|()| false).0, scene.crew.slots_free()),
            "nothing is lost"
        );
    });
}

/// Two threads, one slot, only one of them enters: calls, hand-overs and the way back.
#[test]
fn one_thread_enters() {
    run(1, &[true, false], Bounds { steps: 2, looks: 1, switches: 3 }, false);
    run(1, &[true, false], Bounds { steps: 2, looks: 1, switches: 2 }, true);
}

/// Any thread may enter, and any may be late.
#[test]
fn all_threads_enter() {
    run(2, &[true, true], Bounds { steps: 2, looks: 1, switches: 3 }, false);
    run(2, &[true, true], Bounds { steps: 2, looks: 1, switches: 2 }, true);
}

/// Three threads: one may be late while another works and the third drives.
#[test]
fn three_threads() {
    run(2, &[true, true, true], Bounds { steps: 2, looks: 1, switches: 1 }, false);
    run(2, &[true, true, true], Bounds { steps: 2, looks: 1, switches: 1 }, true);
}

/// Some workers and drivers wait for the interpreter. Meanwhile a request is queued, and one more thread becomes idle,
/// or is idle already. That thread gets the request, whichever comes first.
fn wait_for_the_interpreter(workers: usize, drivers: usize, switches: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(move || {
        let scene = Scene::new(3, 0, true);
        let start = |run: fn(&Scene)| {
            let scene = Arc::clone(&scene);
            loom::thread::spawn(move || run(&scene))
        };
        let mut threads = vec![start(|scene| {
            let post = scene.crew.join(true, ());
            assert!(matches!(scene.crew.next(&post, &mut false, 0, || ()), Duty::Work(1)));
        })];
        threads.extend((0..workers).map(|_| start(|scene| scene.crew.attach_worker(0, || ()))));
        threads.extend((0..drivers).map(|_| {
            start(|scene| {
                let post = scene.crew.join(false, ());
                if scene.crew.attach_driver(&post, || ()) != Held::Nothing {
                    scene.crew.call_up_rest(0);
                }
            })
        }));
        assert_eq!(
            Ok(()),
            scene.crew.submit(1, QueueTimes { since_ms: 0, now_ms: 0 }, None, &mut Called::empty())
        );
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(0, scene.crew.waiting());
    });
}

#[test]
fn a_worker_waits_for_the_interpreter() {
    wait_for_the_interpreter(1, 0, 3);
}

#[test]
fn a_driver_waits_for_the_interpreter() {
    wait_for_the_interpreter(0, 1, 3);
}

#[test]
fn a_driver_and_a_worker_wait_for_the_interpreter() {
    wait_for_the_interpreter(1, 1, 1);
}

#[test]
fn two_workers_wait_for_the_interpreter() {
    wait_for_the_interpreter(2, 0, 1);
}
