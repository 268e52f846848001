-- Calls of ended runs without a definite answer: the executor may still be at work until then. application is set where
-- the task is serial.
CREATE TABLE IF NOT EXISTS linger (
    job INTEGER NOT NULL,
    run INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    step TEXT NOT NULL,
    item INTEGER NOT NULL,
    n INTEGER NOT NULL,
    key_try INTEGER NOT NULL,
    application TEXT,
    instance TEXT,
    until_at INTEGER NOT NULL,
    PRIMARY KEY (run, step, item, n)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS linger_slot ON linger (slot);
CREATE INDEX IF NOT EXISTS linger_job ON linger (job);
CREATE INDEX IF NOT EXISTS linger_until ON linger (until_at);

-- When a job was deleted: what it promised before that is decided, nothing after.
CREATE TABLE IF NOT EXISTS tombstone (
    job INTEGER PRIMARY KEY,
    deleted_at INTEGER NOT NULL
);

-- That a whole job is paused stands in the row of trigger '' alone.
INSERT INTO trigger_state (job, trigger_name, slot, fires, paused, job_paused, paused_since)
SELECT job, '', MAX(slot), 0, 0, 1, MIN(paused_since) FROM trigger_state
WHERE job_paused = 1 AND job NOT IN (SELECT job FROM trigger_state WHERE trigger_name = '') GROUP BY job;
