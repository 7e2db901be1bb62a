//! Gates under adversarial circumstances: campaigns of made-up trials whose truth is known, mostly
//! of a variant against itself, with fixed seeds. docs/evidence/truth.md has the figures.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

mod campaign;
mod declared;
mod invalid;
mod noise;
mod pools;
mod second_look;
mod settings;
mod sides;
mod tails;
