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

/// First block of a page with a treering command.
pub(crate) fn first_example(page: &str) -> Option<Block> {
    blocks(page).into_iter().find(|block| {
        let commands = block.text.lines().map(|line| line.split('#').next().unwrap_or(line));
        let mut words = commands.flat_map(str::split_whitespace);
        words.any(|word| word == "treering" || word == "treering-mpi")
    })
}

/// The plan that a page shows right above a block that runs `plan.toml`.
pub(crate) fn plan_above(page: &str, block: &Block) -> Option<String> {
    let above: Vec<&str> = page.lines().take(block.line - 1).collect();
    let above = above.join("\n");
    let (plan, rest) = above.rsplit_once("```toml\n")?.1.split_once("\n```")?;
    (block.text.contains("plan.toml") && rest.trim() == "```sh").then(|| plan.to_owned())
}

#[test]
fn the_first_example_is_the_first_block_with_a_command_of_treering() {
    let page = "```sh\nmake build # of treering\n```\n```sh\nrun treering-mpi x\n```\n";
    assert_eq!(first_example(page).map(|block| block.line), Some(5));
    assert!(first_example("```sh\nmake\n```\n").is_none());
}
