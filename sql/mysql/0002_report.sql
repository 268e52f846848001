-- What executors report of calls that they accepted with 202. open_run is the run while its driver has not taken the
-- report up, else NULL; outcome tells what became of it. day is the run's. state: 0 succeeded, 1 failed, 2 delay.

CREATE TABLE IF NOT EXISTS report (
    id BIGINT NOT NULL,
    day INT NOT NULL,
    run BIGINT NOT NULL,
    step VARCHAR(128) NOT NULL,
    item INT NOT NULL,
    key_try INT NOT NULL,
    open_run BIGINT,
    state TINYINT NOT NULL,
    result LONGBLOB,
    code BLOB,
    message BLOB,
    until_at BIGINT,
    digest VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at BIGINT NOT NULL,
    outcome VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    PRIMARY KEY (id),
    KEY report_open (open_run),
    KEY report_key (run, step, item, key_try),
    KEY report_created (created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
