//! Branches: the supervisors of groups that there should be, and the consequences when one ends.
//!
//! This module does no I/O: it takes events with their times, and returns acts.
//!
//! | state | it goes on when | to |
//! | --- | --- | --- |
//! | `Asleep` | a connection waits for it | `Due` |
//! | `Due` | its time has come | `Starting` |
//! | `Starting` | it says that it serves | `Serving` |
//! | | it ends | `Due`, later each time; its connections are answered 503 meanwhile |
//! | `Serving` | it says that it idles, and ends | `Asleep` |
//! | | it ends | `Due` |
//! | any | no version that serves names it | `Leaving` |
//! | `Leaving` | it ends | gone |
//!
//! A version of a file names a branch for each of its groups. A group whose settings have not changed keeps its branch
//! and its passage; any other group gets a new branch with a passage of its own, so that processes at both ends of a
//! passage always agree on who answers which request. The door serves a new version once all of its branches serve.

use std::collections::BTreeMap;

/// How long a branch that has not started rests the first time; each further time twice as long.
const REST_MS: u64 = 1_000;

/// How long a branch that has not started rests at most.
const REST_MS_MAX: u64 = 60_000;

/// How long a branch has to serve before it counts as sound.
const PROVEN_MS: u64 = 10_000;

/// A number for a branch, as long as this supervisor lives.
pub(crate) type BranchId = u64;

/// The properties that decide whether a group is the same in two versions of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupKey {
    pub(crate) name: String,
    /// All that the group's processes depend on, as one text.
    pub(crate) fingerprint: String,
    /// Whether the group has no process until a connection comes.
    pub(crate) is_lazy: bool,
    /// Whether the group has addresses of its own: the door's workers pass it no clients.
    pub(crate) is_bound: bool,
}

/// The state of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Asleep,
    Due { at_ms: u64 },
    Starting { pid: u32 },
    Serving { pid: u32, since_ms: u64, idles: bool },
    Leaving { pid: u32, due_ms: u64 },
}

/// A group of a version, or of several versions.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) id: BranchId,
    pub(crate) key: GroupKey,
    pub(crate) standing: Standing,
    /// Failed starts in a row.
    pub(crate) failures: u32,
    /// Starts in all.
    pub(crate) starts: u64,
}

/// An act for the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Start this branch.
    Start(BranchId),
    /// Tell this branch to end when it has finished the requests that it has begun.
    Leave(BranchId),
    /// Kill this process, whose time is over.
    Kill(u32),
    /// Close the passage of this branch, which is gone.
    Drop(BranchId),
}

/// The state of the branches of a version that is to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Coming {
    /// No version is to come.
    None,
    /// Some branches do not serve yet.
    Waits,
    /// All branches serve.
    Ready,
    /// The group with this name does not start.
    Fails(String),
}

/// The consequences of the end of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchEnd {
    pub(crate) id: BranchId,
    pub(crate) name: String,
    /// Whether the branch was told to end, or has ended because it idled.
    pub(crate) is_meant: bool,
    /// Whether the branch had not served yet.
    pub(crate) is_failure: bool,
    /// The time of its next start, if there is one.
    pub(crate) again_ms: Option<u64>,
}

/// All branches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branches {
    all: Vec<Branch>,
    next: BranchId,
    /// The branches of each version, in the order of its groups, by the first generation of the version.
    versions: BTreeMap<u32, Vec<BranchId>>,
    /// The branches of a version that the door does not serve yet.
    coming: Option<Vec<BranchId>>,
    /// How long a branch may take to end when the server stops.
    leave_ms: u64,
}

/// The generations of the door's workers.
#[derive(Clone, Copy)]
pub(crate) struct Generations<'g> {
    /// The generations of which the door may start workers.
    pub(crate) wanted: &'g [u32],
    /// The generations of which the door still has workers, which pass clients to the groups of their version.
    pub(crate) left: &'g [u32],
}

impl Branches {
    /// Makes the branches of the first version; each may take `leave_ms` to end.
    pub(crate) fn new(groups: Vec<GroupKey>, leave_ms: u64) -> Self {
        let mut branches = Self { leave_ms, ..Self::default() };
        branches.begin(groups);
        branches.commit(0);
        branches
    }

