//! Gates under adversarial conditions: campaigns of synthetic trials with known truth and fixed
//! seeds, mostly of a variant against itself. docs/evidence/truth.md has the figures.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

mod campaign;
mod declared;
mod facts;
mod invalid;
mod noise;
mod planted;
mod pools;
mod second_look;
mod settings;
mod sides;
mod tails;
