//! Parser of statements.

use super::attributes::{DefinitionKind, ValueKind, attribute};
use super::lexer::{QuotedPart, Token, TokenWord, words};
use super::{
    Attribute, AttributeValue, CompositeFlowop, Definition, EndCondition, FilesetDefinition,
    Flowop, ProcessDefinition, RunCommand, SetupAction, SpannedValue, ThreadDefinition, Variable,
    WorkloadScript,
};
use treering_kit::faults::{Fault, Faults, Place, shown};
use treering_model::nearest::nearest;

/// Maximum number of definitions of a file, of all kinds.
const DEFINITIONS_MAX: usize = 100_000;

/// Words that begin a statement.
const STATEMENTS: [&str; 18] = [
    "set",
    "define",
    "create",
    "run",
    "psrun",
    "sleep",
    "echo",
    "list",
    "eventgen",
    "enable",
    "version",
    "debug",
    "quit",
    "usage",
    "system",
    "domultisync",
    "shutdown",
    "exit",
];

/// Parses the whole file; after a faulty statement it continues with the next one.
pub(super) fn script<'t>(
    text: &'t [u8],
    overrides: &[(String, AttributeValue)],
    faults: &mut Faults<'t>,
) -> Result<WorkloadScript, Fault> {
    let tokens = words(text, faults)?;
    // After lexical errors, parsing would only report their consequences.
    if faults.has_some() {
        return Ok(WorkloadScript::default());
    }
    let mut reader = ScriptReader {
        tokens,
        at: 0,
        faults,
        script: WorkloadScript::default(),
        overrides,
        things: 0,
    };
    while reader.statement_or_next() {}
    Ok(reader.script)
}

pub(super) struct ScriptReader<'m, 't> {
    tokens: Vec<Token>,
    at: usize,
    pub(super) faults: &'m mut Faults<'t>,
    pub(super) script: WorkloadScript,
    pub(super) overrides: &'m [(String, AttributeValue)],
    things: usize,
}

impl ScriptReader<'_, '_> {
    fn peek(&self) -> &TokenWord {
        &self.tokens[self.at].word
    }

    pub(super) fn place(&self) -> Place {
        self.tokens[self.at].place
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        // The end token is never passed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is_sign(&self, sign: char) -> bool {
        *self.peek() == TokenWord::Sign(sign)
    }

    pub(super) fn take_sign(&mut self, sign: char) -> bool {
        let is_next = self.is_sign(sign);
        if is_next {
            self.next();
        }
        is_next
    }

    pub(super) fn error(&self, place: Place, message: impl std::fmt::Display) -> Fault {
        self.faults.error(place, message)
    }

    /// "expected X, found Y" error at the current token.
    pub(super) fn expected(&self, wanted: &str) -> Fault {
        let token = self.peek();
        let arithmetic = matches!(token, TokenWord::Text(text) if text.starts_with(['/', '-']));
        let error =
            self.error(self.place(), format!("{} stands where {wanted} must", token.shown()));
        if arithmetic {
            return error.hint("there is no arithmetic, as in filebench 1.5: write the result");
        }
        error.hint(format!("write {wanted}"))
    }

