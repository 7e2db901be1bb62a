//! Pages about this machine: its devices and what treering keeps there.

pub mod guard;
pub mod images;
pub mod lab;
pub mod pack;
pub mod store;
