//! Pages of treering: converts model values to documents.

pub mod comparison;
pub mod disk_cost;
pub mod doctor;
mod environment;
pub mod extents;
mod figures;
pub mod fresh_copy;
pub mod gate;
pub mod heat;
pub mod history;
pub(crate) mod identity;
pub mod imported;
pub mod layout;
mod layouts;
pub mod machine;
mod origin;
mod profile;
pub mod run;
pub mod tools;
pub mod trace;
pub mod trial;
pub mod trial_json;
pub mod trials;
pub mod trials_json;