    /// Takes over the branches of another program.
    pub(crate) fn taken(all: Vec<Branch>, versions: BTreeMap<u32, Vec<BranchId>>, leave_ms: u64) -> Self {
        let next = all.iter().map(|branch| branch.id + 1).max().unwrap_or(0);
        Self { all, next, versions, coming: None, leave_ms }
    }

    /// Begins the next version, which has these groups.
    pub(crate) fn begin(&mut self, groups: Vec<GroupKey>) {
        let kept: Vec<BranchId> = self.versions.values().next_back().cloned().unwrap_or_default();
        let mut coming = Vec::new();
        for key in groups {
            let same = |branch: &&Branch| kept.contains(&branch.id) && branch.key == key && !branch.leaves();
            let id = self.all.iter().find(same).map(|branch| branch.id);
            coming.push(id.unwrap_or_else(|| self.add(key)));
        }
        self.coming = Some(coming);
    }

    fn add(&mut self, key: GroupKey) -> BranchId {
        let id = self.next;
        self.next += 1;
        let standing = if key.is_lazy { Standing::Asleep } else { Standing::Due { at_ms: 0 } };
        self.all.push(Branch { id, key, standing, failures: 0, starts: 0 });
        id
    }

    /// Returns the state of the version that is to come. Branches that it shares with the present version are not
    /// waited for.
    pub(crate) fn coming(&self) -> Coming {
        let Some(coming) = &self.coming else { return Coming::None };
        let present = self.versions.values().next_back();
        let is_new = |branch: &&Branch| {
            coming.contains(&branch.id) && present.is_none_or(|present| !present.contains(&branch.id))
        };
        let mut answer = Coming::Ready;
        for branch in self.all.iter().filter(is_new) {
            match branch.standing {
                _ if branch.failures > 0 => return Coming::Fails(branch.key.name.clone()),
                Standing::Asleep | Standing::Serving { .. } => {}
                _ => answer = Coming::Waits,
            }
        }
        answer
    }

    /// Makes the version that was to come the version of this generation. Returns the names of the groups that keep
    /// their branches from the version before.
    pub(crate) fn commit(&mut self, generation: u32) -> Vec<String> {
        let before = self.versions.values().next_back().cloned().unwrap_or_default();
        let present = self.coming.take().unwrap_or_else(|| before.clone());
        let is_shared = |branch: &&Branch| present.contains(&branch.id) && before.contains(&branch.id);
        let shared = self.all.iter().filter(is_shared).map(|branch| branch.key.name.clone()).collect();
        if present != before {
            self.versions.insert(generation, present);
        }
        shared
    }

    /// Makes a branch, or every branch, due now if it waits for its next start: the reason why it did not start may
    /// have been mended.
    pub(crate) fn hasten(&mut self, only: Option<BranchId>, now_ms: u64) {
        for branch in self.all.iter_mut().filter(|branch| only.is_none_or(|only| branch.id == only)) {
            if let Standing::Due { at_ms } = &mut branch.standing {
                *at_ms = now_ms.min(*at_ms);
            }
        }
    }

