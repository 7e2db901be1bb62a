//! Reading of packs from untrusted sources: first the seal, then record by record.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use treering_model::{Annotation, TrialEvent, TrialHeader};
use zstd::stream::read::Decoder;

use crate::limits::{CONTENT_BYTES, CONTENT_RATIO, LINE_BYTES_MOST, PLANS_MOST, WINDOW_LOG};
use crate::{PackError, PackHead, PackRecord, PackSeal, PackedPlan};

/// A pack being read. Its contents are untrusted, but verified to be unchanged since written.
pub struct PackReader<R: Read> {
    lines: BufReader<io::Take<Decoder<'static, BufReader<R>>>>,
    seal: PackSeal,
    head: PackHead,
    plans: Vec<PackedPlan>,
    most: u64,
    line: u64,
    next: Option<PackRecord>,
    /// True after the beginning of a trial was read.
    is_within: bool,
}

impl<R: Read + Seek> PackReader<R> {
    /// Reads the whole file once to verify its digest, then its head and plans.
    ///
    /// # Errors
    /// Problems with the file.
    pub fn open(mut from: R) -> Result<Self, PackError> {
        let seal = PackSeal::read(&mut from)?;
        let start = from.stream_position()?;
        seal.verify(&mut from)?;
        from.seek(SeekFrom::Start(start))?;
        let mut decoder = Decoder::new(from)?.single_frame();
        decoder.window_log_max(WINDOW_LOG)?;
        let most = CONTENT_BYTES.saturating_add(seal.bytes.saturating_mul(CONTENT_RATIO));
        let head =
            PackHead { treering_version: String::new(), has_names: false, has_traces: false };
        let mut unpacking = Self {
            lines: BufReader::new(decoder.take(most + 1)),
            seal,
            head,
            plans: Vec::new(),
            most,
            line: 0,
            next: None,
            is_within: false,
        };
        unpacking.advance()?;
        let Some(PackRecord::Pack(head)) = unpacking.next.take() else {
            return Err(unpacking.out_of_place("what the pack is"));
        };
        unpacking.head = head;
        unpacking.advance()?;
        let mut plan_bytes = 0;
        while let Some(PackRecord::Plan(plan)) = unpacking.next.take_if(|next| is_plan(next)) {
            let files = plan.files.iter().map(|(name, text)| name.len() + text.len());
            plan_bytes += (plan.document.len() + files.sum::<usize>()) as u64;
            if plan_bytes > LINE_BYTES_MOST || unpacking.plans.len() == PLANS_MOST {
                return Err(unpacking.out_of_place("the beginning of a trial"));
            }
            unpacking.plans.push(plan);
            unpacking.advance()?;
        }
        Ok(unpacking)
    }

    /// Seal of the pack: length and digest.
    pub const fn seal(&self) -> &PackSeal {
        &self.seal
    }

    /// Description of the pack.
    pub const fn head(&self) -> &PackHead {
        &self.head
    }

    /// Plans in the pack.
    pub fn plans(&self) -> &[PackedPlan] {
        &self.plans
    }

    /// Reads the beginning of the next trial, skipping the rest of the current one.
    ///
    /// # Errors
    /// [`PackError::Order`] for any other record; problems with a line.
    pub fn next_trial(&mut self) -> Result<Option<TrialHeader>, PackError> {
        if self.is_within {
            while self.next_event()?.is_some() {}
            while self.next_annotation()?.is_some() {}
        }
        self.is_within = true;
        match self.next.take() {
            None => Ok(None),
            Some(PackRecord::Event(TrialEvent::Began(beginning))) => {
                self.advance()?;
                Ok(Some(beginning))
            }
            Some(_) => Err(self.out_of_place("the beginning of a trial")),
        }
    }

    /// Reads the next event of the trial; `None` after its last one.
    ///
    /// # Errors
    /// Problems with the next line.
    pub fn next_event(&mut self) -> Result<Option<TrialEvent>, PackError> {
        let is_more =
            |next: &PackRecord| matches!(next, PackRecord::Event(event) if !begins(event));
        match self.next.take_if(|next| is_more(next)) {
            Some(PackRecord::Event(event)) => {
                self.advance()?;
                Ok(Some(event))
            }
            _ => Ok(None),
        }
    }

    /// Reads the next annotation of the trial, after its last event.
    ///
    /// # Errors
    /// Problems with the next line.
    pub fn next_annotation(&mut self) -> Result<Option<Annotation>, PackError> {
        match self.next.take_if(|next| matches!(next, PackRecord::Annotation(_))) {
            Some(PackRecord::Annotation(annotation)) => {
                self.advance()?;
                Ok(Some(annotation))
            }
            _ => Ok(None),
        }
    }

    /// Reads the next line.
    fn advance(&mut self) -> Result<(), PackError> {
        let mut line = Vec::new();
        let mut lines = (&mut self.lines).take(LINE_BYTES_MOST + 1);
        lines.read_until(b'\n', &mut line)?;
        self.line += 1;
        if line.len() as u64 > LINE_BYTES_MOST {
            return Err(PackError::LongLine { line: self.line });
        }
        if self.lines.get_ref().limit() == 0 {
            return Err(PackError::TooMuch { most: self.most });
        }
        self.next = if line.is_empty() {
            None
        } else {
            let record = serde_json::from_slice(&line);
            Some(record.map_err(|source| PackError::Record { line: self.line, source })?)
        };
        Ok(())
    }

    const fn out_of_place(&self, expected: &'static str) -> PackError {
        PackError::Order { line: self.line, expected }
    }
}

const fn is_plan(record: &PackRecord) -> bool {
    matches!(record, PackRecord::Plan(_))
}

const fn begins(event: &TrialEvent) -> bool {
    matches!(event, TrialEvent::Began(_))
}
