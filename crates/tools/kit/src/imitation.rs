//! Macro that declares a workload whose two command lines share one job type, as in most tools.

/// Declares the workload of a folder that has its manifest in `options::MANIFEST`, its
/// [`ClassicMode`] in `output::classic_mode`, and a job with `classic` and `native`.
///
/// `over_ranks:` selects the distribution over several ranks, if the tool supports it.
///
/// [`ClassicMode`]: treering_script::ClassicMode
#[macro_export]
macro_rules! imitation {
    ($workload:ident, $job:ty $(, over_ranks: $way:ident $(($option:literal))?)?) => {
        /// Workload of the tool.
        #[derive(Clone, Copy, Debug)]
        pub struct $workload;

        impl ::treering_script::Workload for $workload {
            fn manifest(&self) -> &'static ::treering_script::WorkloadManifest {
                &options::MANIFEST
            }

            fn classic(
                &self,
                settings: &::treering_script::Settings,
            ) -> $crate::imitation::JobResult {
                Ok(Box::new(<$job>::classic(settings)?))
            }

            fn classic_mode(
                &self,
                settings: &::treering_script::Settings,
            ) -> Result<::treering_script::ClassicMode, ::treering_script::ConfigError> {
                output::classic_mode(settings)
            }

            fn native(
                &self,
                settings: &::treering_script::Settings,
            ) -> $crate::imitation::JobResult {
                Ok(Box::new(<$job>::native(settings)?))
            }
            $(
                fn over_ranks(&self) -> ::treering_script::RankDistribution {
                    ::treering_script::RankDistribution::$way $(($option))?
                }
            )?
        }
    };
}

pub mod option_words;

use treering_script::{ConfigError, Job};

/// Created job, or the error in its settings.
pub type JobResult = Result<Box<dyn Job>, ConfigError>;
