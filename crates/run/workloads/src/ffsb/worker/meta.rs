//! `metaop`: two directories are made, one is removed, one gets another name.

use super::doing::Doing;
use super::{Stage, Worker};
use crate::ffsb::names::METAFILE;
use crate::ffsb::population::{Found, Hold};

impl Worker {
    /// Makes one more directory in `meta`.
    pub(super) fn make_meta(&mut self) -> Doing {
        self.present.number = self.fileset().meta.conceive(|| 0).number;
        self.name_meta(self.present.number);
        Doing::MakeDir(self.present.dir)
    }

    fn name_meta(&mut self, number: u64) {
        if self.fileset().meta.dir(number) == 0 {
            self.name.set(METAFILE, number);
        } else {
            self.name.set_renamed(METAFILE, number);
        }
    }

    /// The second, third and fourth call of a metaop. Where none is free, a call is left out.
    pub(super) fn meta(&mut self) -> Option<Doing> {
        let dir = self.present.dir;
        let number = self.present.number;
        match self.stage {
            Stage::MakeSecond => {
                self.fileset().meta.born(number, 0);
                self.stage = Stage::RemoveOne;
                Some(self.make_meta())
            }
            Stage::RemoveOne => {
                self.fileset().meta.born(number, 0);
                self.stage = Stage::RenameOne;
                self.removed = self.hold_meta();
                self.name_meta(self.removed?);
                Some(Doing::RemoveDir(dir))
            }
            _ => {
                self.stage = Stage::Settle;
                if let Some(removed) = self.removed.take() {
                    let meta = &self.fileset().meta;
                    meta.set_dir(removed, 0);
                    meta.bury(removed);
                }
                self.renamed = self.hold_meta();
                let number = self.renamed?;
                self.name_meta(number);
                if self.fileset().meta.dir(number) == 0 {
                    self.other_name.set_renamed(METAFILE, number);
                } else {
                    self.other_name.set(METAFILE, number);
                }
                Some(Doing::Rename(dir))
            }
        }
    }

    fn hold_meta(&mut self) -> Option<u64> {
        let Self { land, random, present, crowd, .. } = self;
        match land.filesets[present.filesystem].meta.find(random, Hold::Alone, *crowd) {
            Found::File(held) => Some(held.number),
            Found::Busy | Found::Nothing => None,
        }
    }
}
