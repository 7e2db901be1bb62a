//! The requests of jobs, as the original makes them.
