
-- Since 1.1: what observers made.
CREATE TABLE artifacts (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL, -- the observer: block_trace, layout …
  version INTEGER NOT NULL CHECK (version >= 0), -- of the body's form, by kind
  phase INTEGER CHECK (phase >= 0), -- counted from 0; NULL when it is of the whole trial
  name TEXT NOT NULL, -- among those of its kind and phase, '' where there is one only
  bytes INTEGER NOT NULL CHECK (bytes >= 0), -- of the body as it is
  body BLOB NOT NULL, -- one JSON value, a Zstandard frame
  PRIMARY KEY (trial, seq)
) STRICT;
