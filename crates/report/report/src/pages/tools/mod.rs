//! Pages about single tools: their rehearsals, checks and data.

pub mod dataset;
pub mod fio_check;
pub mod io500;
pub mod progress;
