//! Command blocks of a page: fenced blocks of shell.

/// A block of commands.
#[derive(Debug)]
pub(crate) struct Block {
    /// Line number of the block in the page, from 1.
    pub(crate) line: usize,
    /// Lines of the block.
    pub(crate) text: String,
}

/// Blocks marked `sh`, and unmarked ones that begin with a treering command.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open: Option<(usize, &str, String)> = None;
    for (number, line) in (1..).zip(page.lines()) {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language)) => open = Some((number + 1, language.trim(), String::new())),
            (None, None) => {}
            (Some((_, _, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (Some((line, language, text)), Some(_)) => {
                let is_ours = ["treering ", "cargo "].iter().any(|word| text.starts_with(word));
                if *language == "sh" || language.is_empty() && is_ours {
                    all.push(Block { line: *line, text: std::mem::take(text) });
                }
                open = None;
            }
        }
    }
    all
}
