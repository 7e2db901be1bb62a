//! Flowops that read and write.

use treering_script::{AsyncRequest, Io};

use super::super::plan::FlowopKind;
use super::files::NONE;
use super::{DEPTH, FlowopExit, Worker};

/// Maximum number of bytes of one read.
const PIECE_MAX: u64 = 4 << 20;

fn bytes(wanted: u64) -> u32 {
    u32::try_from(wanted).unwrap_or(u32::MAX)
}

impl Worker {
    /// Executes a flowop that moves bytes.
    #[inline]
    pub(super) fn move_bytes(
        &mut self,
        io: &mut dyn Io,
        kind: FlowopKind,
    ) -> Result<(), FlowopExit> {
        let Self { steps, pc, random, .. } = self;
        let mut wanted = steps[*pc].io_bytes.draw(random);
        if kind == FlowopKind::AppendFileRand {
            wanted = random.below(wanted);
            if wanted == 0 {
                // As in the original, the flowop counts, but does nothing.
                return Ok(());
            }
        }
        self.open_if_closed(io)?;
        let at_random = self.flow().random;
        match kind {
            FlowopKind::Read if at_random => self.read_at_random(io, wanted),
            FlowopKind::Write if at_random => self.write_at_random(io, wanted),
            FlowopKind::AioWrite if at_random => self.submit(io, wanted),
            FlowopKind::Read => self.read(io, wanted),
            FlowopKind::Write => {
                let position = self.descriptor().position;
                self.write(io, wanted, position)?;
                Ok(())
            }
            FlowopKind::ReadWholeFile => self.read_whole(io, wanted),
            FlowopKind::WriteWholeFile => self.write_whole(io, wanted),
            _ => {
                let end = io.seek_end(self.present.file())?;
                self.count_call(io);
                self.write(io, wanted, end)?;
                Ok(())
            }
        }
    }

    /// Size of the range in which a flowop chooses positions: its working set, or the file's
    /// initial size.
    fn working_set(&mut self) -> u64 {
        let descriptor = *self.descriptor();
        match self.flow().working_set {
            0 => self.namespace.filesets[descriptor.fileset].tree.sizes.bytes(descriptor.file),
            bytes => bytes,
        }
    }

    /// Reads at the current position, and returns the number of bytes.
    #[inline]
    fn read_piece(&mut self, io: &mut dyn Io, piece: u64) -> Result<u64, FlowopExit> {
        let got = io.read(self.present.file(), bytes(piece))?;
        self.count_call(io);
        self.present.moved += got;
        self.descriptor().position += got;
        Ok(got)
    }

    fn seek_start(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        io.seek(self.present.file(), 0)?;
        self.count_call(io);
        self.descriptor().position = 0;
        Ok(())
    }

    /// Writes at `position`, advances the descriptor, and returns the number of bytes.
    #[inline]
    fn write(&mut self, io: &mut dyn Io, piece: u64, position: u64) -> Result<u64, FlowopExit> {
        let written = io.write(self.present.file(), bytes(piece), position)?;
        self.count_call(io);
        self.present.moved += written;
        self.descriptor().position = position + written;
        Ok(written)
    }

    #[inline]
    fn read(&mut self, io: &mut dyn Io, wanted: u64) -> Result<(), FlowopExit> {
        loop {
            let piece = (wanted - self.present.moved).min(PIECE_MAX);
            let got = self.read_piece(io, piece)?;
            if got == 0 {
                // After the end of the file, the next read starts over.
                return self.seek_start(io);
            }
            if self.present.moved >= wanted || got < piece {
                return Ok(());
            }
        }
    }

    fn read_whole(&mut self, io: &mut dyn Io, wanted: u64) -> Result<(), FlowopExit> {
        let wanted = if wanted == 0 { self.working_set() } else { wanted };
        if wanted == 0 {
            return Ok(());
        }
        let piece = wanted.min(PIECE_MAX);
        let classic = self.namespace.classic;
        if classic || self.descriptor().position > 0 {
            self.seek_start(io)?;
        }
        loop {
            let got = self.read_piece(io, piece)?;
            // The original reads until a read returns 0.
            if got == 0 || got < piece && !classic {
                return Ok(());
            }
        }
    }

    fn write_whole(&mut self, io: &mut dyn Io, wanted: u64) -> Result<(), FlowopExit> {
        let source = usize::from(self.flow().source_fd);
        let from = self.fds[source];
        let mut left = if from.file != NONE {
            self.namespace.filesets[from.fileset].tree.sizes.bytes(from.file)
        } else if source > 0 {
            return Err(self.fail("its srcfd has no file"));
        } else {
            self.working_set()
        };
        let piece = if wanted == 0 { left } else { wanted };
        while left > 0 {
            let position = self.descriptor().position;
            let written = self.write(io, piece.min(left), position)?;
            if written == 0 {
                break;
            }
            left = left.saturating_sub(written);
        }
        Ok(())
    }

    /// Draws a position within the working set, a multiple of the request size.
    fn draw_position(&mut self, wanted: u64) -> Result<u64, FlowopExit> {
        let set = self.working_set();
        if wanted == 0 || set < wanted {
            return Err(self.fail("the file is smaller than its iosize"));
        }
        Ok(self.random.below(set) / wanted * wanted)
    }

    fn read_at_random(&mut self, io: &mut dyn Io, wanted: u64) -> Result<(), FlowopExit> {
        let position = self.draw_position(wanted)?;
        loop {
            let moved = self.present.moved;
            let piece = (wanted - moved).min(PIECE_MAX);
            let got = io.read_at(self.present.file(), bytes(piece), position + moved)?;
            self.count_call(io);
            self.present.moved += got;
            if self.present.moved >= wanted || got < piece {
                return Ok(());
            }
        }
    }

    fn write_at_random(&mut self, io: &mut dyn Io, wanted: u64) -> Result<(), FlowopExit> {
        let position = self.draw_position(wanted)?;
        let written = io.write_at(self.present.file(), bytes(wanted), position)?;
        self.count_call(io);
        self.present.moved += written;
        Ok(())
    }

    /// Submits an asynchronous write. If the queue is full, waits for a completion first.
    fn submit(&mut self, io: &mut dyn Io, wanted: u64) -> Result<(), FlowopExit> {
        let position = self.draw_position(wanted)?;
        let (file, bytes) = (self.present.file(), bytes(wanted));
        loop {
            if let Some(tag) = self.tags.pop() {
                let taken =
                    io.submit(&[AsyncRequest { file, writes: true, bytes, position, tag }])?;
                self.count_call(io);
                if taken > 0 {
                    self.present.moved += wanted;
                    return Ok(());
                }
                self.tags.push(tag);
            }
            self.reap(io, 1)?;
        }
    }

    pub(super) fn wait_for_requests(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let under_way = DEPTH - u16::try_from(self.tags.len()).unwrap_or(DEPTH);
        if under_way == 0 { Ok(()) } else { self.reap(io, (under_way / 2).max(1)) }
    }

    fn reap(&mut self, io: &mut dyn Io, least: u16) -> Result<(), FlowopExit> {
        io.reap(least)?;
        self.count_call(io);
        for completion in io.reaped() {
            self.tags.push(completion.tag);
            if let Err(errno) = completion.result {
                let why = std::io::Error::from_raw_os_error(errno);
                return Err(self.fail(&format!("a request failed: {why}")));
            }
        }
        Ok(())
    }
}
