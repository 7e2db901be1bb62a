//! A network bridge for one test, and the links attached to it.

use std::process::{Command, id};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of bridges made by this process; tests run concurrently.
static BRIDGES: AtomicU32 = AtomicU32::new(0);

/// A bridge with an address, deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct NetworkBridge {
    /// Name unique to this process, short enough as a prefix of link names.
    name: String,
    network: String,
}

impl NetworkBridge {
    pub(crate) fn new() -> Self {
        let index = BRIDGES.fetch_add(1, Ordering::Relaxed);
        let number = (id() + index) % 200 + 20;
        let name = format!("tr{}{index}", id() % 10_000);
        let bridge = Self { name, network: format!("10.213.{number}") };
        run(ip(&["link", "add", &bridge.name, "type", "bridge"]));
        run(ip(&["addr", "add", &format!("{}/24", bridge.address()), "dev", &bridge.name]));
        run(ip(&["link", "set", &bridge.name, "up"]));
        bridge
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// First three bytes of all addresses of this network; the bridge itself has the address `.1`.
    pub(crate) fn network(&self) -> &str {
        &self.network
    }

    pub(crate) fn address(&self) -> String {
        format!("{}.1", self.network)
    }

    /// Attaches an existing link to the bridge, and brings the link up.
    pub(crate) fn join(&self, link: &str) {
        run(ip(&["link", "set", link, "master", &self.name, "up"]));
    }
}

impl Drop for NetworkBridge {
    fn drop(&mut self) {
        let _not_there = ip(&["link", "del", &self.name]).output();
    }
}

/// Takes a link down, or up again.
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
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A command by value, or by the reference that its builder methods return.
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
