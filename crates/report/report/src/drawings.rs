//! The charts of a page as files of their own: their names, and what stands in them.

use crate::charts::MARK;
use crate::{Block, Chart, Report};

/// Characters that a part of a file's name has at most.
const PART: usize = 48;

/// How every file of ours begins.
const BEGINNING: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// A chart as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Its name, of small letters, digits and dashes, with `.svg` at its end; no two of a page have
    /// the same.
    pub name: String,
    /// The SVG, which needs nothing from anywhere.
    pub svg: String,
}

/// The charts of a page in their order.
pub fn drawings(report: &Report) -> Vec<Drawing> {
    let mut part = String::new();
    let mut drawings: Vec<Drawing> = Vec::new();
    for block in &report.blocks {
        match block {
            Block::Heading { text } => part = slug(text),
            Block::Chart(chart) => {
                let Some(svg) = chart.alone() else { continue };
                let svg = format!("{BEGINNING}{MARK}\n{svg}\n");
                let words = [part.as_str(), &subject(chart)];
                let words = words.into_iter().filter(|word| !word.is_empty());
                let stem = words.collect::<Vec<_>>().join("-");
                let taken = |name: &String| drawings.iter().any(|one| one.name == *name);
                let numbered = (2..).map(|number| format!("{stem}-{number}.svg"));
                let mut names = std::iter::once(format!("{stem}.svg")).chain(numbered);
                let name = names.find(|name| !taken(name)).unwrap_or_default();
                drawings.push(Drawing { name, svg });
            }
            _ => {}
        }
    }
    drawings
}

/// Whether a file that begins so was made by [`drawings`].
pub fn is_drawing(beginning: &[u8]) -> bool {
    beginning.strip_prefix(BEGINNING.as_bytes()).is_some_and(|b| b.starts_with(MARK.as_bytes()))
}

/// Bytes that [`is_drawing`] wants to see.
pub const BEGINNING_BYTES: usize = BEGINNING.len() + MARK.len();

/// What a chart shows, in a word or two.
fn subject(chart: &Chart) -> String {
    let (sort, of) = match chart {
        Chart::Forest(_) => ("ratios", ""),
        Chart::Ratios(ratios) => ("ratio-by-round", ratios.metric.as_str()),
        Chart::Rounds(rounds) => ("rounds", rounds.metric.as_str()),
        Chart::Concentration(concentration) => ("hot-data", concentration.of.as_str()),
        Chart::Scaling(chart) => ("scaling", chart.metric.as_str()),
        Chart::Curves(chart) => ("sweep", chart.metric.as_str()),
        Chart::SweepMap(chart) => ("sweep-map", chart.metric.as_str()),
        Chart::Latencies(latencies) => ("latency", latencies.call.as_str()),
        Chart::Timeline(timeline) => ("rate", timeline.phase.as_str()),
        Chart::Layout(timeline) => ("layout", timeline.measure.as_str()),
        Chart::Map(_) => ("map", ""),
        Chart::Heat(layer) => ("heat-map", layer.heat.of.as_str()),
        Chart::Aging(aging) => ("aging", aging.kind.as_str()),
        Chart::Trace(_) => ("trace", ""),
        Chart::Remark { .. } => ("words", ""),
    };
    match slug(of).as_str() {
        "" => sort.to_owned(),
        of => format!("{sort}-{of}"),
    }
}

/// A text as a part of a file's name, whatever it was: small letters, digits, single dashes.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= PART {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn names_of_files_are_tame() {
        assert_eq!(slug("compilebench (native): files=1000"), "compilebench-native-files-1000");
        assert_eq!(slug("create MiB/s"), "create-mib-s");
        assert_eq!(slug("../../etc/passwd\0\n"), "etc-passwd");
        assert_eq!(slug("木"), "");
        assert_eq!(slug(&"long ".repeat(40)).len(), 48);
    }
}
