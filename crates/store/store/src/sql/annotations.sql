
-- Since 1.2: what was said of trials after they were recorded. The last label holds, and the last
-- of excluded and included.
CREATE TABLE annotations (
  trial INTEGER NOT NULL REFERENCES trials,
  ordinal INTEGER NOT NULL CHECK (ordinal >= 0), -- counted from 0, in the order in which they were said
  at_unix_ms INTEGER NOT NULL, -- milliseconds since 1970 (UTC)
  change TEXT NOT NULL, -- relabelled, excluded, included; since 1.4 acknowledged, withdrawn
  text TEXT NOT NULL, -- the new label, the reason, the change as JSON, ''
  PRIMARY KEY (trial, ordinal)
) STRICT, WITHOUT ROWID;
