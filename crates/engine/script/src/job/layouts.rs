//! Layouts that reach a session while it runs.

use std::sync::{Arc, Mutex, PoisonError};

use treering_model::FileLayout;

/// Layouts measured while a session runs, in chronological order.
#[derive(Clone, Debug, Default)]
pub struct LayoutFeed {
    layouts: Arc<Mutex<Vec<FileLayout>>>,
}

impl LayoutFeed {
    /// Appends a layout; called by the observer.
    pub fn push(&self, layout: FileLayout) {
        self.layouts.lock().unwrap_or_else(PoisonError::into_inner).push(layout);
    }

    /// True if no layout was added since the last [`take`](Self::take).
    pub fn is_empty(&self) -> bool {
        self.layouts.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Removes and returns all layouts; called by the session.
    pub fn take(&self) -> Vec<FileLayout> {
        std::mem::take(&mut self.layouts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::LayoutFeed;
    use treering_model::FileLayout;

    #[test]
    fn layout_requests_are_ordered_and_unique() {
        let feed = LayoutFeed::default();
        let other = feed.clone();
        for files in [1, 2] {
            other.push(FileLayout { files, ..FileLayout::default() });
        }
        assert_eq!(feed.take().iter().map(|layout| layout.files).collect::<Vec<_>>(), [1, 2]);
        assert!(other.take().is_empty());
    }
}
