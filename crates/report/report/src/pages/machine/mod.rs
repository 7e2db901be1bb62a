//! Pages about this machine: its devices, and data of treering on it.

pub mod guard;
pub mod images;
pub mod lab;
pub mod pack;
pub mod store;
