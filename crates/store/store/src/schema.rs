//! Comparison of the schema of a file with that of its format version.
//!
//! A crafted file could have a view in place of a table, or a trigger on it, and so run arbitrary
//! queries when the store is read. So only objects that treering creates are accepted: exactly
//! those of known versions; for newer minor versions plain tables, indices and the triggers that
//! make tables append-only.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::version::Version;

/// Maximum number of differences reported.
const MOST_FINDINGS: usize = 5;

/// Tables that SQLite creates for `ANALYZE`. They hold numbers only.
const STATISTICS: [(&str, &str); 2] = [
    ("sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
];

/// Keywords that no table or index of a store contains, since they could cause long computations.
const COMPUTING: [&str; 8] =
    ["select", "virtual", "generated", "like", "glob", "regexp", "match", "as"];

/// Object of a schema: its type, table, and statement without comments.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SchemaObject {
    kind: String,
    table: String,
    statement: String,
}

/// Objects of a schema by name.
#[derive(Debug)]
pub(crate) struct Schema(BTreeMap<String, SchemaObject>);

impl Schema {
    /// Reads the schema of a connection.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        // A view may be named sqlite_schema; no object of a file can be named sqlite_master.
        let query = "SELECT name, type, tbl_name, coalesce(sql, '') FROM main.sqlite_master";
        let mut statement = connection.prepare(query)?;
        let objects = statement.query_map([], |row| {
            let sql: String = row.get(3)?;
            let object =
                SchemaObject { kind: row.get(1)?, table: row.get(2)?, statement: bare(&sql) };
            Ok((row.get(0)?, object))
        })?;
        Ok(Self(objects.collect::<rusqlite::Result<_>>()?))
    }

    /// Reports whether the schema has no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Objects that differ from those of `expected`, the schema of a version; empty if they agree.
    /// A newer minor version may have more tables and columns.
    pub(crate) fn differences(&self, expected: &Self, version: Version) -> Vec<String> {
        let is_newer = version > Version::CURRENT;
        let mut findings = Vec::new();
        for (name, known) in &expected.0 {
            match self.0.get(name) {
                None => findings.push(format!("{} {name} is missing", known.kind)),
                Some(object) if object.kind != known.kind => {
                    let kind = object.kind.escape_debug();
                    findings.push(format!("{name} is a {kind}, not a {}", known.kind));
                }
                Some(object) if object != known && !is_newer => {
                    findings.push(format!("{} {name} is defined in another way", known.kind));
                }
                Some(_) => {}
            }
        }
        for (name, object) in &self.0 {
            let is_accepted = match expected.0.get(name) {
                Some(known) => !is_newer || object == known || object.is_plausible(name),
                None => is_statistics(name, object) || is_newer && object.is_plausible(name),
            };
            if !is_accepted {
                let (kind, name) = (object.kind.escape_debug(), name.escape_debug());
                findings.push(format!("{kind} {name} is not one of this format"));
            }
        }
        let more = findings.len().saturating_sub(MOST_FINDINGS);
        findings.truncate(MOST_FINDINGS);
        if more > 0 {
            findings.push(format!("{more} more differences"));
        }
        findings
    }
}

impl SchemaObject {
    /// Reports whether a newer minor version may contain the object: a plain table or index.
    fn is_plausible(&self, name: &str) -> bool {
        let is_automatic = self.kind == "index" && self.statement.is_empty();
        let is_reserved = name.starts_with("sqlite_") || name.starts_with("pragma_");
        match self.kind.as_str() {
            "table" | "index" => {
                let lower = self.statement.to_ascii_lowercase();
                let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                is_automatic || !is_reserved && !words.any(|word| COMPUTING.contains(&word))
            }
            "trigger" => ["UPDATE", "DELETE"].iter().any(|change| {
                self.statement == bare(refusal(&self.table, change).trim_end_matches([';', '\n']))
            }),
            _ => false,
        }
    }
}

fn is_statistics(name: &str, object: &SchemaObject) -> bool {
    let known = STATISTICS.iter().find(|(known, _)| *known == name);
    known.is_some_and(|(_, sql)| object.kind == "table" && object.statement == *sql)
}

/// Trigger that forbids one kind of change to one table.
pub(crate) fn refusal(table: &str, change: &str) -> String {
    format!(
        "CREATE TRIGGER {table}_no_{} BEFORE {change} ON {table}\n\
         BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END;\n",
        change.to_lowercase()
    )
}

/// Statements without comments and with single spaces, for comparison regardless of layout.
pub(crate) fn bare(statements: &str) -> String {
    let lines = statements.lines().map(|line| line.split("--").next().unwrap_or_default());
    lines.flat_map(str::split_ascii_whitespace).collect::<Vec<_>>().join(" ")
}
