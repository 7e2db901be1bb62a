//! Sink that passes events through the observers; findings about a task or phase follow its event.

use std::path::PathBuf;

use treering_engine::HeatLog;
use treering_model::{
    Artifact, HeatReport, LAYOUT_ARTIFACT, LayoutHeat, SinkError, TrialEvent, TrialSink,
};
use treering_observe::hot::map_of_calls;
use treering_observe::{ActiveObservers, Findings, SettleTerms};
use treering_script::LayoutFeed;

/// Log of the engine's reads and writes, if recorded.
pub(crate) struct HeatRecording<'a> {
    /// The log.
    pub(crate) log: &'a HeatLog,
    /// Directory whose device is mapped too; `None` without a map.
    pub(crate) map_of: Option<PathBuf>,
}

/// Passes events on to the sink and the observers.
pub(crate) struct ObservedSink<'a> {
    sink: &'a mut dyn TrialSink,
    watching: ActiveObservers,
    heat: Option<HeatRecording<'a>>,
    feed: Option<LayoutFeed>,
}

impl<'a> ObservedSink<'a> {
    pub(crate) fn new(
        sink: &'a mut dyn TrialSink,
        watching: ActiveObservers,
        heat: Option<HeatRecording<'a>>,
        feed: Option<LayoutFeed>,
    ) -> Self {
        Self { sink, watching, heat, feed }
    }

    /// Forwards layouts to the session, if it has a feed.
    fn feed(&self, seen: &Findings) {
        let Some(feed) = &self.feed else { return };
        let layouts = seen.artifacts.iter().filter(|made| made.kind == LAYOUT_ARTIFACT);
        layouts.filter_map(|made| serde_json::from_str(&made.body).ok()).for_each(|layout| {
            feed.push(layout);
        });
    }

    /// Artifacts about hot data in a phase: the heat report, and the map of its position on the
    /// device.
    fn hot_data(&self, phase: u32) -> Vec<Artifact> {
        let Some(HeatRecording { log, map_of }) = &self.heat else { return Vec::new() };
        // With several directories, a relative path does not tell which of them it belongs to.
        let map_of = map_of.as_deref().filter(|_| log.is_single_place());
        // Errors are ignored: the layout has already reported a filesystem without extent maps.
        let map = map_of.and_then(|target| map_of_calls(target, log).ok());
        let map = map.filter(|map| !map.cells.is_empty());
        let map =
            map.and_then(|map| Artifact::new(LayoutHeat::KIND, LayoutHeat::VERSION, &map).ok());
        let report = log
            .take_report()
            .and_then(|report| Artifact::new(HeatReport::KIND, HeatReport::VERSION, &report).ok());
        let of_phase = |made| Artifact { phase: Some(phase), ..made };
        report.into_iter().chain(map).map(of_phase).collect()
    }

    /// Lets the observers watch deferred work, and reports their findings.
    pub(crate) fn settle(&mut self, terms: &SettleTerms<'_>) -> Result<(), SinkError> {
        tell(self.watching.settle(terms), self.sink)
    }

    /// Stops the observers; returns their findings about the whole trial.
    pub(crate) fn end(self) -> Findings {
        self.watching.end()
    }
}

impl TrialSink for ObservedSink<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::PhaseBegan { phase, name, .. } = event {
            self.watching.phase_begins(*phase, name);
        }
        self.sink.accept(event)?;
        match event {
            TrialEvent::TaskEnded(totals) => {
                let findings = self.watching.task_ended(totals);
                self.feed(&findings);
                tell(findings, self.sink)
            }
            TrialEvent::PhaseEnded(totals) => {
                let mut findings = self.watching.phase_ended(totals);
                self.feed(&findings);
                findings.artifacts.extend(self.hot_data(totals.phase));
                tell(findings, self.sink)
            }
            _ => Ok(()),
        }
    }
}

/// Reports all findings as events.
pub(crate) fn tell(seen: Findings, sink: &mut dyn TrialSink) -> Result<(), SinkError> {
    let Findings { facts, cautions, metrics, artifacts } = seen;
    if !facts.is_empty() {
        sink.accept(&TrialEvent::Environment { facts })?;
    }
    let cautions = cautions.into_iter().map(TrialEvent::Cautioned);
    let metrics = metrics.into_iter().map(TrialEvent::Measured);
    let artifacts = artifacts.into_iter().map(TrialEvent::Produced);
    cautions.chain(metrics).chain(artifacts).try_for_each(|event| sink.accept(&event))
}

#[cfg(test)]
mod tests {
    use treering_model::{
        Artifact, Fact, PhaseTotals, SinkError, TaskTotals, TrialEvent, TrialSink,
    };
    use treering_observe::{ActiveObservers, Findings, TrialWatch};

    use super::{ObservedSink, tell};

    /// Observer that records the phases and tasks it is told about.
    struct RecordingObserver(Vec<String>);

    impl TrialWatch for RecordingObserver {
        fn phase_begins(&mut self, phase: u32, name: &str) {
            self.0.push(format!("{phase} {name}"));
        }

        fn task_ended(&mut self, totals: &TaskTotals) -> Findings {
            self.0.push(totals.kind.clone());
            Findings::default()
        }

        fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
            let artifact = Artifact {
                kind: "ears".to_owned(),
                version: 1,
                phase: Some(totals.phase),
                name: String::new(),
                body: format!("{:?}", std::mem::take(&mut self.0)),
            };
            Findings { artifacts: vec![artifact], ..Findings::default() }
        }

        fn end(self: Box<Self>) -> Findings {
            let fact = Fact { name: "ears".to_owned(), value: self.0.len().to_string() };
            Findings { facts: vec![fact], ..Findings::default() }
        }
    }

    #[derive(Default)]
    struct EventList(Vec<TrialEvent>);

    impl TrialSink for EventList {
        fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
            self.0.push(event.clone());
            Ok(())
        }
    }

    #[test]
    fn findings_about_a_phase_follow_its_end() {
        let mut events = EventList::default();
        let mut watched = ObservedSink::new(
            &mut events,
            ActiveObservers::new(vec![Box::new(RecordingObserver(Vec::new()))]),
            None,
            None,
        );
        let kind = "create".to_owned();
        for event in [
            TrialEvent::PhaseBegan { phase: 3, name: "work".to_owned(), at_ns: 0 },
            TrialEvent::TaskEnded(TaskTotals { kind, ..TaskTotals::default() }),
            TrialEvent::PhaseEnded(PhaseTotals { phase: 3, ..PhaseTotals::default() }),
        ] {
            watched.accept(&event).unwrap();
        }
        let findings = watched.end();
        tell(findings, &mut events).unwrap();
        let [_, _, TrialEvent::PhaseEnded(_), TrialEvent::Produced(made), last] = &events.0[..]
        else {
            panic!("{:?}", events.0);
        };
        assert_eq!((made.phase, &*made.body), (Some(3), r#"["3 work", "create"]"#));
        let TrialEvent::Environment { facts } = last else { panic!("{last:?}") };
        assert_eq!(facts[0].value, "0");
    }
}
