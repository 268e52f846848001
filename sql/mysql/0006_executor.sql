-- Instances that announce themselves (gone when expires_at has passed); and what is heard of calls that were accepted
-- with 202 while they run: signs of life with progress, and lines of their log. Of one key there is one row in alive.

CREATE TABLE IF NOT EXISTS instance (
    project VARCHAR(128) NOT NULL,
    application VARCHAR(128) NOT NULL,
    address VARCHAR(255) NOT NULL,
    source TINYINT NOT NULL,
    version VARCHAR(64),
    document LONGTEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (project, application, address),
    KEY instance_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS alive (
    run BIGINT NOT NULL,
    step VARCHAR(128) NOT NULL,
    item INT NOT NULL,
    key_try INT NOT NULL,
    day INT NOT NULL,
    at BIGINT NOT NULL,
    progress INT,
    message BLOB,
    line_count INT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (run, step, item, key_try),
    KEY alive_at (at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS attempt_log (
    run BIGINT NOT NULL,
    step VARCHAR(128) NOT NULL,
    item INT NOT NULL,
    key_try INT NOT NULL,
    line INT NOT NULL,
    at BIGINT NOT NULL,
    text BLOB NOT NULL,
    PRIMARY KEY (run, step, item, key_try, line),
    KEY attempt_log_at (at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
