//! Changes to recorded trials: new labels, exclusion from comparisons, known changes of level. They
//! are stored as additional rows; those of the trial itself stay unchanged.

use treering_model::{Acknowledgement, Annotation, AnnotationKind, TrialId};

use crate::connection::ErrorContext;
use crate::values::fields::RowFields;
use crate::version::Version;
use crate::{Store, StoreError};

const READ: &str = "SELECT at_unix_ms, change, text FROM annotations WHERE trial = ?1 \
    ORDER BY ordinal";
const ADD: &str = "INSERT INTO annotations (trial, ordinal, at_unix_ms, change, text) \
    SELECT ?1, (SELECT count(*) FROM annotations WHERE trial = ?1), ?2, ?3, ?4";

/// Current label, and reason for exclusion, for queries over `trials t`.
pub(crate) const LABEL: &str = "coalesce((SELECT a.text FROM annotations a \
    WHERE a.trial = t.trial AND a.change = 'relabelled' ORDER BY a.ordinal DESC LIMIT 1), t.label)";
pub(crate) const EXCLUSION: &str = "(SELECT CASE a.change WHEN 'excluded' THEN a.text END \
    FROM annotations a WHERE a.trial = t.trial AND a.change IN ('excluded', 'included') \
    ORDER BY a.ordinal DESC LIMIT 1)";

impl Store {
    /// Annotates trials, all of them or none. The field `was` of a new label is not stored, since
    /// it equals the previous label.
    ///
    /// # Errors
    /// [`StoreError::NoSuchTrial`]; problems with writing the file.
    pub fn annotate(
        &mut self,
        trials: &[TrialId],
        at_unix_ms: i64,
        change: &AnnotationKind,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let json = |change: &Acknowledgement| serde_json::to_string(change).unwrap_or_default();
        let (word, text) = match change {
            AnnotationKind::Relabelled { label, .. } => ("relabelled", label.clone()),
            AnnotationKind::Excluded { reason } => ("excluded", reason.clone()),
            AnnotationKind::Included => ("included", String::new()),
            AnnotationKind::Acknowledged(change) => ("acknowledged", json(change)),
            AnnotationKind::Withdrawn(change) => ("withdrawn", json(change)),
        };
        let path = self.path.clone();
        let refused = |error| ErrorContext::file(&path).refused(error);
        self.write(|connection| {
            for trial in trials {
                let rows: Vec<i64> = connection
                    .prepare_cached("SELECT trial FROM trials WHERE id = ?1")
                    .and_then(|mut query| {
                        query.query_map([trial.text()], |row| row.get(0))?.collect()
                    })
                    .map_err(refused)?;
                let Some(row) = rows.first() else {
                    let (path, prefix) = (path.clone(), trial.text());
                    return Err(StoreError::NoSuchTrial { path, prefix });
                };
                connection
                    .prepare_cached(ADD)
                    .and_then(|mut add| add.execute((row, at_unix_ms, word, &text)))
                    .map_err(refused)?;
            }
            Ok(())
        })
    }

    /// Annotations of a trial; `label` is the label it was recorded with.
    pub(crate) fn annotations(
        &self,
        trial: i64,
        recorded_label: &str,
    ) -> Result<Vec<Annotation>, StoreError> {
        if self.version() < Version::WITH_ANNOTATIONS {
            return Ok(Vec::new());
        }
        let mut label_before = recorded_label.to_owned();
        self.rows(READ, [trial], "annotations", |fields| annotation(fields, &mut label_before))
    }
}

/// Reads an annotation of a trial whose previous label is `was`.
pub(crate) fn annotation(
    fields: &mut RowFields<'_>,
    was: &mut String,
) -> Result<Annotation, StoreError> {
    let at_unix_ms = fields.integer()?;
    let word = fields.text()?;
    let text = fields.text()?;
    let change = match word.as_str() {
        "relabelled" => {
            AnnotationKind::Relabelled { was: std::mem::replace(was, text.clone()), label: text }
        }
        "excluded" => AnnotationKind::Excluded { reason: text },
        "included" => AnnotationKind::Included,
        "acknowledged" | "withdrawn" => {
            let change: Acknowledgement = serde_json::from_str(&text)
                .map_err(|error| fields.wrong(format!("the change {text:?}: {error}")))?;
            if word == "acknowledged" {
                AnnotationKind::Acknowledged(change)
            } else {
                AnnotationKind::Withdrawn(change)
            }
        }
        _ => return Err(fields.wrong(format!("unknown change {word:?}"))),
    };
    Ok(Annotation { at_unix_ms, change })
}