    /// Returns the branches of the newest version that was committed.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Branch> {
        let present = self.versions.values().next_back().map_or(&[][..], Vec::as_slice);
        self.all.iter().filter(|branch| present.contains(&branch.id))
    }

    /// Returns the branches of earlier versions only.
    pub(crate) fn past(&self) -> impl Iterator<Item = &Branch> {
        let present = self.versions.values().next_back();
        let named = [present, self.coming.as_ref()];
        self.all.iter().filter(move |branch| !named.into_iter().flatten().any(|ids| ids.contains(&branch.id)))
    }

    /// Gives up the versions that are newer than this generation, because they do not serve after all.
    pub(crate) fn give_up(&mut self, generation: u32) {
        self.versions.retain(|since, _| *since <= generation);
    }

    /// Gives up the version that was to come.
    pub(crate) fn abandon(&mut self) {
        self.coming = None;
    }

    /// Returns the branches of a generation, in the order of its groups.
    pub(crate) fn of(&self, generation: u32) -> &[BranchId] {
        self.versions.range(..=generation).next_back().map_or(&[], |(_, ids)| ids)
    }

    /// Returns all branches.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Branch> {
        self.all.iter()
    }

    /// Returns the branches of each version, by generation.
    pub(crate) fn versions(&self) -> &BTreeMap<u32, Vec<BranchId>> {
        &self.versions
    }

    /// Returns the branch that is this process.
    pub(crate) fn of_process(&self, pid: u32) -> Option<&Branch> {
        self.all.iter().find(|branch| branch.pid() == Some(pid))
    }

    /// Whether no branch is between two states.
    pub(crate) fn is_settled(&self) -> bool {
        let is_at_rest = |branch: &Branch| {
            matches!(branch.standing, Standing::Asleep | Standing::Serving { idles: false, .. })
        };
        self.coming.is_none() && self.all.iter().all(is_at_rest)
    }

    fn get_mut(&mut self, id: BranchId) -> Option<&mut Branch> {
        self.all.iter_mut().find(|branch| branch.id == id)
    }

    /// Makes a sleeping branch due, because a connection waits for it.
    pub(crate) fn wake(&mut self, id: BranchId, now_ms: u64) {
        if let Some(branch) = self.get_mut(id)
            && branch.standing == Standing::Asleep
        {
            branch.standing = Standing::Due { at_ms: now_ms };
        }
    }

    /// Notes that a branch was started.
    pub(crate) fn note_started(&mut self, id: BranchId, pid: u32) {
        if let Some(branch) = self.get_mut(id) {
            branch.standing = Standing::Starting { pid };
            branch.starts += 1;
        }
    }

    /// Notes that a branch could not be started; returns the time of the next try.
    pub(crate) fn note_not_started(&mut self, id: BranchId, now_ms: u64) -> Option<u64> {
        self.get_mut(id).map(|branch| branch.fail(now_ms))
    }

    /// Notes that a branch serves.
    pub(crate) fn note_serving(&mut self, id: BranchId, now_ms: u64) {
        if let Some(branch) = self.get_mut(id)
            && let Standing::Starting { pid } = branch.standing
        {
            branch.standing = Standing::Serving { pid, since_ms: now_ms, idles: false };
            branch.failures = 0;
        }
    }

    /// Notes that a branch ends because it idles.
    pub(crate) fn note_idle(&mut self, id: BranchId) {
        if let Some(branch) = self.get_mut(id)
            && let Standing::Serving { idles, .. } = &mut branch.standing
        {
            *idles = branch.key.is_lazy;
        }
    }

    /// Notes that a process has ended; `None` if it was no branch.
    pub(crate) fn note_end(&mut self, pid: u32, now_ms: u64) -> Option<BranchEnd> {
        let branch = self.all.iter_mut().find(|branch| branch.pid() == Some(pid))?;
        let (id, name) = (branch.id, branch.key.name.clone());
        let end = |is_meant, is_failure, again_ms| BranchEnd { id, name, is_meant, is_failure, again_ms };
        Some(match branch.standing {
            Standing::Leaving { .. } => {
                branch.standing = Standing::Leaving { pid: 0, due_ms: u64::MAX };
                end(true, false, None)
            }
            Standing::Serving { idles: true, .. } => {
                branch.standing = Standing::Asleep;
                end(true, false, None)
            }
            Standing::Serving { since_ms, .. } if now_ms >= since_ms + PROVEN_MS => {
                branch.standing = Standing::Due { at_ms: now_ms };
                end(false, false, Some(now_ms))
            }
            Standing::Serving { .. } => {
                let again_ms = branch.fail(now_ms);
                // The branch can serve, so its connections wait for it.
                branch.failures = 0;
                end(false, false, Some(again_ms))
            }
            _ => {
                let again_ms = branch.fail(now_ms);
                end(false, true, Some(again_ms))
            }
        })
    }

    /// Returns acts that are due.
    pub(crate) fn look(&mut self, generations: Generations<'_>, now_ms: u64) -> Vec<Act> {
        let Generations { wanted, left } = generations;
        let named = |generation: &u32| self.of(*generation).to_vec();
        let mut needed: Vec<BranchId> = wanted.iter().flat_map(named).collect();
        needed.extend(self.coming.iter().flatten());
        let led_to: Vec<BranchId> = left.iter().flat_map(named).collect();
        let oldest = wanted.iter().chain(left).min().copied().unwrap_or(0);
        let oldest = self.versions.range(..=oldest).next_back().map_or(0, |(since, _)| *since);
        self.versions.retain(|since, _| *since >= oldest);
        let leave_ms = self.leave_ms;
        let mut acts = Vec::new();
        for branch in &mut self.all {
            let is_led_to = !branch.key.is_bound && led_to.contains(&branch.id);
            branch.look(needed.contains(&branch.id) || is_led_to, now_ms, leave_ms, &mut acts);
        }
        self.all.retain(|branch| !acts.contains(&Act::Drop(branch.id)));
        acts
    }

    /// Ends all branches: the server stops, and the door has stopped.
    pub(crate) fn stop(&mut self, now_ms: u64) -> Vec<Act> {
        self.coming = None;
        self.versions.clear();
        self.look(Generations { wanted: &[], left: &[] }, now_ms)
    }

    /// Ends the grace period of all branches that were told to end.
    pub(crate) fn hurry(&mut self, now_ms: u64) {
        for branch in &mut self.all {
            if let Standing::Leaving { due_ms, .. } = &mut branch.standing {
                *due_ms = now_ms.min(*due_ms);
            }
        }
    }

    /// Returns the time at which something is due next, even if no event comes.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        let due = |branch: &Branch| match branch.standing {
            Standing::Due { at_ms } => Some(at_ms),
            Standing::Leaving { pid, due_ms } if pid > 0 => Some(due_ms),
            _ => None,
        };
        self.all.iter().filter_map(due).min()
    }
}

