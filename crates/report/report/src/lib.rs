//! Documents in many formats, and the pages of treering.
//!
//! Takes model values and returns bytes; no function reads files, a clock or the environment, or
//! prints. `pages` decides the contents of a document, `formats` its appearance; `charts` draws, on
//! pages and in separate files (`drawings`); `export` writes raw trials for other programs. Figures
//! are computed in `treering-analysis`.

mod charts;
mod data;
mod document;
mod drawings;
mod escape;
pub mod export;
pub mod formats;
mod json;
mod lines;
mod number;
pub mod overview;
pub mod pages;
mod table;
mod verdict;

pub use charts::{
    Aging, AgingVariant, Bar, Bars, Chart, Concentration, DeviceMapChart, DrawingPreset, Forest,
    ForestRow, HeatLayer, Latencies, LatencyVariant, LayoutTimeline, LayoutTimelineVariant,
    RatioVariant, Ratios, Rounds, RoundsVariant, Timeline, TimelineVariant, TraceChart,
    TraceChartRun,
};
pub use data::{Data, write_data};
pub use document::{Block, KeyValue, PageOrigin, RawList, Report, Warning};
pub use drawings::{BEGINNING_BYTES, Drawing, drawings, is_drawing};
pub use formats::Format;
pub use number::{Number, NumberStyle};
pub use table::{Align, Cell, Column, ColumnKind, Table, Tone};
