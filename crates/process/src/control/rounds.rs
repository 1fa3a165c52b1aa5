//! Questions to all workers, and to the supervisors of groups, until all have answered or their time is over.

use std::sync::mpsc::Sender;

use serde_json::{Value, json};

use crate::control::question::AdminAnswer;

/// How long workers may take to answer a question.
const ANSWER_MS: u64 = 3_000;

/// How long workers of a group may take: their answers have to be in time for the round of the door's supervisor.
const ANSWER_OF_GROUP_MS: u64 = 2_500;

/// A question to all workers.
struct Round {
    number: u64,
    due_ms: u64,
    waiting: Vec<Asked>,
    answers: Vec<Value>,
    asker: Asker,
}

/// The receiver of the answers to a question, or of the result of a reload.
pub(crate) enum Asker {
    /// A client that waits at the control socket.
    Client(Sender<AdminAnswer>),
    /// The door's supervisor, which has asked the supervisor of a group, and the number of its question.
    Door(u64),
}

/// A process that is asked.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// A worker: its slot, and its process.
    Worker(usize, u32),
    /// The supervisor of a group, with its process: it answers for its workers.
    Group(String, u32),
}

impl Asked {
    fn pid(&self) -> u32 {
        let (Self::Worker(_, pid) | Self::Group(_, pid)) = self;
        *pid
    }

    /// Returns the answers of this process, worker by worker.
    fn answers(&self, said: Option<&Value>) -> Vec<Value> {
        match self {
            Self::Worker(slot, pid) => vec![json!({"worker": slot, "pid": pid, "answer": said})],
            Self::Group(name, pid) => {
                let silent = [json!({"worker": 0, "pid": pid, "answer": null})];
                let answers = said.and_then(Value::as_array).map_or(&silent[..], Vec::as_slice);
                answers.iter().map(|answer| of_group(answer, name)).collect()
            }
        }
    }
}

/// Returns `answer` with the name of the worker's group added.
fn of_group(answer: &Value, name: &str) -> Value {
    let mut answer = answer.clone();
    if let Some(members) = answer.as_object_mut() {
        members.insert("group".to_owned(), json!(name));
    }
    answer
}

/// Returns the label of a worker that has answered: its number, behind the name of its group. If the supervisor of a
/// group has not answered, the label is the name of the group.
pub(crate) fn label(answer: &Value) -> String {
    match (answer["group"].as_str(), answer["worker"].as_u64()) {
        (None, number) => format!("worker {}", number.unwrap_or(0)),
        (Some(group), None | Some(0)) => format!("group {group}"),
        (Some(group), Some(number)) => format!("group {group} worker {number}"),
    }
}

/// The questions that are open.
#[derive(Default)]
pub(crate) struct Rounds {
    last: u64,
    open: Vec<Round>,
}

