//! MPI connection of a process with all others of its launch.
#![expect(unsafe_code, reason = "what is being sent must stay where it is until it was sent")]

use std::cell::RefCell;
use std::sync::Arc;

use mpi::Threading;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, MatchedReceiveVec, Source};
use mpi::request::{Request, StaticScope};
use mpi::topology::{Communicator, SimpleCommunicator};
use treering_engine::RankLink;

/// MPI connection of all ranks of a launch. Dropping it finalises MPI; a process has at most one.
pub struct MpiConnection {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
    sending: RefCell<Vec<PendingSend>>,
    /// Handle of the MPI library; the last field, so that it is dropped last.
    _universe: Universe,
}

/// Message in flight, with its buffer.
struct PendingSend {
    request: Request<'static, [u8], StaticScope>,
    bytes: Arc<[u8]>,
}

impl MpiConnection {
    /// Initialises MPI. Only this thread may use it. `None` if MPI does not support threads, or was
    /// initialised already.
    pub fn open() -> Option<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)?;
        if threading < Threading::Funneled {
            return None;
        }
        let world = universe.world();
        let rank = usize::try_from(world.rank()).ok()?;
        let size = usize::try_from(world.size()).ok()?;
        let sending = RefCell::new(Vec::new());
        Some(Self { world, rank, size, sending, _universe: universe })
    }

    /// Aborts all ranks at once, including this one, with this exit code.
    pub fn abort(&self, code: u8) -> ! {
        self.world.abort(i32::from(code))
    }

    /// Drops the buffers of messages that were sent.
    fn sweep(&self) {
        let under_way = self.sending.take().into_iter().filter_map(|sending| {
            let PendingSend { request, bytes } = sending;
            request.test().err().map(|request| PendingSend { request, bytes })
        });
        let under_way = under_way.collect();
        self.sending.replace(under_way);
    }
}

impl Drop for MpiConnection {
    fn drop(&mut self) {
        // A message that nobody took: MPI ends anyway, and a request must not be dropped before.
        self.sweep();
        self.sending.take().into_iter().for_each(std::mem::forget);
    }
}

impl RankLink for MpiConnection {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, message: &Arc<[u8]>) {
        self.sweep();
        let Ok(to) = i32::try_from(to) else { return };
        let bytes = Arc::clone(message);
        // SAFETY: the bytes are kept, beside the request, until that is done or for ever; nobody
        // writes to them.
        let stays: &'static [u8] = unsafe { &*Arc::as_ptr(&bytes) };
        let request = self.world.process_at_rank(to).immediate_send(StaticScope, stays);
        self.sending.borrow_mut().push(PendingSend { request, bytes });
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        self.sweep();
        let (message, status) = self.world.any_process().immediate_matched_probe()?;
        let from = usize::try_from(status.source_rank()).ok()?;
        let (bytes, _status) = (message, status).matched_receive_vec::<u8>();
        Some((from, bytes))
    }
}

/// Name and version of the MPI library, in a line.
pub fn library() -> String {
    let text = mpi::environment::library_version().unwrap_or_default();
    let (major, minor) = mpi::environment::version();
    let words: Vec<&str> = text.trim_matches('\0').split_whitespace().take(6).collect();
    let name = words.join(" ").trim_end_matches(',').to_owned();
    format!("{name} (MPI {major}.{minor})")
}
