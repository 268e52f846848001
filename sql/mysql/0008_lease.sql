-- Leases that applications take (POST /api/v1/leases): one row each, kept when it is over. `fence` rises with every
-- taking; token_hash knows the taker again. project '' = of the whole cluster.

CREATE TABLE IF NOT EXISTS app_lease (
    project VARCHAR(128) NOT NULL,
    name VARCHAR(128) NOT NULL,
    holder VARCHAR(255) NOT NULL,
    token_hash VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    fence BIGINT NOT NULL,
    since BIGINT NOT NULL,
    until_at BIGINT NOT NULL,
    author VARCHAR(255) NOT NULL,
    PRIMARY KEY (project, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
