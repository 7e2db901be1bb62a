//! A network of a test's own: a bridge, and what is linked to it.

use std::process::{Command, id};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of bridges made by this process; tests run concurrently.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A bridge with an address. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct NetworkBridge {
    /// Name unique to this process, short enough as a prefix of link names.
    name: String,
    network: String,
}

impl NetworkBridge {
    pub(crate) fn new() -> Self {
        let one_more = MADE.fetch_add(1, Ordering::Relaxed);
        let number = (id() + one_more) % 200 + 20;
        let name = format!("tr{}{one_more}", id() % 10_000);
        let made = Self { name, network: format!("10.213.{number}") };
        run(ip(&["link", "add", &made.name, "type", "bridge"]));
        run(ip(&["addr", "add", &format!("{}/24", made.address()), "dev", &made.name]));
        run(ip(&["link", "set", &made.name, "up"]));
        made
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The first three parts of all addresses; the last of ours is 1.
    pub(crate) fn network(&self) -> &str {
        &self.network
    }

    pub(crate) fn address(&self) -> String {
        format!("{}.1", self.network)
    }

    /// Links what is there to it, and brings that up.
    pub(crate) fn join(&self, link: &str) {
        run(ip(&["link", "set", link, "master", &self.name, "up"]));
    }
}

impl Drop for NetworkBridge {
    fn drop(&mut self) {
        let _not_there = ip(&["link", "del", &self.name]).output();
    }
}

/// Cuts a link, or connects it again.
pub(crate) fn set_link(link: &str, is_up: bool) {
    run(ip(&["link", "set", link, if is_up { "up" } else { "down" }]));
}

pub(crate) fn ip(words: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(words);
    command
}

#[track_caller]
pub(crate) fn run(mut command: impl AsMutCommand) {
    let command = command.as_mut_command();
    let done = command.output().expect("the program starts");
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A command, or one that was just given more words.
pub(crate) trait AsMutCommand {
    fn as_mut_command(&mut self) -> &mut Command;
}

impl AsMutCommand for Command {
    fn as_mut_command(&mut self) -> &mut Command {
        self
    }
}

impl AsMutCommand for &mut Command {
    fn as_mut_command(&mut self) -> &mut Command {
        self
    }
}
