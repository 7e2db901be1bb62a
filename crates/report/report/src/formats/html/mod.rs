//! HTML page in one file, which loads no resources and whose contents are complete without the
//! script.
//!
//! maud escapes every text; control and invisible characters are made visible before. Charts come
//! from `charts`; style and script are files in this directory.

mod table;

use std::io;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::charts::{PALETTE, STYLE as CHARTS};
use crate::escape::visible;
use crate::formats::csv::spreadsheet_text;
use crate::{
    Block, Chart, Format, KeyValue, Number, NumberStyle, PageOrigin, RawList, Report, Tone, Warning,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Script added to pages with block traces.
const TRACE_SCRIPT: &str = include_str!("trace.js");

/// Content security policy of the page: no loading at all.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                      form-action 'none'";

/// Number of headings from which a page has a table of contents.
const LISTED_FROM: usize = 4;

/// HTML format, for browsers and printing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(page(report).0.as_bytes())?;
        writeln!(out)
    }
}

fn page(report: &Report) -> Markup {
    let trace = if report.blocks.iter().any(is_trace) { TRACE_SCRIPT } else { "" };
    frame(&report.title, "", trace, &whole(report))
}

/// Title and blocks of a page.
pub(crate) fn whole(report: &Report) -> Markup {
    html! { h1 { (visible(&report.title)) } (blocks(&report.blocks)) }
}

/// Complete file around a body, with additional style and script.
pub(crate) fn frame(title: &str, style: &str, script: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                // Without an icon the browser would request one from a server.
                link rel="icon" href="data:,";
                title { (visible(title)) }
                style {
                    (PreEscaped(PALETTE)) (PreEscaped(STYLE)) (PreEscaped(CHARTS))
                    (PreEscaped(style))
                }
            }
            body {
                main {
                    (body)
                    footer {
                        "Made by treering " (env!("CARGO_PKG_VERSION"))
                        ". This file loads no external resources."
                    }
                }
                script { (PreEscaped(SCRIPT)) (PreEscaped(script)) }
            }
        }
    }
}

fn blocks(blocks: &[Block]) -> Markup {
    let headings = blocks.iter().filter(|block| matches!(block, Block::Heading { .. })).count();
    let mut lead = true;
    let mut number = 0;
    let mut place = 0;
    let mut parts: Vec<Markup> = Vec::new();
    while let Some(block) = blocks.get(place) {
        // Paragraphs directly below the title are the summary of the page.
        lead &= matches!(block, Block::Paragraph { .. });
        let run = blocks[place..].iter().take_while(|block| is_small_chart(block)).count();
        if run > 0 {
            let charts = &blocks[place..place + run];
            parts.push(html! {
                div class="charts" { @for block in charts { (block_markup(block)) } }
            });
            place += run;
            continue;
        }
        match block {
            Block::Heading { text } => {
                if number == 0 && headings >= LISTED_FROM {
                    parts.push(contents(blocks));
                }
                number += 1;
                parts.push(html! { h2 id=(format!("part-{number}")) { (visible(text)) } });
            }
            Block::Paragraph { text } if lead => {
                parts.push(html! { p class="lead" { (prose(text)) } });
            }
            other => parts.push(block_markup(other)),
        }
        place += 1;
    }
    html! { @for part in &parts { (part) } }
}

