-- The store, format 1.0: trials and what was recorded of them, append-only.
--
-- `trial` in every table is a row number of this file; the identity that holds everywhere is
-- `trials.id`. `seq` is the position of an event in the trial's stream of events, counted from 0;
-- sorting by it gives the order in which things happened. `ordinal` counts the parts of one event
-- from 0. Times ending in `_ns` are nanoseconds, `began_ns` and `at_ns` from the start of the
-- trial. A trial without a row in `endings` was interrupted, or is still running.
--
-- Any change below needs a new version in schema.rs: columns and tables that are added with a
-- default make a new minor version and a migration, everything else makes a new major version.

CREATE TABLE trials (
  trial INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36), -- UUID version 7, lower case with dashes
  event_version INTEGER NOT NULL CHECK (event_version >= 0),
  started_unix_ms INTEGER NOT NULL, -- milliseconds since 1970 (UTC)
  treering_version TEXT NOT NULL,
  workload TEXT NOT NULL,
  mode TEXT NOT NULL, -- classic, native
  label TEXT NOT NULL, -- the user's own, '' when none was given
  target TEXT NOT NULL -- the directory under test
) STRICT;
CREATE INDEX trials_by_start ON trials (started_unix_ms, id);
CREATE INDEX trials_by_workload ON trials (workload, started_unix_ms);
CREATE INDEX trials_by_label ON trials (label, started_unix_ms);

-- Who writes a trial. Read only as long as the trial has no ending: when no process has this
-- number, start and boot any more, the trial was interrupted.
CREATE TABLE writers (
  trial INTEGER PRIMARY KEY REFERENCES trials,
  pid INTEGER NOT NULL CHECK (pid >= 0), -- as the process sees itself
  start_ticks INTEGER NOT NULL CHECK (start_ticks >= 0), -- start of the process, field 22 of /proc/PID/stat
  boot_id TEXT NOT NULL, -- /proc/sys/kernel/random/boot_id
  pid_namespace TEXT NOT NULL -- /proc/PID/ns/pid
) STRICT;

-- The writer let go of a trial without an ending, though its process lives on.
CREATE TABLE departures (
  trial INTEGER PRIMARY KEY REFERENCES trials
) STRICT;

-- Where a trial stands in a campaign. A trial that was run by itself has no row.
CREATE TABLE cells (
  trial INTEGER PRIMARY KEY REFERENCES trials,
  campaign TEXT NOT NULL CHECK (length(campaign) = 36), -- id of the campaign's first trial
  plan TEXT NOT NULL, -- the plan's name
  digest TEXT NOT NULL, -- equal for equal plans
  variant TEXT NOT NULL,
  job TEXT NOT NULL,
  round INTEGER NOT NULL CHECK (round >= 0), -- counted from 1; 0 is the warm-up
  role TEXT NOT NULL -- warm_up, round, control
) STRICT;
CREATE INDEX cells_by_plan ON cells (plan, digest);

-- Every parameter of the job, in its fixed order: enough to repeat it.
CREATE TABLE parameters (
  trial INTEGER NOT NULL REFERENCES trials,
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (trial, ordinal)
) STRICT, WITHOUT ROWID;

-- What the place was like: kernel.release = 6.1.0.
CREATE TABLE facts (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (trial, seq, ordinal)
) STRICT, WITHOUT ROWID;

-- Phases that began: the last one of an interrupted trial may have no row in `phases`.
CREATE TABLE phase_starts (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  phase INTEGER NOT NULL CHECK (phase >= 0), -- counted from 0
  name TEXT NOT NULL,
  at_ns INTEGER NOT NULL CHECK (at_ns >= 0),
  PRIMARY KEY (trial, seq)
) STRICT, WITHOUT ROWID;

-- Phases that ended.
CREATE TABLE phases (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  phase INTEGER NOT NULL CHECK (phase >= 0), -- counted from 0
  name TEXT NOT NULL,
  began_ns INTEGER NOT NULL CHECK (began_ns >= 0),
  wall_ns INTEGER NOT NULL CHECK (wall_ns >= 0), -- all waiting, syncing and dropping of caches included
  tasks INTEGER NOT NULL CHECK (tasks >= 0), -- tasks done
  files INTEGER NOT NULL CHECK (files >= 0), -- files worked on
  bytes INTEGER NOT NULL CHECK (bytes >= 0), -- bytes really moved
  user_ns INTEGER NOT NULL CHECK (user_ns >= 0), -- CPU of all workers in user mode
  system_ns INTEGER NOT NULL CHECK (system_ns >= 0), -- CPU of all workers in the kernel
  PRIMARY KEY (trial, seq)
) STRICT, WITHOUT ROWID;