    pub(super) fn sign(&mut self, sign: char) -> Result<(), Fault> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.expected(&format!("'{sign}'"))) }
    }

    pub(super) fn name(&mut self, wanted: &str) -> Result<(String, Place), Fault> {
        let place = self.place();
        match self.peek() {
            TokenWord::Text(name) => {
                let name = name.clone();
                self.next();
                Ok((name, place))
            }
            _ => Err(self.expected(wanted)),
        }
    }

    /// Reads one of several words.
    fn one_of(&mut self, wanted: &str, words: &[&'static str]) -> Result<&'static str, Fault> {
        let (name, place) = self.name(wanted)?;
        let known_word = words.iter().find(|word| **word == name);
        known_word.copied().ok_or_else(|| {
            let wanted = format!("'{}' is not {wanted}", shown(&name));
            self.error(place, wanted).hint(format!("write one of: {}", words.join(", ")))
        })
    }

    /// Parses a statement. After an error, the fault is kept, and parsing resumes at the next line
    /// that begins a statement.
    fn statement_or_next(&mut self) -> bool {
        let start = self.at;
        match self.statement() {
            Ok(more) => return more,
            Err(fault) => self.faults.keep(fault),
        }
        if self.faults.is_full() {
            return false;
        }
        // A variable that could not be set is not reported as unknown as well.
        if let [set, Token { word: TokenWord::Variable(name), place }, ..] = &self.tokens[start..]
            && set.word == TokenWord::Text("set".to_owned())
        {
            let zero = SpannedValue { value: AttributeValue::Number(0), place: *place };
            self.script.variables.entry(name.clone()).or_insert(Variable::Plain(zero));
        }
        let from = self.at.saturating_sub(1).max(start);
        let mut pairs = self.tokens[from..].windows(2);
        let begins = |word: &TokenWord| match word {
            TokenWord::Text(text) => STATEMENTS.contains(&text.as_str()),
            _ => false,
        };
        let is_next =
            |pair: &[Token]| pair[0].place.line < pair[1].place.line && begins(&pair[1].word);
        match pairs.position(is_next) {
            Some(place) => self.at = from + place + 1,
            None => return false,
        }
        true
    }

    fn statement(&mut self) -> Result<bool, Fault> {
        if *self.peek() == TokenWord::End {
            return Ok(false);
        }
        let (word, place) = self.name("a statement")?;
        match word.as_str() {
            "set" => self.set()?,
            "define" => self.define(place)?,
            "create" => {
                self.one_of("what can be created", &["files", "fileset", "filesets", "file"])?;
                self.script.actions.push(SetupAction::CreateFiles);
            }
            "run" | "psrun" => {
                self.run(place, word == "psrun")?;
                if *self.peek() != TokenWord::End {
                    let after = self.place();
                    self.faults.warn(after, "what stands after the run is never reached");
                }
                return Ok(false);
            }
            "sleep" => {
                let seconds = self.number_or_variable("seconds")?;
                self.script.actions.push(SetupAction::Sleep(seconds));
            }
            "echo" => {
                let words = self.echo_text()?;
                self.script.actions.push(SetupAction::Echo(words));
            }
            "list" => {
                let keywords = ["fileset", "filesets", "flowop", "flowops"];
                let listed = self.one_of("what can be listed", &keywords)?;
                let flowops = listed.starts_with("flowop");
                let action =
                    if flowops { SetupAction::ListFlowops } else { SetupAction::ListFilesets };
                self.script.actions.push(action);
            }
            "eventgen" => {
                let definition = self.definition(DefinitionKind::Eventgen, place)?;
                self.script.rate = definition.get("rate").cloned();
            }
            "version" => self.script.actions.push(SetupAction::Version),
            "debug" => {
                self.number_or_variable("a level")?;
                self.faults.warn(place, "debug has no effect");
            }
            "quit" | "exit" => return Ok(false),
            "usage" => {
                self.echo_text()?;
                self.faults.warn(place, "usage has no effect; filebench 1.5 refuses it");
            }
            "enable" => self.enable(place)?,
            "system" => self.system()?,
            _ => return Err(self.unknown(&word, place)),
        }
        Ok(true)
    }

    fn unknown(&self, word: &str, place: Place) -> Fault {
        let (why, hint) = match word {
            word if word.starts_with(['/', '-']) => (
                "there is no arithmetic, as in filebench 1.5",
                "write the result where this stands",
            ),
            "domultisync" => (
                "domultisync: several machines are not kept in step",
                "leave it out, and start treering on each machine",
            ),
            "shutdown" => ("shutdown: a run ends by itself", "leave it out"),
            "load" | "foreach" | "stats" | "log" | "vars" => (
                "this is of the interactive filebench 1.4",
                "write the whole workload into the file; docs/workloads/filebench-wml.md",
            ),
            _ => {
                let error = self.error(place, format!("'{}' is no statement", shown(word)));
                let near = nearest(word, STATEMENTS);
                return error.hint(near.map_or_else(
                    || format!("statements are {}", STATEMENTS.join(", ")),
                    |name| format!("perhaps {name} is meant"),
                ));
            }
        };
        self.error(place, why).hint(hint)
    }

    /// Reads `system "COMMAND"`. The commands of the usual cold cache are known; no other is run.
    fn system(&mut self) -> Result<(), Fault> {
        let place = self.place();
        let text = self.echo_text()?;
        for command in text.split([';', '&', '\n']).map(str::trim).filter(|one| !one.is_empty()) {
            let words: String = command.split_whitespace().collect();
            let action = match words.as_str() {
                "sync" => SetupAction::Sync,
                "echo3>/proc/sys/vm/drop_caches"
                | "echo1>/proc/sys/vm/drop_caches"
                | "sysctlvm.drop_caches=3"
                | "sysctl-wvm.drop_caches=3"
                | "/sbin/sysctlvm.drop_caches=3"
                | "/sbin/sysctl-wvm.drop_caches=3" => SetupAction::DropCaches,
                _ => {
                    let why = format!("system: treering does not run '{}'", shown(command));
                    return Err(self.error(place, why).hint(
                        "of commands, `sync` and `echo 3 > /proc/sys/vm/drop_caches` are known; run \
                         others before, or as `prepare` of a plan",
                    ));
                }
            };
            self.script.actions.push(action);
        }
        Ok(())
    }

    fn enable(&mut self, place: Place) -> Result<(), Fault> {
        let (mode, _) = self.name("lathist")?;
        match mode.as_str() {
            "lathist" => {
                self.script.histograms = true;
                self.script.actions.push(SetupAction::Histograms);
                Ok(())
            }
            "multi" => Err(self
                .error(place, "enable multi: several machines are not kept in step")
                .hint("leave it out, and start treering on each machine")),
            other => Err(self
                .error(place, format!("'{}' cannot be enabled", shown(other)))
                .hint("lathist can")),
        }
    }

    fn run(&mut self, place: Place, by_period: bool) -> Result<(), Fault> {
        let mut period = None;
        if by_period {
            period = Some(match *self.peek() {
                TokenWord::Number(period) => (period, false),
                TokenWord::Negative(period) => (period, true),
                _ => (0, false),
            });
            if matches!(self.peek(), TokenWord::Number(_) | TokenWord::Negative(_)) {
                self.next();
            }
        }
        let has_seconds = matches!(self.peek(), TokenWord::Number(_) | TokenWord::Variable(_));
        let seconds = has_seconds.then(|| self.number_or_variable("seconds")).transpose()?;
        self.script.run = Some(RunCommand { place, seconds, period });
        Ok(())
    }

    fn number_or_variable(&mut self, wanted: &str) -> Result<SpannedValue, Fault> {
        let place = self.place();
        let value = match self.peek() {
            TokenWord::Number(number) => AttributeValue::Number(*number),
            TokenWord::Variable(name) => AttributeValue::Variable(name.clone()),
            _ => return Err(self.expected(wanted)),
        };
        self.next();
        Ok(SpannedValue { value, place })
    }

    /// Reads the text of an `echo`, with its variables substituted.
    fn echo_text(&mut self) -> Result<String, Fault> {
        let place = self.place();
        let TokenWord::Quoted(pieces) = self.peek().clone() else {
            return Err(self.expected("a text in quotation marks"));
        };
        self.next();
        let mut echoed = String::new();
        for piece in pieces {
            match piece {
                QuotedPart::Text(text) => echoed.push_str(&text),
                QuotedPart::Variable(name) => echoed.push_str(&self.echoed(&name, place)?),
            }
        }
        Ok(echoed)
    }

    /// Text of a variable in an `echo`.
    fn echoed(&self, name: &str, place: Place) -> Result<String, Fault> {
        match self.script.variables.get(name) {
            Some(Variable::Plain(value)) => Ok(match &value.value {
                AttributeValue::Number(number) => number.to_string(),
                AttributeValue::Switch(switch) => switch.to_string(),
                AttributeValue::Text(text) => text.clone(),
                AttributeValue::Variable(_) | AttributeValue::Table(_) => format!("${name}"),
            }),
            Some(Variable::Drawn(_)) => Ok(format!("${name}")),
            None => Err(self
                .error(place, format!("${} is not set before", shown(name)))
                .hint("set it first, or write \\$ for the sign itself")),
        }
    }

    fn define(&mut self, place: Place) -> Result<(), Fault> {
        let (kind, at) = self.name("what is defined")?;
        match kind.as_str() {
            "file" | "files" | "fileset" | "filesets" => {
                let is_file = matches!(kind.as_str(), "file" | "files");
                let owner = if is_file { DefinitionKind::File } else { DefinitionKind::Fileset };
                let definition = self.definition(owner, place)?;
                self.script.filesets.push(FilesetDefinition { is_file, definition });
            }
            "process" | "processes" => self.process(place)?,
            "flowop" => self.composite(place)?,
            "randvar" => {
                return Err(self
                    .error(at, "define randvar: filebench 1.5 has no such statement")
                    .hint("write set $name=randvar(type=..., ...)"));
            }
            other => {
                let kind = format!("'{}' cannot be defined", shown(other));
                return Err(self.error(at, kind).hint("file, fileset, process and flowop can"));
            }
        }
        Ok(())
    }

    fn count_thing(&mut self, place: Place) -> Result<(), Fault> {
        self.things += 1;
        if self.things <= DEFINITIONS_MAX {
            return Ok(());
        }
        let message = format!("there are more than {DEFINITIONS_MAX} things in the file");
        Err(self.error(place, message).hint("use fewer flowops"))
    }

    fn process(&mut self, place: Place) -> Result<(), Fault> {
        let definition = self.definition(DefinitionKind::Process, place)?;
        self.sign('{')?;
        let mut threads = Vec::new();
        while !self.take_sign('}') {
            let (word, place) = self.name("thread")?;
            if word != "thread" {
                let message = format!("'{}' stands in a process", shown(&word));
                return Err(self
                    .error(place, message)
                    .hint("a process has threads: thread name=..."));
            }
            let definition = self.definition(DefinitionKind::Thread, place)?;
            let flowops = self.flowops()?;
            threads.push(ThreadDefinition { definition, flowops });
        }
        if threads.is_empty() {
            return Err(self.error(place, "the process has no thread").hint("write thread name=x"));
        }
        self.script.processes.push(ProcessDefinition { definition, threads });
        Ok(())
    }

    fn flowops(&mut self) -> Result<Vec<Flowop>, Fault> {
        let begin = self.place();
        self.sign('{')?;
        let mut flowops = Vec::new();
        while !self.take_sign('}') {
            let (word, place) = self.name("flowop")?;
            if word != "flowop" {
                let message = format!("'{}' stands among flowops", shown(&word));
                return Err(self.error(place, message).hint("write flowop KIND name=..."));
            }
            let (kind, place) = self.name("the kind of the flowop")?;
            let mut definition = Definition { place, attributes: Vec::new() };
            let mut locals = Vec::new();
            self.count_thing(place)?;
            loop {
                if let TokenWord::Variable(name) = self.peek().clone() {
                    self.next();
                    self.sign('=')?;
                    locals.push((name, self.value(ValueKind::Number)?));
                } else if matches!(self.peek(), TokenWord::Text(word) if word != "flowop") {
                    let attribute = self.attribute(DefinitionKind::Flowop)?;
                    definition.attributes.push(attribute);
                } else {
                    break;
                }
                if !self.take_sign(',') {
                    break;
                }
            }
            flowops.push(Flowop { kind, definition, locals });
        }
        if flowops.is_empty() {
            let error = self.error(begin, "there is no flowop between the braces");
            return Err(error.hint("write flowop KIND name=..."));
        }
        Ok(flowops)
    }

    fn composite(&mut self, place: Place) -> Result<(), Fault> {
        let (mut name, mut locals) = (None, Vec::new());
        self.count_thing(place)?;
        loop {
            if let TokenWord::Variable(local) = self.peek().clone() {
                self.next();
                let value =
                    self.take_sign('=').then(|| self.value(ValueKind::Number)).transpose()?;
                locals.push((local, value));
            } else {
                let attribute = self.attribute(DefinitionKind::Flowop)?;
                match (attribute.name, &attribute.spanned.value) {
                    ("name", AttributeValue::Text(text)) => name = Some(text.clone()),
                    _ => {
                        let message = "a composite flowop has a name and variables of its own";
                        return Err(self
                            .error(attribute.spanned.place, message)
                            .hint("give other attributes where it is used"));
                    }
                }
            }
            if !self.take_sign(',') {
                break;
            }
        }
        let Some(name) = name else {
            return Err(self.error(place, "the flowop has no name").hint("write name=..."));
        };
        let flowops = self.flowops()?;
        self.script.composites.push(CompositeFlowop { name, place, locals, flowops });
        Ok(())
    }

    /// Parses the attributes of a definition, separated by commas.
    pub(super) fn definition(
        &mut self,
        owner: DefinitionKind,
        place: Place,
    ) -> Result<Definition, Fault> {
        self.count_thing(place)?;
        let mut attributes = vec![self.attribute(owner)?];
        while self.take_sign(',') {
            attributes.push(self.attribute(owner)?);
        }
        Ok(Definition { place, attributes })
    }

    fn attribute(&mut self, owner: DefinitionKind) -> Result<Attribute, Fault> {
        let (typed, place) = self.name("an attribute")?;
        let (name, takes) = attribute(&typed, owner, place, self.faults)?;
        if owner == DefinitionKind::Randvar && name == "randtable" {
            self.sign('=')?;
            let spanned = self.table()?;
            return Ok(Attribute { name, spanned });
        }
        if self.take_sign('=') {
            let spanned = self.value(takes)?;
            return Ok(Attribute { name, spanned });
        }
        match takes {
            ValueKind::Switch | ValueKind::Share => Ok(Attribute {
                name,
                spanned: SpannedValue { value: AttributeValue::Switch(true), place },
            }),
            ValueKind::Number | ValueKind::Text => {
                Err(self.error(place, format!("{typed} has no value")).hint(match takes {
                    ValueKind::Text => format!("write {typed}=NAME"),
                    _ => format!("write {typed}=NUMBER, or {typed}=$variable"),
                }))
            }
        }
    }

    /// Parses a value of a kind, or a variable, which is resolved later.
    pub(super) fn value(&mut self, takes: ValueKind) -> Result<SpannedValue, Fault> {
        let place = self.place();
        let value = match self.peek().clone() {
            TokenWord::Number(number) => AttributeValue::Number(number),
            TokenWord::Variable(name) => AttributeValue::Variable(name),
            TokenWord::Text(text) if takes != ValueKind::Text && text == "true" => {
                AttributeValue::Switch(true)
            }
            TokenWord::Text(text) if takes != ValueKind::Text && text == "false" => {
                AttributeValue::Switch(false)
            }
            TokenWord::Text(text) => AttributeValue::Text(text),
            TokenWord::Quoted(pieces) => match pieces.as_slice() {
                [] => AttributeValue::Text(String::new()),
                [QuotedPart::Text(text)] => AttributeValue::Text(text.clone()),
                [QuotedPart::Variable(name)] => AttributeValue::Variable(name.clone()),
                _ => {
                    let message = "a variable within a text is looked up by echo only";
                    return Err(self.error(place, message).hint("write the text itself"));
                }
            },
            _ => return Err(self.expected("a value")),
        };
        self.next();
        Ok(SpannedValue { value, place })
    }

    fn table(&mut self) -> Result<SpannedValue, Fault> {
        let place = self.place();
        self.sign('{')?;
        let mut rows = Vec::new();
        loop {
            self.sign('{')?;
            let percent = self.number_or_variable("percent")?;
            self.sign(',')?;
            let least = self.number_or_variable("the least value")?;
            self.sign(',')?;
            let most = self.number_or_variable("the greatest value")?;
            self.sign('}')?;
            rows.push([percent, least, most]);
            if !self.take_sign(',') {
                break;
            }
        }
        self.sign('}')?;
        Ok(SpannedValue { value: AttributeValue::Table(rows), place })
    }

    pub(super) fn quit_mode(&mut self) -> Result<(), Fault> {
        let mode = self.one_of("a mode", &["quit", "nousestats"])?;
        if mode == "nousestats" {
            return Ok(());
        }
        let modes = ["timeout", "alldone", "firstdone"];
        self.script.quit = match self.one_of("a way to end", &modes)? {
            "alldone" => EndCondition::AllDone,
            "firstdone" => EndCondition::FirstDone,
            _ => EndCondition::Timeout,
        };
        Ok(())
    }
}
