-- Base tables for MySQL 8 and MariaDB 10.11. One re-runnable statement per table: DDL is not transactional, so a start
-- that was cut short simply begins again. Times are UTC milliseconds; NULL = no such time. Enumerations are stored by
-- number: core/model only ever appends to them. What comes from executors (answers, errors, results) is kept as bytes:
-- a text that is not UTF-8 must not stop a batch.
-- Partitions by day are added ahead of time and dropped by retention (adapters/store/store_retention.c).

CREATE TABLE IF NOT EXISTS cluster (
    one TINYINT NOT NULL,
    cluster_id VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    generation BIGINT NOT NULL,
    cluster_key VARBINARY(32) NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (one)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Numbers given out under a row lock: 'change' is the head of the feed, 'change_trimmed' its lowest end.
CREATE TABLE IF NOT EXISTS sequence (
    name VARCHAR(128) NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS node (
    node VARCHAR(64) NOT NULL,
    address VARCHAR(255) NOT NULL,
    first_seen BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (node)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS boot (
    boot BIGINT NOT NULL,
    node VARCHAR(64) NOT NULL,
    role VARCHAR(32) NOT NULL,
    address VARCHAR(255) NOT NULL,
    fenced TINYINT NOT NULL DEFAULT 0,
    batch BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (boot),
    KEY boot_node (node, role, boot)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lease (
    name VARCHAR(128) NOT NULL,
    boot BIGINT NOT NULL,
    since BIGINT NOT NULL,
    until_at BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS slot (
    slot INT NOT NULL,
    generation BIGINT NOT NULL DEFAULT 0,
    czxid BIGINT NOT NULL DEFAULT 0,
    owner_boot BIGINT NOT NULL DEFAULT 0,
    previous_boot BIGINT NOT NULL DEFAULT 0,
    since BIGINT,
    decided_through BIGINT NOT NULL,
    PRIMARY KEY (slot),
    KEY slot_owner (owner_boot)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Jobs per slot, apart from `slot` so that defining jobs never meets the fence's locks.
CREATE TABLE IF NOT EXISTS slot_load (
    slot INT NOT NULL,
    jobs BIGINT NOT NULL,
    PRIMARY KEY (slot),
    KEY slot_load_jobs (jobs, slot)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Definitions. live is 1, or NULL for a tombstone: a name is free again, the row stays.
CREATE TABLE IF NOT EXISTS project (
    id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    name VARCHAR(128) NOT NULL,
    live TINYINT,
    version BIGINT NOT NULL,
    fingerprint VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    json LONGTEXT NOT NULL,
    description MEDIUMTEXT,
    author VARCHAR(255) NOT NULL,
    source VARCHAR(32) NOT NULL,
    created_at BIGINT NOT NULL,
    first_created_at BIGINT NOT NULL,
    UNIQUE KEY project_name (project_id, name, live),
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS application (
    id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    name VARCHAR(128) NOT NULL,
    live TINYINT,
    version BIGINT NOT NULL,
    fingerprint VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    json LONGTEXT NOT NULL,
    description MEDIUMTEXT,
    author VARCHAR(255) NOT NULL,
    source VARCHAR(32) NOT NULL,
    created_at BIGINT NOT NULL,
    first_created_at BIGINT NOT NULL,
    UNIQUE KEY application_name (project_id, name, live),
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS calendar (
    id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    name VARCHAR(128) NOT NULL,
    live TINYINT,
    version BIGINT NOT NULL,
    fingerprint VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    json LONGTEXT NOT NULL,
    description MEDIUMTEXT,
    author VARCHAR(255) NOT NULL,
    source VARCHAR(32) NOT NULL,
    created_at BIGINT NOT NULL,
    first_created_at BIGINT NOT NULL,
    UNIQUE KEY calendar_name (project_id, name, live),
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job (
    id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    name VARCHAR(128) NOT NULL,
    live TINYINT,
    version BIGINT NOT NULL,
    fingerprint VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    json LONGTEXT NOT NULL,
    description MEDIUMTEXT,
    author VARCHAR(255) NOT NULL,
    source VARCHAR(32) NOT NULL,
    created_at BIGINT NOT NULL,
    first_created_at BIGINT NOT NULL,
    slot INT NOT NULL,
    mode TINYINT NOT NULL DEFAULT 0,
    paused TINYINT NOT NULL DEFAULT 0,
    suspended TINYINT NOT NULL DEFAULT 0,
    pending_delete TINYINT NOT NULL DEFAULT 0,
    UNIQUE KEY job_name (project_id, name, live),
    PRIMARY KEY (id),
    KEY job_slot (slot, live)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job_version (
    job BIGINT NOT NULL,
    version BIGINT NOT NULL,
    json LONGTEXT NOT NULL,
    fingerprint VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    author VARCHAR(255) NOT NULL,
    source VARCHAR(32) NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (job, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `trigger` (
    job BIGINT NOT NULL,
    name VARCHAR(128) NOT NULL,
    live TINYINT NOT NULL,
    paused TINYINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (job, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS activation (
    job BIGINT NOT NULL,
    trigger_name VARCHAR(160) NOT NULL,
    from_at BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    version BIGINT NOT NULL,
    slot INT NOT NULL,
    boot BIGINT NOT NULL,
    PRIMARY KEY (job, trigger_name, from_at, kind, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS trigger_state (
    job BIGINT NOT NULL,
    trigger_name VARCHAR(160) NOT NULL,
    slot INT NOT NULL,
    fires BIGINT NOT NULL,
    last_end BIGINT,
    paused TINYINT NOT NULL,
    job_paused TINYINT NOT NULL,
    paused_since BIGINT,
    error BLOB,
    PRIMARY KEY (job, trigger_name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS run (
    day INT NOT NULL,
    id BIGINT NOT NULL,
    job BIGINT NOT NULL,
    project BIGINT NOT NULL,
    version BIGINT NOT NULL,
    trigger_name VARCHAR(160) NOT NULL,
    generation BIGINT NOT NULL,
    scheduled_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    fired_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    state TINYINT NOT NULL,
    origin TINYINT NOT NULL,
    reason BLOB,
    error_code BLOB,
    error_args LONGBLOB,
    family BIGINT NOT NULL,
    retry_of BIGINT NOT NULL,
    retry_no INT NOT NULL,
    slot INT NOT NULL,
    open_slot INT,
    boot BIGINT NOT NULL,
    node VARCHAR(64) NOT NULL,
    zone VARCHAR(64),
    params LONGBLOB,
    start_steps LONGBLOB,
    cancel_requested TINYINT NOT NULL,
    priority INT NOT NULL,
    PRIMARY KEY (day, id),
    UNIQUE KEY run_instant (job, scheduled_at, trigger_name, generation, day),
    KEY run_time (project, scheduled_at, id),
    KEY run_open (open_slot, boot)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
  PARTITION BY RANGE (day) (PARTITION p0 VALUES LESS THAN (1));

CREATE TABLE IF NOT EXISTS step (
    day INT NOT NULL,
    run BIGINT NOT NULL,
    step VARCHAR(128) NOT NULL,
    item INT NOT NULL,
    seq BIGINT NOT NULL,
    state TINYINT NOT NULL,
    reason BLOB,
    due BIGINT,
    since BIGINT NOT NULL,
    result LONGBLOB,
    error BLOB,
    PRIMARY KEY (day, run, step, item)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
  PARTITION BY RANGE (day) (PARTITION p0 VALUES LESS THAN (1));

CREATE TABLE IF NOT EXISTS attempt (
    day INT NOT NULL,
    run BIGINT NOT NULL,
    step VARCHAR(128) NOT NULL,
    item INT NOT NULL,
    n INT NOT NULL,
    key_try INT NOT NULL,
    seq BIGINT NOT NULL,
    state TINYINT NOT NULL,
    class TINYINT NOT NULL,
    instance VARBINARY(300),
    boot BIGINT NOT NULL,
    node VARCHAR(64) NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    http_status INT NOT NULL,
    bytes_sent BIGINT NOT NULL,
    reused_connection TINYINT NOT NULL,
    stale TINYINT NOT NULL,
    connect_ms INT NOT NULL,
    first_byte_ms INT NOT NULL,
    total_ms INT NOT NULL,
    error BLOB,
    code BLOB,
    retry_after BIGINT NOT NULL,
    request BLOB,
    response BLOB,
    request_size BIGINT NOT NULL,
    response_size BIGINT NOT NULL,
    result LONGBLOB,
    PRIMARY KEY (day, run, step, item, n)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
  PARTITION BY RANGE (day) (PARTITION p0 VALUES LESS THAN (1));

-- Requests and answers too large for the attempt's row. part: 0 request, 1 response; encoding: 0 plain, 1 zstd.
CREATE TABLE IF NOT EXISTS body (
    day INT NOT NULL,
    run BIGINT NOT NULL,
    step VARCHAR(128) NOT NULL,
    item INT NOT NULL,
    n INT NOT NULL,
    part TINYINT NOT NULL,
    encoding TINYINT NOT NULL,
    size BIGINT NOT NULL,
    bytes LONGBLOB NOT NULL,
    PRIMARY KEY (day, run, step, item, n, part)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
  PARTITION BY RANGE (day) (PARTITION p0 VALUES LESS THAN (1));

CREATE TABLE IF NOT EXISTS skip (
    day INT NOT NULL,
    job BIGINT NOT NULL,
    trigger_name VARCHAR(160) NOT NULL,
    from_at BIGINT NOT NULL,
    to_at BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    reason BLOB NOT NULL,
    slot INT NOT NULL,
    boot BIGINT NOT NULL,
    PRIMARY KEY (job, to_at, trigger_name, from_at, day),
    KEY skip_day (day)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
  PARTITION BY RANGE (day) (PARTITION p0 VALUES LESS THAN (1));

-- Wishes. open_slot is NULL when closed. Ids of run and enqueue are those of their runs; the others are small.
CREATE TABLE IF NOT EXISTS request (
    id BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    project BIGINT NOT NULL,
    job BIGINT NOT NULL,
    slot INT NOT NULL,
    open_slot INT,
    trigger_name VARCHAR(160),
    run BIGINT NOT NULL,
    run_day INT NOT NULL,
    params LONGBLOB,
    scheduled_at BIGINT,
    skip_missed TINYINT NOT NULL,
    created_at BIGINT NOT NULL,
    closed_at BIGINT,
    author VARCHAR(255) NOT NULL,
    outcome BLOB,
    idempotency_key VARBINARY(255),
    PRIMARY KEY (id),
    KEY request_open (open_slot),
    KEY request_closed (closed_at),
    KEY request_key (project, idempotency_key)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `change` (
    seq BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS token (
    id BIGINT NOT NULL,
    name VARCHAR(128) NOT NULL,
    role VARCHAR(32) NOT NULL,
    project VARCHAR(128),
    hash VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    UNIQUE KEY token_hash (hash),
    author VARCHAR(255) NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS audit (
    day INT NOT NULL,
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    who VARCHAR(255) NOT NULL,
    action VARCHAR(64) NOT NULL,
    kind VARCHAR(32) NOT NULL,
    project VARCHAR(128),
    name VARCHAR(128) NOT NULL,
    before_json LONGTEXT,
    after_json LONGTEXT,
    PRIMARY KEY (day, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
  PARTITION BY RANGE (day) (PARTITION p0 VALUES LESS THAN (1));
