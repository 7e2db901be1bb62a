//! Text of the systemd unit that continues a campaign after a boot.

/// File name of the unit.
pub(super) const NAME: &str = "treering-reboot.service";

/// Command, directory and environment of the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuationUnit {
    /// Absolute path of the program, and its arguments.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: String,
    /// Names and values of environment variables.
    pub environment: Vec<(String, String)>,
}

impl ContinuationUnit {
    /// Text of the unit.
    pub(super) fn unit(&self, plan: &str) -> String {
        let words: Vec<String> = self.command.iter().map(|word| quoted(word, true)).collect();
        let environment: Vec<String> = self
            .environment
            .iter()
            .map(|(name, value)| quoted(&format!("{name}={value}"), false))
            .map(|word| format!("Environment={word}\n"))
            .collect();
        let environment = environment.concat();
        let plan: String = plan.chars().filter(|c| !c.is_control()).collect();
        format!(
            "# Made by treering compare. It is removed at the end of the plan, and by\n\
             # `treering lab release`.\n\
             [Unit]\n\
             Description=treering continues the plan {}\n\
             After=multi-user.target\n\
             \n\
             [Service]\n\
             Type=exec\n\
             WorkingDirectory={}\n\
             {environment}\
             ExecStart={}\n\
             \n\
             [Install]\n\
             WantedBy=multi-user.target\n",
            plan.replace('%', "%%"),
            self.directory.replace('%', "%%"),
            words.join(" ")
        )
    }
}

/// Quotes a word for systemd. In command lines a dollar sign is doubled against variable
/// substitution.
fn quoted(word: &str, is_command: bool) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '%' => quoted.push_str("%%"),
            '$' if is_command => quoted.push_str("$$"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::ContinuationUnit;

    #[test]
    fn unit_arguments_are_quoted_exactly() {
        let words = ["/opt/my tools/treering", "compare", "100%.toml", "a\"b\\c", "$HOME", "x\ny"];
        let continuation = ContinuationUnit {
            command: words.iter().map(|&word| word.to_owned()).collect(),
            directory: "/root/100%".to_owned(),
            environment: vec![("HOME".to_owned(), "/root/$a b".to_owned())],
        };
        let unit = continuation.unit("50 % \n[Service]");
        let words = r#""compare" "100%%.toml" "a\"b\\c" "$$HOME" "x\ny""#;
        let line = format!("\nExecStart=\"/opt/my tools/treering\" {words}\n");
        assert!(unit.contains(&line), "{unit}");
        assert!(unit.contains("Environment=\"HOME=/root/$a b\"\n"), "{unit}");
        assert!(unit.contains("WorkingDirectory=/root/100%%\n"), "{unit}");
        assert_eq!(unit.matches("\n[Service]").count(), 1, "{unit}");
    }
}
