//! Memory of a guest: QEMU arguments for NUMA nodes, and for memory that a daemon shares.

use treering_model::GuestSpec;

/// QEMU arguments for the memory of a guest with this number of CPUs. Nodes get equal shares of
/// both, as far as possible; a node without CPUs has memory only. `is_shared` is for virtiofs: its
/// daemon reads and writes in the memory of the guest.
pub(super) fn arguments(spec: &GuestSpec, cpus: u16, is_shared: bool) -> Vec<String> {
    let kind = if is_shared { "memory-backend-memfd,share=on" } else { "memory-backend-ram" };
    let object = |name: String, mebibytes: u64| {
        ["-object".to_owned(), format!("{kind},id={name},size={mebibytes}M")]
    };
    let mebibytes = spec.memory_bytes >> 20;
    let Some(nodes) = spec.numa_nodes else {
        if !is_shared {
            return Vec::new();
        }
        let mut arguments = object("memory".to_owned(), mebibytes).to_vec();
        arguments.extend(["-machine".to_owned(), "memory-backend=memory".to_owned()]);
        return arguments;
    };
    let share = |all: u64, node: u16| (all * u64::from(node)).div_ceil(u64::from(nodes.max(1)));
    let of_node = |node: u16| {
        let between = |all: u64| (share(all, node), share(all, node + 1));
        let ((memory, memory_end), (first, end)) = (between(mebibytes), between(cpus.into()));
        let cpus = if first < end { format!(",cpus={first}-{}", end - 1) } else { String::new() };
        let words = format!("node,nodeid={node},memdev=memory{node}{cpus}");
        let object = object(format!("memory{node}"), memory_end - memory);
        object.into_iter().chain(["-numa".to_owned(), words])
    };
    (0..nodes).flat_map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::arguments;
    use treering_model::GuestSpec;

    #[test]
    fn nodes_share_all_memory_and_all_cpus() {
        let spec = GuestSpec {
            memory_bytes: 1000 << 20,
            numa_nodes: Some(3),
            ..GuestSpec::new("".into())
        };
        let words = arguments(&spec, 2, false).join(" ");
        for said in [
            "id=memory0,size=334M -numa node,nodeid=0,memdev=memory0,cpus=0-0 ",
            "id=memory1,size=333M -numa node,nodeid=1,memdev=memory1,cpus=1-1 ",
            "id=memory2,size=333M -numa node,nodeid=2,memdev=memory2",
        ] {
            assert!(words.contains(said), "{words}");
        }
        assert!(arguments(&spec, 2, true).iter().any(|word| word.contains("memfd,share=on")));
    }

    #[test]
    fn memory_is_named_only_where_it_is_shared_or_has_nodes() {
        let spec = GuestSpec::new("".into());
        assert!(arguments(&spec, 2, false).is_empty());
        assert!(arguments(&spec, 2, true).contains(&"memory-backend=memory".to_owned()));
    }
}
