-- Calls of ended runs without a definite answer: the executor may still be at work until then. application is set where
-- the task is serial.
CREATE TABLE IF NOT EXISTS linger (
    job BIGINT NOT NULL,
    run BIGINT NOT NULL,
    slot INT NOT NULL,
    step VARCHAR(128) NOT NULL,
    item INT NOT NULL,
    n INT NOT NULL,
    key_try INT NOT NULL,
    application VARCHAR(300),
    instance VARCHAR(300),
    until_at BIGINT NOT NULL,
    PRIMARY KEY (run, step, item, n),
    KEY linger_slot (slot),
    KEY linger_job (job),
    KEY linger_until (until_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- When a job was deleted: what it promised before that is decided, nothing after.
CREATE TABLE IF NOT EXISTS tombstone (
    job BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL,
    PRIMARY KEY (job)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- That a whole job is paused stands in the row of trigger '' alone.
INSERT INTO trigger_state (job, trigger_name, slot, fires, paused, job_paused, paused_since)
SELECT job, '', MAX(slot), 0, 0, 1, MIN(paused_since) FROM trigger_state
WHERE job_paused = 1 AND job NOT IN (SELECT s.job FROM (SELECT job FROM trigger_state WHERE trigger_name = '') s)
GROUP BY job;