-- All calls of one kind within a phase; `seq` is that of the phase.
CREATE TABLE phase_ops (
  trial INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  op TEXT NOT NULL, -- create, read, write …
  calls INTEGER NOT NULL CHECK (calls >= 0), -- successful or not
  errors INTEGER NOT NULL CHECK (errors >= 0), -- calls that failed
  bytes INTEGER NOT NULL CHECK (bytes >= 0), -- bytes moved
  samples INTEGER NOT NULL CHECK (samples >= 0), -- calls that were timed
  p50_ns INTEGER CHECK (p50_ns >= 0), -- latencies of the timed calls, NULL when none was timed
  p90_ns INTEGER CHECK (p90_ns >= 0),
  p99_ns INTEGER CHECK (p99_ns >= 0),
  p999_ns INTEGER CHECK (p999_ns >= 0),
  max_ns INTEGER CHECK (max_ns >= 0),
  latency BLOB, -- all of them: HdrHistogram V2, 1 ns to 1 h, 2 digits; NULL when none was timed
  PRIMARY KEY (trial, seq, ordinal),
  FOREIGN KEY (trial, seq) REFERENCES phases (trial, seq)
) STRICT;

-- Calls and bytes of each second of a phase; seconds without a call are left out.
CREATE TABLE intervals (
  trial INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  second INTEGER NOT NULL CHECK (second >= 0), -- of the phase, counted from 0
  calls INTEGER NOT NULL CHECK (calls >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (trial, seq, ordinal),
  FOREIGN KEY (trial, seq) REFERENCES phases (trial, seq)
) STRICT, WITHOUT ROWID;

-- Tasks that ended.
CREATE TABLE tasks (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  phase INTEGER NOT NULL CHECK (phase >= 0), -- counted from 0
  task INTEGER NOT NULL CHECK (task >= 0), -- within the phase, counted from 0
  worker INTEGER NOT NULL CHECK (worker >= 0), -- counted from 0
  kind TEXT NOT NULL, -- create, patch …
  subject TEXT NOT NULL, -- what it was done to
  state TEXT NOT NULL, -- of the subject when the task began, '' where there is none
  tally TEXT NOT NULL, -- row of the imitated tool's summary, '' in native mode
  began_ns INTEGER NOT NULL CHECK (began_ns >= 0),
  wall_ns INTEGER NOT NULL CHECK (wall_ns >= 0), -- its sync included
  sync_ns INTEGER NOT NULL CHECK (sync_ns >= 0), -- the sync's share of it
  user_ns INTEGER NOT NULL CHECK (user_ns >= 0), -- CPU of the worker, its sync included
  system_ns INTEGER NOT NULL CHECK (system_ns >= 0),
  sync_user_ns INTEGER NOT NULL CHECK (sync_user_ns >= 0), -- the sync's share of it
  sync_system_ns INTEGER NOT NULL CHECK (sync_system_ns >= 0),
  files INTEGER NOT NULL CHECK (files >= 0), -- files worked on
  bytes INTEGER NOT NULL CHECK (bytes >= 0), -- bytes really moved
  listed_bytes INTEGER NOT NULL CHECK (listed_bytes >= 0), -- what the imitated tool divides by the time
  PRIMARY KEY (trial, seq)
) STRICT, WITHOUT ROWID;

-- All calls of one kind within a task; `seq` is that of the task. Columns as in `phase_ops`.
CREATE TABLE task_ops (
  trial INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  op TEXT NOT NULL,
  calls INTEGER NOT NULL CHECK (calls >= 0),
  errors INTEGER NOT NULL CHECK (errors >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  samples INTEGER NOT NULL CHECK (samples >= 0),
  p50_ns INTEGER CHECK (p50_ns >= 0),
  p90_ns INTEGER CHECK (p90_ns >= 0),
  p99_ns INTEGER CHECK (p99_ns >= 0),
  p999_ns INTEGER CHECK (p999_ns >= 0),
  max_ns INTEGER CHECK (max_ns >= 0),
  latency BLOB,
  PRIMARY KEY (trial, seq, ordinal),
  FOREIGN KEY (trial, seq) REFERENCES tasks (trial, seq)
) STRICT;

-- Headline numbers.
CREATE TABLE metrics (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  name TEXT NOT NULL, -- the unit's word last: create_mib_per_second
  scope TEXT NOT NULL, -- trial, phase, kind
  part TEXT NOT NULL, -- name of the phase or of the kind of task, '' for the trial
  value REAL NOT NULL,
  unit TEXT NOT NULL, -- seconds, mib_per_second …
  better TEXT NOT NULL, -- higher, lower
  is_primary INTEGER NOT NULL CHECK (is_primary IN (0, 1)), -- 1: among the few that decide a comparison
  tasks INTEGER NOT NULL CHECK (tasks >= 0), -- of how many tasks it was made
  PRIMARY KEY (trial, seq)
) STRICT, WITHOUT ROWID;

-- Cautions.
CREATE TABLE cautions (
  trial INTEGER NOT NULL REFERENCES trials,
  seq INTEGER NOT NULL,
  code TEXT NOT NULL, -- of a closed list: caches_not_dropped …
  message TEXT NOT NULL, -- what was seen, with its figures
  PRIMARY KEY (trial, seq)
) STRICT, WITHOUT ROWID;

-- How a trial ended.
CREATE TABLE endings (
  trial INTEGER PRIMARY KEY REFERENCES trials,
  seq INTEGER NOT NULL,
  ending TEXT NOT NULL, -- completed, failed, invalid, interrupted
  why TEXT NOT NULL, -- '' where there is no reason
  wall_ns INTEGER NOT NULL CHECK (wall_ns >= 0)
) STRICT;
