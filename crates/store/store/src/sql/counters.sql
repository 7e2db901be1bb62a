
-- Since 1.3: what workloads counted of their own, and ticks.
CREATE TABLE counters (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL, -- of the task
  bytes INTEGER NOT NULL CHECK (bytes >= 0), -- of the body as it is
  body BLOB NOT NULL, -- the workload's struct as one JSON value, a Zstandard frame
  PRIMARY KEY (trial, seq)
) STRICT;
CREATE TABLE ticks (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  phase INTEGER NOT NULL CHECK (phase >= 0),
  at_ns INTEGER NOT NULL CHECK (at_ns >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0), -- of the body as it is
  body BLOB NOT NULL, -- what was counted until then, likewise
  PRIMARY KEY (trial, seq)
) STRICT;
