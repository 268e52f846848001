-- Base tables. Times are UTC milliseconds; NULL = no such time. Enumerations are stored by number: core/model only ever
-- appends to them. Columns and keys mirror sql/mysql; here the run's id alone is the primary key because its top bits
-- are the day.

CREATE TABLE cluster (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    cluster_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    cluster_key BLOB NOT NULL,
    created_at INTEGER NOT NULL
);

-- Numbers given out under a row lock: 'change' is the head of the feed, 'change_trimmed' its lowest end.
CREATE TABLE sequence (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE node (
    node TEXT PRIMARY KEY,
    address TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE boot (
    boot INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    role TEXT NOT NULL,
    address TEXT NOT NULL,
    fenced INTEGER NOT NULL DEFAULT 0,
    batch INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
);
CREATE INDEX boot_node ON boot (node, role, boot);

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    boot INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE slot (
    slot INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL DEFAULT 0,
    czxid INTEGER NOT NULL DEFAULT 0,
    owner_boot INTEGER NOT NULL DEFAULT 0,
    previous_boot INTEGER NOT NULL DEFAULT 0,
    since INTEGER,
    decided_through INTEGER NOT NULL
);
CREATE INDEX slot_owner ON slot (owner_boot);

-- Jobs per slot, apart from `slot` so that defining jobs never meets the fence's locks.
CREATE TABLE slot_load (
    slot INTEGER PRIMARY KEY,
    jobs INTEGER NOT NULL
);
CREATE INDEX slot_load_jobs ON slot_load (jobs, slot);

-- Definitions. live is 1, or NULL for a tombstone: a name is free again, the row stays.
CREATE TABLE project (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    live INTEGER,
    version INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    json TEXT NOT NULL,
    description TEXT,
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    first_created_at INTEGER NOT NULL,
    UNIQUE (project_id, name, live)
);

CREATE TABLE application (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    live INTEGER,
    version INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    json TEXT NOT NULL,
    description TEXT,
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    first_created_at INTEGER NOT NULL,
    UNIQUE (project_id, name, live)
);

CREATE TABLE calendar (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    live INTEGER,
    version INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    json TEXT NOT NULL,
    description TEXT,
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    first_created_at INTEGER NOT NULL,
    UNIQUE (project_id, name, live)
);

CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    live INTEGER,
    version INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    json TEXT NOT NULL,
    description TEXT,
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    first_created_at INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    mode INTEGER NOT NULL DEFAULT 0,
    paused INTEGER NOT NULL DEFAULT 0,
    suspended INTEGER NOT NULL DEFAULT 0,
    pending_delete INTEGER NOT NULL DEFAULT 0,
    UNIQUE (project_id, name, live)
);
CREATE INDEX job_slot ON job (slot, live);

CREATE TABLE job_version (
    job INTEGER NOT NULL,
    version INTEGER NOT NULL,
    json TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (job, version)
);

CREATE TABLE `trigger` (
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    live INTEGER NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (job, name)
) WITHOUT ROWID;

CREATE TABLE activation (
    job INTEGER NOT NULL,
    trigger_name TEXT NOT NULL,
    from_at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    version INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    boot INTEGER NOT NULL,
    PRIMARY KEY (job, trigger_name, from_at, kind, version)
) WITHOUT ROWID;

CREATE TABLE trigger_state (
    job INTEGER NOT NULL,
    trigger_name TEXT NOT NULL,
    slot INTEGER NOT NULL,
    fires INTEGER NOT NULL,
    last_end INTEGER,
    paused INTEGER NOT NULL,
    job_paused INTEGER NOT NULL,
    paused_since INTEGER,
    error TEXT,
    PRIMARY KEY (job, trigger_name)
) WITHOUT ROWID;

CREATE TABLE run (
    day INTEGER NOT NULL,
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    project INTEGER NOT NULL,
    version INTEGER NOT NULL,
    trigger_name TEXT NOT NULL,
    generation INTEGER NOT NULL,
    scheduled_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    fired_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    state INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    reason TEXT,
    error_code TEXT,
    error_args TEXT,
    family INTEGER NOT NULL,
    retry_of INTEGER NOT NULL,
    retry_no INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    open_slot INTEGER,
    boot INTEGER NOT NULL,
    node TEXT NOT NULL,
    zone TEXT,
    params TEXT,
    start_steps TEXT,
    cancel_requested INTEGER NOT NULL,
    priority INTEGER NOT NULL
);
CREATE UNIQUE INDEX run_instant ON run (job, scheduled_at, trigger_name, generation, day);
CREATE INDEX run_time ON run (project, scheduled_at, id);
CREATE INDEX run_open ON run (open_slot, boot) WHERE open_slot IS NOT NULL;

CREATE TABLE step (
    day INTEGER NOT NULL,
    run INTEGER NOT NULL,
    step TEXT NOT NULL,
    item INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state INTEGER NOT NULL,
    reason TEXT,
    due INTEGER,
    since INTEGER NOT NULL,
    result TEXT,
    error TEXT,
    PRIMARY KEY (run, step, item)
);

CREATE TABLE attempt (
    day INTEGER NOT NULL,
    run INTEGER NOT NULL,
    step TEXT NOT NULL,
    item INTEGER NOT NULL,
    n INTEGER NOT NULL,
    key_try INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state INTEGER NOT NULL,
    class INTEGER NOT NULL,
    instance TEXT,
    boot INTEGER NOT NULL,
    node TEXT NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    http_status INTEGER NOT NULL,
    bytes_sent INTEGER NOT NULL,
    reused_connection INTEGER NOT NULL,
    stale INTEGER NOT NULL,
    connect_ms INTEGER NOT NULL,
    first_byte_ms INTEGER NOT NULL,
    total_ms INTEGER NOT NULL,
    error TEXT,
    code TEXT,
    retry_after INTEGER NOT NULL,
    request TEXT,
    response TEXT,
    request_size INTEGER NOT NULL,
    response_size INTEGER NOT NULL,
    result TEXT,
    PRIMARY KEY (run, step, item, n)
);

-- Requests and answers too large for the attempt's row. part: 0 request, 1 response; encoding: 0 plain, 1 zstd.
CREATE TABLE body (
    day INTEGER NOT NULL,
    run INTEGER NOT NULL,
    step TEXT NOT NULL,
    item INTEGER NOT NULL,
    n INTEGER NOT NULL,
    part INTEGER NOT NULL,
    encoding INTEGER NOT NULL,
    size INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (run, step, item, n, part)
);

CREATE TABLE skip (
    day INTEGER NOT NULL,
    job INTEGER NOT NULL,
    trigger_name TEXT NOT NULL,
    from_at INTEGER NOT NULL,
    to_at INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    reason TEXT NOT NULL,
    slot INTEGER NOT NULL,
    boot INTEGER NOT NULL,
    PRIMARY KEY (job, to_at, trigger_name, from_at)
) WITHOUT ROWID;
CREATE INDEX skip_day ON skip (day);

-- Wishes. open_slot is NULL when closed. Ids of run and enqueue are those of their runs; the others are small.
CREATE TABLE request (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    project INTEGER NOT NULL,
    job INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    open_slot INTEGER,
    trigger_name TEXT,
    run INTEGER NOT NULL,
    run_day INTEGER NOT NULL,
    params TEXT,
    scheduled_at INTEGER,
    skip_missed INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    closed_at INTEGER,
    author TEXT NOT NULL,
    outcome TEXT,
    idempotency_key TEXT
);
CREATE INDEX request_open ON request (open_slot) WHERE open_slot IS NOT NULL;
CREATE INDEX request_closed ON request (closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX request_key ON request (project, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE `change` (
    seq INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    id INTEGER NOT NULL,
    at INTEGER NOT NULL
);

CREATE TABLE token (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    project TEXT,
    hash TEXT NOT NULL UNIQUE,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER
);

CREATE TABLE audit (
    day INTEGER NOT NULL,
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    kind TEXT NOT NULL,
    project TEXT,
    name TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT
);
