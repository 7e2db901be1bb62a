//! A workload of which one job type serves both command lines, in a line: that of most tools.

/// Declares the workload of a folder that has its name tag in `options::MANIFEST`, its
/// [`ClassicMode`] in `output::classic_mode`, and a job with `classic` and `native`.
///
/// `over_ranks:` says how it is distributed over several ranks, where it can be.
///
/// [`ClassicMode`]: treering_script::ClassicMode
#[macro_export]
macro_rules! imitation {
    ($workload:ident, $job:ty $(, over_ranks: $way:ident $(($option:literal))?)?) => {
        /// The workload.
        #[derive(Clone, Copy, Debug)]
        pub struct $workload;

        impl ::treering_script::Workload for $workload {
            fn manifest(&self) -> &'static ::treering_script::Manifest {
                &options::MANIFEST
            }

            fn classic(&self, settings: &::treering_script::Settings) -> $crate::imitation::Made {
                Ok(Box::new(<$job>::classic(settings)?))
            }

            fn classic_mode(
                &self,
                settings: &::treering_script::Settings,
            ) -> Result<::treering_script::ClassicMode, ::treering_script::ConfigError> {
                output::classic_mode(settings)
            }

            fn native(&self, settings: &::treering_script::Settings) -> $crate::imitation::Made {
                Ok(Box::new(<$job>::native(settings)?))
            }
            $(
                fn over_ranks(&self) -> ::treering_script::OverRanks {
                    ::treering_script::OverRanks::$way $(($option))?
                }
            )?
        }
    };
}

use treering_script::{ConfigError, Job};

/// A job, or what is wrong with its settings.
pub type Made = Result<Box<dyn Job>, ConfigError>;

/// A long option of mdtest or ior, such as `--dataPacketType`, as ours are written.
pub fn with_dashes(word: String) -> String {
    let Some(rest) = word.strip_prefix("--") else { return word };
    let (name, value) = rest.find('=').map_or((rest, ""), |at| rest.split_at(at));
    let mut dashed = "--".to_owned();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            dashed.push('-');
        }
        dashed.push(letter.to_ascii_lowercase());
    }
    // The one abbreviation among them.
    dashed.replace("-c-s-v", "-csv") + value
}