impl Branch {
    /// Returns the branch's process, if it has one.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self.standing {
            Standing::Starting { pid } | Standing::Serving { pid, .. } | Standing::Leaving { pid, .. } => {
                Some(pid).filter(|&pid| pid > 0)
            }
            Standing::Asleep | Standing::Due { .. } => None,
        }
    }

    /// Whether connections may wait for the branch; if not, they are answered 503.
    pub(crate) fn is_open(&self) -> bool {
        self.failures == 0
    }

    fn leaves(&self) -> bool {
        matches!(self.standing, Standing::Leaving { .. })
    }

    /// Notes that the branch failed to start, or has ended at once. Returns the time of the next try.
    fn fail(&mut self, now_ms: u64) -> u64 {
        let rest_ms = REST_MS.saturating_mul(1 << self.failures.min(16)).min(REST_MS_MAX);
        self.failures += 1;
        self.standing = Standing::Due { at_ms: now_ms + rest_ms };
        now_ms + rest_ms
    }

    fn look(&mut self, is_needed: bool, now_ms: u64, leave_ms: u64, acts: &mut Vec<Act>) {
        match self.standing {
            Standing::Due { at_ms } if is_needed && at_ms <= now_ms => acts.push(Act::Start(self.id)),
            Standing::Asleep | Standing::Due { .. } if is_needed => {}
            Standing::Asleep | Standing::Due { .. } | Standing::Leaving { pid: 0, .. } => {
                acts.push(Act::Drop(self.id));
            }
            Standing::Starting { pid } | Standing::Serving { pid, .. } if !is_needed => {
                self.standing = Standing::Leaving { pid, due_ms: now_ms + leave_ms };
                acts.push(Act::Leave(self.id));
            }
            Standing::Leaving { pid, due_ms } if due_ms <= now_ms => {
                self.standing = Standing::Leaving { pid, due_ms: u64::MAX };
                acts.push(Act::Kill(pid));
            }
            Standing::Starting { .. } | Standing::Serving { .. } | Standing::Leaving { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, Branches, Coming, Generations, GroupKey, Standing};

    fn key(name: &str, fingerprint: &str) -> GroupKey {
        GroupKey {
            name: name.to_owned(),
            fingerprint: fingerprint.to_owned(),
            is_lazy: name.starts_with("lazy"),
            is_bound: name.starts_with("bound"),
        }
    }

    /// An event.
    enum Event {
        /// The supervisor looks: the door may start workers of the first of these generations, and has workers of the
        /// others.
        Look(&'static [u32]),
        /// The branch that was told to start is this process.
        Started(u64, u32),
        Serves(u64),
        Idles(u64),
        Ends(u32),
        /// A connection waits.
        Knock(u64),
        /// A version with these groups is read.
        Begin(&'static [(&'static str, &'static str)]),
        Commit(u32),
        Abandon,
        GiveUp(u32),
        /// This time passes.
        Wait(u64),
        Stop,
    }

    use Event::{Abandon, Begin, Commit, Ends, GiveUp, Idles, Knock, Look, Serves, Started, Stop, Wait};

    /// Plays events, beginning with a first version, and compares the consequences of each, in words.
    fn play(first: &[(&str, &str)], events: &[(Event, &str)]) {
        let keys = |groups: &[(&str, &str)]| groups.iter().map(|(name, print)| key(name, print)).collect();
        let mut branches = Branches::new(keys(first), 5_000);
        let mut now_ms = 100;
        for (number, (event, expected)) in events.iter().enumerate() {
            let mut acts = Vec::new();
            let mut said = String::new();
            match event {
                Look(generations) => {
                    let (wanted, left) = generations.split_at(generations.len().min(1));
                    acts = branches.look(Generations { wanted, left }, now_ms);
                }
                Started(id, pid) => branches.note_started(*id, *pid),
                Serves(id) => branches.note_serving(*id, now_ms),
                Idles(id) => branches.note_idle(*id),
                Ends(pid) => {
                    said = branches.note_end(*pid, now_ms).map_or("unknown".to_owned(), |end| {
                        let again = end.again_ms.map_or("never".to_owned(), |at| format!("+{}", at - now_ms));
                        let how = match (end.is_meant, end.is_failure) {
                            (true, _) => "meant",
                            (_, true) => "failed",
                            _ => "died",
                        };
                        format!("{} {how} {again}", end.name)
                    });
                }
                Knock(id) => branches.wake(*id, now_ms),
                Begin(groups) => branches.begin(keys(groups)),
                Commit(generation) => said = branches.commit(*generation).join(" and "),
                Abandon => branches.abandon(),
                GiveUp(generation) => branches.give_up(*generation),
                Wait(ms) => now_ms += ms,
                Stop => acts = branches.stop(now_ms),
            }
            let acts: Vec<String> = acts
                .into_iter()
                .map(|act| match act {
                    Act::Start(id) => format!("start {id}"),
                    Act::Leave(id) => format!("leave {id}"),
                    Act::Kill(pid) => format!("kill {pid}"),
                    Act::Drop(id) => format!("drop {id}"),
                })
                .collect();
            let coming = match branches.coming() {
                Coming::None => String::new(),
                Coming::Waits => "waits".to_owned(),
                Coming::Ready => "ready".to_owned(),
                Coming::Fails(name) => format!("{name} fails"),
            };
            let shown: Vec<String> =
                [said, acts.join(", "), coming].into_iter().filter(|part| !part.is_empty()).collect();
            assert_eq!(*expected, shown.join("; "), "event {number}");
        }
    }

    /// A branch that has died is started again: at once if it had served for long, and later each time while it fails.
    #[test]
    fn deaths() {
        play(
            &[("a", "1")],
            &[
                (Look(&[1]), "start 0"),
                (Started(0, 50), ""),
                (Look(&[1]), ""),
                (Serves(0), ""),
                (Wait(20_000), ""),
                (Ends(50), "a died +0"),
                (Look(&[1]), "start 0"),
                (Started(0, 51), ""),
                (Serves(0), ""),
                (Ends(51), "a died +1000"),
                (Look(&[1]), ""),
                (Wait(1_000), ""),
                (Look(&[1]), "start 0"),
                (Started(0, 52), ""),
                (Ends(52), "a failed +1000"),
                (Wait(1_000), ""),
                (Look(&[1]), "start 0"),
                (Started(0, 53), ""),
                (Ends(53), "a failed +2000"),
                (Wait(2_000), ""),
                (Look(&[1]), "start 0"),
                (Started(0, 54), ""),
                (Serves(0), ""),
                (Ends(99), "unknown"),
                (Stop, "leave 0"),
                (Look(&[]), ""),
                (Wait(5_000), ""),
                (Look(&[]), "kill 54"),
                (Look(&[]), ""),
                (Ends(54), "a meant never"),
                (Look(&[]), "drop 0"),
            ],
        );
    }

    /// A lazy group has no process until a connection comes, and has none again after it has idled.
    #[test]
    fn lazy() {
        play(
            &[("lazy", "1")],
            &[
                (Look(&[1]), ""),
                (Knock(0), ""),
                (Look(&[1]), "start 0"),
                (Started(0, 50), ""),
                (Knock(0), ""),
                (Serves(0), ""),
                (Idles(0), ""),
                (Ends(50), "lazy meant never"),
                (Look(&[1]), ""),
                (Knock(0), ""),
                (Look(&[1]), "start 0"),
                (Started(0, 51), ""),
                (Serves(0), ""),
                (Ends(51), "lazy died +1000"),
                (Begin(&[]), "ready"),
                (Commit(2), ""),
                (Look(&[2, 1]), ""),
                (Look(&[2]), "drop 0"),
            ],
        );
    }

    /// A reload replaces only the changed branches; an old branch goes when no worker of the door knows it any more.
    #[test]
    fn reload() {
        play(
            &[("a", "1"), ("b", "1")],
            &[
                (Look(&[1]), "start 0, start 1"),
                (Started(0, 50), ""),
                (Started(1, 51), ""),
                (Serves(0), ""),
                (Serves(1), ""),
                (Begin(&[("a", "1"), ("b", "2"), ("lazy", "1")]), "waits"),
                (Look(&[1]), "start 2; waits"),
                (Started(2, 52), "waits"),
                (Serves(2), "ready"),
                (Commit(2), "a"),
                (Look(&[1, 2]), ""),
                (Look(&[2]), "leave 1"),
                (Ends(51), "b meant never"),
                (Look(&[2]), "drop 1"),
                // An equal version changes nothing.
                (Begin(&[("a", "1"), ("b", "2"), ("lazy", "1")]), "ready"),
                (Commit(3), "a and b and lazy"),
                (Look(&[3]), ""),
            ],
        );
    }

    /// A branch with addresses of its own leaves as soon as its version is past; any other branch leaves when no worker
    /// of the door passes clients to it.
    #[test]
    fn bound() {
        play(
            &[("a", "1"), ("bound", "1")],
            &[
                (Look(&[1]), "start 0, start 1"),
                (Started(0, 50), ""),
                (Started(1, 51), ""),
                (Serves(0), ""),
                (Serves(1), ""),
                (Begin(&[("a", "2"), ("bound", "2")]), "waits"),
                (Look(&[1]), "start 2, start 3; waits"),
                (Started(2, 52), "waits"),
                (Started(3, 53), "waits"),
                (Serves(2), "waits"),
                (Serves(3), "ready"),
                (Commit(2), ""),
                (Look(&[2, 1]), "leave 1"),
                (Ends(51), "bound meant never"),
                (Look(&[2, 1]), "drop 1"),
                (Look(&[2]), "leave 0"),
            ],
        );
    }

    /// When a group of a new version does not start, the old version stays, and the branches of the new version end.
    #[test]
    fn reload_fails() {
        play(
            &[("a", "1")],
            &[
                (Look(&[1]), "start 0"),
                (Started(0, 50), ""),
                (Serves(0), ""),
                (Begin(&[("a", "2"), ("b", "1")]), "waits"),
                (Look(&[1]), "start 1, start 2; waits"),
                (Started(1, 51), "waits"),
                (Started(2, 52), "waits"),
                (Ends(52), "b failed +1000; b fails"),
                (Abandon, ""),
                (Look(&[1]), "leave 1, drop 2"),
                (Ends(51), "a meant never"),
                (Look(&[1]), "drop 1"),
                // The door itself gives a version up.
                (Begin(&[("a", "3")]), "waits"),
                (Look(&[1]), "start 3; waits"),
                (Started(3, 53), "waits"),
                (Serves(3), "ready"),
                (Commit(2), ""),
                (Look(&[1, 2]), ""),
                (GiveUp(1), ""),
                (Look(&[1]), "leave 3"),
                // The version is tried again.
                (Begin(&[("a", "3")]), "waits"),
                (Look(&[1]), "start 4; waits"),
            ],
        );
    }

    /// While a branch fails, no connection waits for it.
    #[test]
    fn open() {
        let mut branches = Branches::new(vec![key("a", "1")], 1);
        let is_open = |branches: &Branches| branches.iter().all(super::Branch::is_open);
        branches.note_started(0, 50);
        assert!(is_open(&branches));
        branches.note_end(50, 0);
        assert!(!is_open(&branches));
        branches.note_started(0, 51);
        assert!(!is_open(&branches));
        branches.note_serving(0, 9);
        assert!(is_open(&branches));
        assert_eq!(
            Some(Standing::Serving { pid: 51, since_ms: 9, idles: false }),
            branches.iter().next().map(|b| b.standing)
        );
    }
}
