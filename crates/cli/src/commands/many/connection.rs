//! Connection with the other ranks that a launcher started.

use treering_conduct::Connection;
use treering_engine::RankLink;

use crate::failure::{Failure, Kind};
#[cfg(feature = "mpi")]
use crate::launcher::launched_size;

/// Connection with the other ranks.
#[cfg(feature = "mpi")]
pub(super) struct Connected(treering_mpi::MpiConnection);

#[cfg(feature = "mpi")]
impl Connected {
    /// Connects with the other ranks; `None` if there is only one process.
    ///
    /// # Errors
    /// If the launcher has started more processes than MPI reports.
    pub(super) fn open() -> Result<Option<Self>, Failure> {
        Self::of_launch().map(|one| Some(one).filter(|one| one.0.size() > 1))
    }

    /// Connects a process that a plan has launched, even if it is the only rank.
    pub(super) fn of_launch() -> Result<Self, Failure> {
        let connection = treering_mpi::MpiConnection::open().ok_or_else(|| {
            let message = "MPI cannot be begun in a program with threads (MPI_THREAD_FUNNELED)";
            Failure::environment(message)
        })?;
        let launched = launched_size().filter(|(size, ..)| *size > 1 && connection.size() == 1);
        let Some((size, name, launcher)) = launched else { return Ok(Self(connection)) };
        let message = format!(
            "the launcher says {size} processes ({name}, of {launcher}), but MPI knows of one: \
             this program is linked with {}",
            treering_mpi::library()
        );
        let hint = "use the mpirun of that MPI, or build with the launcher's \
                    (`make build-mpi MPICC=…`)";
        Err(Failure::environment(message).hint(hint))
    }
}

#[cfg(feature = "mpi")]
impl Connection for Connected {
    fn link(&self) -> &dyn RankLink {
        &self.0
    }

    fn library(&self) -> String {
        treering_mpi::library()
    }

    fn abort(&self) -> ! {
        self.0.abort(Kind::Trial.code())
    }
}

/// Placeholder in builds without MPI, in which there are no other ranks.
#[cfg(not(feature = "mpi"))]
pub(super) struct Connected;

#[cfg(not(feature = "mpi"))]
impl Connected {
    #[expect(clippy::unnecessary_wraps, reason = "as with MPI")]
    pub(super) fn open() -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    pub(super) fn of_launch() -> Result<Self, Failure> {
        let message = "this treering is built without MPI, and cannot be one of several ranks";
        Err(Failure::usage(message).hint("build treering-mpi: make build-mpi"))
    }
}

#[cfg(not(feature = "mpi"))]
impl Connection for Connected {
    fn link(&self) -> &dyn RankLink {
        &treering_engine::SoloLink
    }

    fn library(&self) -> String {
        String::new()
    }

    fn abort(&self) -> ! {
        std::process::exit(i32::from(Kind::Trial.code()))
    }
}
