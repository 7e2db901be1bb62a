//! Trees of directories like those of a tree on disk: depth, files per directory and the ages of
//! the files, jointly.

pub(super) mod classes;
pub(super) mod directories;
pub(super) mod measured;
#[cfg(test)]
mod tests;
