-- What executors report of calls that they accepted with 202. open_run is the run while its driver has not taken the
-- report up, else NULL; outcome tells what became of it. day is the run's. state: 0 succeeded, 1 failed, 2 delay.

CREATE TABLE report (
    id INTEGER PRIMARY KEY,
    day INTEGER NOT NULL,
    run INTEGER NOT NULL,
    step TEXT NOT NULL,
    item INTEGER NOT NULL,
    key_try INTEGER NOT NULL,
    open_run INTEGER,
    state INTEGER NOT NULL,
    result TEXT,
    code TEXT,
    message TEXT,
    until_at INTEGER,
    digest TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    outcome TEXT
);
CREATE INDEX report_open ON report (open_run) WHERE open_run IS NOT NULL;
CREATE INDEX report_key ON report (run, step, item, key_try);
CREATE INDEX report_created ON report (created_at);