impl Rounds {
    /// Returns the number of a new question.
    pub(crate) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Notes that the processes in `waiting` have been asked.
    pub(crate) fn begin(&mut self, number: u64, waiting: Vec<Asked>, asker: Asker, now_ms: u64) {
        let patience_ms = if let Asker::Door(_) = asker { ANSWER_OF_GROUP_MS } else { ANSWER_MS };
        self.open.push(Round { number, due_ms: now_ms + patience_ms, waiting, answers: Vec::new(), asker });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Notes the answer of a process.
    pub(crate) fn note(&mut self, number: u64, pid: u32, said: &Value) {
        let Some(round) = self.open.iter_mut().find(|round| round.number == number) else { return };
        for asked in round.waiting.extract_if(.., |asked| asked.pid() == pid) {
            round.answers.extend(asked.answers(Some(said)));
        }
    }

    /// Forgets a process that is gone: it is not waited for.
    pub(crate) fn forget(&mut self, pid: u32) {
        for round in &mut self.open {
            round.waiting.retain(|asked| asked.pid() != pid);
        }
    }

    /// Ends the questions that all processes have answered, or whose time is over. The answers to questions of the
    /// door's supervisor are returned, with their numbers.
    pub(crate) fn end(&mut self, now_ms: u64) -> Vec<(u64, Value)> {
        let mut for_door = Vec::new();
        for round in self.open.extract_if(.., |round| round.waiting.is_empty() || round.due_ms <= now_ms) {
            let silent = round.waiting.iter().flat_map(|asked| asked.answers(None));
            let mut answers = round.answers;
            answers.extend(silent);
            let place =
                |answer: &Value| (answer["group"].as_str().map(str::to_owned), answer["worker"].as_u64());
            answers.sort_by_key(place);
            match round.asker {
                // The client may have gone.
                Asker::Client(reply) => drop(reply.send(AdminAnswer(200, Value::Array(answers)))),
                Asker::Door(number) => for_door.push((number, Value::Array(answers))),
            }
        }
        for_door
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use serde_json::json;

    use super::{ANSWER_MS, ANSWER_OF_GROUP_MS, AdminAnswer, Asked, Asker, Rounds, label};

    /// A round ends when all have answered or are gone, or when its time is over; answers are in the order of slots.
    #[test]
    fn ends() {
        let (one, two) =
            (json!({"worker": 1, "pid": 7, "answer": "a"}), json!({"worker": 2, "pid": 8, "answer": "b"}));
        let silent = json!({"worker": 2, "pid": 8, "answer": null});
        // A row holds the workers that answer, the workers that are gone, the time until the look, and the answer
        // expected then.
        let table = [
            (vec![8, 7], vec![], 0, Some(json!([one, two]))),
            (vec![7], vec![], ANSWER_MS - 1, None),
            (vec![7], vec![], ANSWER_MS, Some(json!([one, silent]))),
            (vec![7], vec![8], 0, Some(json!([one]))),
            (vec![], vec![7, 8], 0, Some(json!([]))),
        ];
        for (answering, gone, later_ms, expected) in table {
            let (reply, answer) = channel();
            let mut rounds = Rounds::default();
            let number = rounds.number();
            rounds.begin(number, vec![Asked::Worker(1, 7), Asked::Worker(2, 8)], Asker::Client(reply), 100);
            for pid in answering {
                rounds.note(number + 1, pid, &json!("to another question"));
                rounds.note(number, pid, &json!(if pid == 7 { "a" } else { "b" }));
            }
            for pid in gone {
                rounds.forget(pid);
            }
            assert!(rounds.end(100 + later_ms).is_empty());

            assert_eq!(expected.is_none(), !rounds.is_empty());
            assert_eq!(expected, answer.try_recv().ok().map(|AdminAnswer(_, value)| value));
        }
    }

    /// A group answers the door's supervisor for its workers, before the door's time is over; the label of each worker
    /// names its group.
    #[test]
    fn of_groups() {
        let (mut of_group, mut of_door) = (Rounds::default(), Rounds::default());
        let (reply, answer) = channel();
        let asked = vec![
            Asked::Group("shop".to_owned(), 20),
            Asked::Group("blog".to_owned(), 30),
            Asked::Worker(1, 7),
        ];
        let number = of_door.number();
        of_door.begin(number, asked, Asker::Client(reply), 100);
        of_group.begin(1, vec![Asked::Worker(2, 22), Asked::Worker(1, 21)], Asker::Door(number), 100);
        of_door.note(number, 7, &json!("door"));
        of_group.note(1, 22, &json!("two"));
        assert!(of_group.end(100).is_empty());

        for (number, said) in of_group.end(100 + ANSWER_OF_GROUP_MS) {
            of_door.note(number, 20, &said);
        }
        assert!(of_door.end(99 + ANSWER_MS).is_empty());
        assert!(answer.try_recv().is_err());
        of_door.end(100 + ANSWER_MS);
        let answers = answer.try_recv().map(|AdminAnswer(_, value)| value).unwrap_or_default();

        let told: Vec<_> =
            answers.as_array().into_iter().flatten().map(|one| (label(one), &one["answer"])).collect();
        let expected = [
            ("worker 1", json!("door")),
            ("group blog", json!(null)),
            ("group shop worker 1", json!(null)),
            ("group shop worker 2", json!("two")),
        ];
        assert_eq!(expected.each_ref().map(|(label, said)| ((*label).to_owned(), said)).to_vec(), told);
    }
}
