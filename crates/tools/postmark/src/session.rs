//! One run: makes the directories, creates the pool, does the transactions, deletes the remaining
//! files.

use std::sync::{Arc, Mutex};

use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    Conductor, NoListener, Session, SessionError, SessionResult, SessionStop, Task,
};

use super::headline::HeadlineSums;
use super::options::RunShape;
use super::pool::FilePool;
use super::report::{CREATE, DELETE, TRANSACTION, TRANSACTIONS};
use super::worker::{ROOT, SharedPool, TaskCounts, TaskPart, Worker};

/// The kind of the task that makes the directories, and its phase.
const SETUP: &str = "setup";

/// Session of a run.
pub(super) struct PostmarkSession {
    shape: RunShape,
    has_begun: bool,
    headline: HeadlineSums,
}

impl PostmarkSession {
    /// Creates a run that has not begun.
    pub(super) fn new(shape: RunShape) -> Self {
        Self { shape, has_begun: false, headline: HeadlineSums::default() }
    }

    fn task(&self, kind: &str, part: TaskPart, pool: &SharedPool) -> Task {
        let file_op = match part {
            TaskPart::MakeDirs => Op::MakeDir,
            TaskPart::CreatePool => Op::Create,
            // Each create, read and append closes one file.
            TaskPart::Transactions => Op::Close,
            TaskPart::DeletePool => Op::Unlink,
        };
        let worker = Worker::new(part, self.shape, Arc::clone(pool));
        Task::new(kind, ROOT, file_op, Box::new(worker))
    }
}

impl Session for PostmarkSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        let pool = Arc::new(Mutex::new(FilePool::new(&self.shape)));
        let setup = self.task(SETUP, TaskPart::MakeDirs, &pool);
        conductor.run_task(SETUP, setup, &mut NoListener)?;
        let mut done = 0;
        for (phase, kind, part) in [
            (CREATE, CREATE, TaskPart::CreatePool),
            (TRANSACTIONS, TRANSACTION, TaskPart::Transactions),
            (DELETE, DELETE, TaskPart::DeletePool),
        ] {
            let task = self.task(kind, part, &pool);
            conductor.run_task(phase, task, &mut |totals: &TaskTotals| {
                let counts = totals.counters.read::<TaskCounts>().unwrap_or_default();
                done = done.max(counts.transactions);
                self.headline.add(totals);
            })?;
            if part == TaskPart::Transactions {
                SessionStop::check(out_of_files(done, self.shape.transactions))?;
            }
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        self.has_begun.then(|| ROOT.to_owned()).into_iter().collect()
    }
}

/// Error of a run whose files were all deleted before its last transaction.
fn out_of_files(done: u32, wanted: u32) -> Option<SessionError> {
    (done < wanted).then(|| {
        SessionError::new(format!(
            "out of files after {done} of {wanted} transactions: give a larger --number, a larger \
             --bias-create, or fewer --transactions"
        ))
    })
}
