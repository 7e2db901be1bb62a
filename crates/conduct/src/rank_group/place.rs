//! Target directories of the ranks: each rank has one, all on the same filesystem with equal mount
//! options.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use treering_engine::World;
use treering_model::{Caution, CautionCode, Fact, TrialId};
use treering_sys::MountTable;

use super::process::failed;
use crate::failure::Failure;

/// Time limit until a file made by another client becomes visible. Attribute caches of network
/// filesystems keep entries for up to a minute by default.
const SEEN_WITHIN: Duration = Duration::from_secs(5);

/// Target directory as seen by a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DirectoryView {
    /// Error of opening the directory.
    problem: Option<String>,
    /// State of rank 0's token file.
    token: Token,
    /// Type and options of the mount.
    mount: String,
}

/// State of the token file written by rank 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Token {
    Read,
    /// Missing, or with the wrong content.
    #[default]
    Absent,
    /// Present but unreadable.
    Failed(String),
}

/// Compares the target directories of the ranks.
pub(crate) fn compare(
    world: &World<'_>,
    dir: &Path,
    trial: TrialId,
) -> Result<(Vec<Fact>, Vec<Caution>), Failure> {
    let token = dir.join(format!(".treering-rank-{trial}"));
    if world.is_first() {
        fs::write(&token, trial.text()).map_err(|error| Failure::of_path(&token, &error))?;
    }
    let token_written = world.barrier();
    let own = look(dir, &token, trial);
    let message = serde_json::to_vec(&own).unwrap_or_default();
    let all = token_written.and_then(|()| world.gather(&message));
    if world.is_first() {
        let _gone_with_its_filesystem = fs::remove_file(&token);
    }
    let all = all.map_err(|error| failed(&error))?.unwrap_or_default();
    let hosts = world.hosts();
    let views: Vec<DirectoryView> =
        all.iter().map(|views| serde_json::from_slice(views).unwrap_or_default()).collect();
    let problem = views.iter().zip(&hosts).enumerate().find_map(|(rank, (views, host))| {
        views.problem.as_ref().map(|why| format!("rank {rank} on {host}: {why}"))
    });
    match problem {
        Some(problem) => Err(Failure::usage(problem)),
        None => Ok(judge(&views, &hosts)),
    }
}

fn look(dir: &Path, token: &Path, trial: TrialId) -> DirectoryView {
    let opened = match File::open(dir) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return DirectoryView {
                problem: Some(format!("--dir: there is no directory {}", dir.display())),
                ..DirectoryView::default()
            };
        }
        Err(error) => {
            let problem = format!("{}: {error}", dir.display());
            return DirectoryView { problem: Some(problem), ..DirectoryView::default() };
        }
    };
    let table = MountTable::read().unwrap_or_default();
    let mount = table.mount_of(&opened).map(|mount| format!("{} {}", mount.fs_type, mount.options));
    let until = Instant::now() + SEEN_WITHIN;
    let mut state = Token::of(token, trial);
    while state != Token::Read && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
        state = Token::of(token, trial);
    }
    DirectoryView { problem: None, token: state, mount: mount.unwrap_or_default() }
}

impl Token {
    fn of(token: &Path, trial: TrialId) -> Self {
        match fs::read(token) {
            Ok(found) if found == trial.text().as_bytes() => Self::Read,
            Ok(_) => Self::Absent,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

fn judge(seen: &[DirectoryView], hosts: &[String]) -> (Vec<Fact>, Vec<Caution>) {
    let mut cautions = Vec::new();
    let named =
        |rank: usize| format!("rank {rank} on {}", hosts.get(rank).map_or("?", |host| host));
    let apart: Vec<usize> =
        (0..seen.len()).filter(|rank| seen[*rank].token != Token::Read).collect();
    if let Some(&first) = apart.first() {
        let (count, of, first_of) = (apart.len(), seen.len(), named(first));
        let message = match &seen[first].token {
            Token::Failed(why) => format!(
                "{count} of {of} ranks cannot read what rank 0 wrote, the first is {first_of}: \
                 {why}"
            ),
            _ => format!(
                "{count} of {of} ranks do not see the files of rank 0, the first is {first_of}: \
                 the filesystem is not shared, or files appear there after more than {} s",
                SEEN_WITHIN.as_secs()
            ),
        };
        cautions.push(Caution { code: CautionCode::NotShared, message });
    }
    let mut mounts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (rank, seen) in seen.iter().enumerate() {
        mounts.entry(&seen.mount).or_default().push(rank);
    }
    if mounts.len() > 1 {
        let each = mounts.iter().map(|(mount, ranks)| {
            format!("'{mount}' at {} ({} ranks)", named(ranks[0]), ranks.len())
        });
        let message = each.collect::<Vec<_>>().join("; ");
        cautions.push(Caution { code: CautionCode::MountsDiffer, message });
    }
    let value = mounts.into_keys().collect::<Vec<_>>().join("; ");
    (vec![Fact { name: "ranks.mount".to_owned(), value }], cautions)
}

#[cfg(test)]
mod tests {
    use super::{DirectoryView, Token, judge};
    use treering_model::CautionCode;

    #[test]
    fn ranks_with_different_files_or_mounts_are_named() {
        let view =
            |token, mount: &str| DirectoryView { problem: None, token, mount: mount.to_owned() };
        let hosts = ["a", "b", "c"].map(str::to_owned);
        let same = ["nfs4 rw"; 3].map(|mount| view(Token::Read, mount));
        let (facts, cautions) = judge(&same, &hosts);
        assert_eq!((facts[0].value.as_str(), cautions.len()), ("nfs4 rw", 0));
        let mut other = same.clone();
        other[2] = view(Token::Absent, "ext4 rw");
        let (_, cautions) = judge(&other, &hosts);
        let codes: Vec<_> = cautions.iter().map(|caution| caution.code).collect();
        assert_eq!(codes, [CautionCode::NotShared, CautionCode::MountsDiffer]);
        assert!(cautions[0].message.contains("1 of 3 ranks"), "{}", cautions[0].message);
        assert!(cautions[0].message.contains("rank 2 on c"), "{}", cautions[0].message);
        let mounts = "'ext4 rw' at rank 2 on c (1 ranks); 'nfs4 rw' at rank 0 on a (2 ranks)";
        assert_eq!(cautions[1].message, mounts);
        other[2] = view(Token::Failed("Input/output error".to_owned()), "nfs4 rw");
        let (_, cautions) = judge(&other, &hosts);
        let said = "1 of 3 ranks cannot read what rank 0 wrote, the first is rank 2 on c: \
                    Input/output error";
        assert_eq!((cautions.len(), cautions[0].message.as_str()), (1, said));
    }
}
