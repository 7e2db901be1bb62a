//! Outputs of benchmarks that no importer reads, by the line that they begin with: an import names
//! the tool instead of passing over its numbers.

/// Line that begins an output of a tool.
struct UnreadHead {
    /// Name of the tool.
    tool: &'static str,
    /// First words of the line.
    begins: &'static str,
    /// Words that follow on the same line.
    holds: &'static str,
}

/// Heads of the known tools.
const HEADS: [UnreadHead; 5] = [
    head("iozone", "Iozone: Performance Test of File I/O", ""),
    head("tiobench", "Tiotest results for ", "concurrent io threads"),
    head("vdbench", "Vdbench distribution: vdbench", ""),
    head("sysbench", "sysbench ", "(using "),
    head("sysbench", "sysbench ", "multi-threaded system evaluation benchmark"),
];

const fn head(tool: &'static str, begins: &'static str, holds: &'static str) -> UnreadHead {
    UnreadHead { tool, begins, holds }
}

/// Tool whose output begins with this line, if no importer reads it.
pub(crate) fn unread_tool(line: &str) -> Option<&'static str> {
    let line = line.trim();
    let is_head = |head: &&UnreadHead| {
        line.strip_prefix(head.begins).is_some_and(|rest| rest.contains(head.holds))
    };
    HEADS.iter().find(is_head).map(|head| head.tool)
}

#[cfg(test)]
mod tests {
    use crate::import;

    /// Outputs as they stand in logs of these tools, with other figures.
    const IOZONE: &str = "\
$ iozone -e -I -a -s 1G -r 4k -i 0 -i 1
\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $
\t\tCompiled for 64 bit mode.
\t\tBuild: linux-AMD64

\tCommand line used: iozone -e -I -a -s 1G -r 4k -i 0 -i 1
\tOutput is in kBytes/sec
              kB  reclen    write  rewrite    read    reread
         1048576       4    40713    41866    52093    52611
";
    const TIOBENCH: &str = "\
Tiotest results for 8 concurrent io threads:
,----------------------------------------------------------------------.
| Item                  | Time     | Rate         | Usr CPU  | Sys CPU |
+-----------------------+----------+--------------+----------+---------+
| Write        2048 MBs |   11.3 s | 181.24 MB/s  |   2.1 %  |  40.3 % |
";
    const SYSBENCH: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
";
    const VDBENCH: &str = "\
Copyright (c) 2000, 2018, Oracle and/or its affiliates. All rights reserved.
Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018
For documentation, see 'vdbench.pdf'.
";

    #[test]
    fn outputs_of_tools_that_are_not_read_are_named_once() {
        for (text, tool, line) in [
            (IOZONE.repeat(2), "iozone", 2),
            (TIOBENCH.to_owned(), "tiobench", 1),
            (SYSBENCH.to_owned(), "sysbench", 1),
            (VDBENCH.to_owned(), "vdbench", 2),
        ] {
            let imported = import(text.as_bytes());
            assert!(imported.found.is_empty(), "{tool}");
            let remarks: Vec<(usize, &str)> =
                imported.remarks.iter().map(|one| (one.line, one.what.as_str())).collect();
            let what = format!("results of {tool} are not read");
            assert_eq!(remarks, [(line, what.as_str())]);
        }
    }

    #[test]
    fn a_sentence_about_a_tool_is_no_output_of_it() {
        for text in ["sysbench was slower", "I ran Iozone: Performance Test of File I/O", ""] {
            assert!(import(text.as_bytes()).remarks.is_empty(), "{text}");
        }
    }
}