/// Renders sentences in which words between backticks are code, as in the terminal; a backtick
/// without a second one is kept as text.
fn prose(text: &str) -> Markup {
    // A percent sign stays with its number.
    let visible = visible(text).replace(" %", "\u{a0}%");
    let parts: Vec<&str> = visible.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (visible) };
    }
    html! {
        @for (place, part) in parts.into_iter().enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn is_trace(block: &Block) -> bool {
    matches!(block, Block::Chart(Chart::Trace(_)))
}

/// Reports whether a block is a chart that can be placed beside others.
fn is_small_chart(block: &Block) -> bool {
    matches!(block, Block::Chart(chart) if chart.is_small())
}

/// Table of contents with links to the headings.
fn contents(blocks: &[Block]) -> Markup {
    let headings = blocks.iter().filter_map(|block| match block {
        Block::Heading { text } => Some(text),
        _ => None,
    });
    html! {
        nav aria-label="Contents" {
            ol {
                @for (number, text) in headings.enumerate() {
                    li { a href=(format!("#part-{}", number + 1)) { (visible(text)) } }
                }
            }
        }
    }
}

fn block_markup(block: &Block) -> Markup {
    match block {
        Block::Heading { text } => html! { h2 { (visible(text)) } },
        Block::Paragraph { text } => html! { p { (prose(text)) } },
        Block::Note { text } => html! { p class="note" { (prose(text)) } },
        Block::Table(table) => table::markup(table),
        Block::KeyValues { pairs } => of_pairs(pairs),
        Block::Cautions { cautions } => of_cautions(cautions),
        Block::Command { purpose, line } => html! {
            div class="command" {
                p { (visible(purpose)) ":" }
                pre class="copied" { (visible(line)) }
            }
        },
        Block::Chart(chart) => chart.figure(),
        Block::Folded { title, table } => html! {
            details class="beside" { summary { (visible(title)) } (table::markup(table)) }
        },
        Block::RawNumbers { lists } => raw_number_lists(lists),
        Block::Origin(origin) => of_origin(origin),
    }
}

/// Foot of a page: facts in one line, and the commands below it.
pub(crate) fn of_origin(origin: &PageOrigin) -> Markup {
    html! {
        section class="origin" aria-label="Origin of the figures" {
            p {
                @for (place, (name, value)) in origin.facts.iter().enumerate() {
                    @if place > 0 { span class="dot" { " · " } }
                    span class="fact" {
                        span class="aside" { (visible(name)) } " " (visible(value))
                    }
                }
            }
            @for (purpose, line) in &origin.commands {
                div class="command" {
                    p { (visible(purpose)) ":" }
                    pre class="copied" { (visible(line)) }
                }
            }
        }
    }
}

fn of_pairs(pairs: &[KeyValue]) -> Markup {
    html! {
        dl {
            @for KeyValue { key, value } in pairs {
                div {
                    dt { (table::broken(&visible(key))) }
                    dd class=(tone_class(value.tone())) { (visible(&value.shown(""))) }
                }
            }
        }
    }
}

/// Cautions grouped by kind, the most severe expanded; advice is given once for each kind.
fn of_cautions(cautions: &[Warning]) -> Markup {
    html! {
        section class="cautions" aria-label="Cautions" {
            @for (place, of_kind) in
                cautions.chunk_by(|current, next| current.code == next.code).enumerate()
            {
                @let Warning { code, message, advice } = &of_kind[0];
                details class="caution" open=[(place == 0).then_some("")] {
                    summary {
                        b { "⚠ Caution" } " " (prose(message)) " "
                        @if of_kind.len() > 1 { "(and " (of_kind.len() - 1) " more) " }
                        span class="code" { (visible(code)) }
                    }
                    @if of_kind.len() > 1 {
                        ul { @for warning in &of_kind[1..] { li { (prose(&warning.message)) } } }
                    }
                    @if !advice.is_empty() {
                        p class="advice" { "Advice: " (prose(advice)) "." }
                    }
                }
            }
        }
    }
}

/// Lists of numbers in tab-separated columns, for spreadsheets.
fn raw_number_lists(lists: &[RawList]) -> Markup {
    let most = lists.iter().map(|list| list.values.len()).max().unwrap_or(0);
    let mut text = String::from("job\tmetric\tunit\tside");
    for round in 1..=most {
        text += &format!("\t{round}");
    }
    text.push('\n');
    for RawList { job, metric, unit, variant, values } in lists {
        let names = [job, metric, unit, variant].map(|name| spreadsheet_text(name));
        text += &names.join("\t");
        for &value in values {
            let number = Number { value, unit: String::new(), style: NumberStyle::Measured };
            text.push('\t');
            text += &if value.is_finite() { number.exact() } else { String::new() };
        }
        text.push('\n');
    }
    html! {
        details class="beside" {
            summary id="raw-numbers" { "Raw numbers" }
            p {
                "Measured values of the primary metrics, one column per round (where rounds "
                "are pairs: those that count), separated by tabs. A contender follows "
                "the baseline it was compared with."
            }
            pre class="copied raw" { (text) }
        }
    }
}

pub(crate) fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Caution => "caution",
        Tone::Bad => "bad",
    }
}
