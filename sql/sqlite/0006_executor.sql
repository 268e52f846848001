-- Instances that announce themselves (gone when expires_at has passed); and what is heard of calls that were accepted
-- with 202 while they run: signs of life with progress, and lines of their log. Of one key there is one row in alive.

CREATE TABLE instance (
    project TEXT NOT NULL,
    application TEXT NOT NULL,
    address TEXT NOT NULL,
    source INTEGER NOT NULL,
    version TEXT,
    document TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (project, application, address)
);
CREATE INDEX instance_expires ON instance (expires_at);

CREATE TABLE alive (
    run INTEGER NOT NULL,
    step TEXT NOT NULL,
    item INTEGER NOT NULL,
    key_try INTEGER NOT NULL,
    day INTEGER NOT NULL,
    at INTEGER NOT NULL,
    progress INTEGER,
    message TEXT,
    line_count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (run, step, item, key_try)
);
CREATE INDEX alive_at ON alive (at);

CREATE TABLE attempt_log (
    run INTEGER NOT NULL,
    step TEXT NOT NULL,
    item INTEGER NOT NULL,
    key_try INTEGER NOT NULL,
    line INTEGER NOT NULL,
    at INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, step, item, key_try, line)
);
CREATE INDEX attempt_log_at ON attempt_log (at);
