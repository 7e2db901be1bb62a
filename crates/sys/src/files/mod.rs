//! File operations: opening, reading, writing, names, attributes, locks, caches.
pub(crate) mod cached;
pub(crate) mod caches;
pub(crate) mod calls;
pub(crate) mod entries;
pub(crate) mod identity;
pub(crate) mod lock;
pub(crate) mod mapping;
pub(crate) mod memory_file;
pub(crate) mod pages;
pub(crate) mod positioned;
pub(crate) mod range_lock;
pub(crate) mod residency;
pub(crate) mod through;
pub(crate) mod whole_file;
pub(crate) mod whole_paths;
