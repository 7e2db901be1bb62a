//! Imitated tools on several ranks: `mpirun -n 4 mdtest`.

use treering_script::{ConfigError, Settings, Workload};

use super::ranks::Ranks;
use crate::trial::RankShare;

impl Ranks<'_> {
    /// Adds the number of ranks that the launcher has started to the settings of a tool.
    ///
    /// # Errors
    /// When the command line has another number.
    pub fn classic_settings(
        &self,
        workload: &dyn Workload,
        settings: &Settings,
    ) -> Result<Settings, ConfigError> {
        let (option, size) = self.number(workload);
        if let Some(given) = settings.text(&option).filter(|given| **given != size) {
            let message = format!("--{option} {given}: the launcher has started {size}");
            return Err(ConfigError::new(message).hint("leave it out: the launcher decides"));
        }
        let mut options = settings.options().to_vec();
        options.push((option, size));
        let mut settings = settings.with_options(options);
        settings.machine.nodes = nodes(&self.world.hosts());
        Ok(settings)
    }

    /// Distribution of a classic run over the ranks.
    pub(crate) fn classic_share(&self, workload: &dyn Workload) -> RankShare<'_> {
        RankShare { world: self.world, each: Some(self.number(workload)) }
    }

    /// Option for the number of ranks, with its value.
    fn number(&self, workload: &dyn Workload) -> (String, String) {
        let option = workload.ranks_option().unwrap_or_default();
        (option.to_owned(), self.world.size().to_string())
    }
}

/// Number of each rank's machine; machines are numbered in the order of the ranks.
fn nodes(hosts: &[String]) -> Vec<u32> {
    let mut known_hosts: Vec<&String> = Vec::new();
    let mut nodes = Vec::with_capacity(hosts.len());
    for host in hosts {
        let at = known_hosts.iter().position(|one| *one == host).unwrap_or(known_hosts.len());
        if at == known_hosts.len() {
            known_hosts.push(host);
        }
        nodes.push(u32::try_from(at).unwrap_or(u32::MAX));
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn machines_are_numbered_in_order_of_appearance() {
        assert_eq!(nodes(&["b", "b", "a", "b", "c"].map(str::to_owned)), [0, 0, 1, 0, 2]);
    }
}
