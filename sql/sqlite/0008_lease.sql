-- Leases that applications take (POST /api/v1/leases): one row each, kept when it is over. `fence` rises with every
-- taking; token_hash knows the taker again. project '' = of the whole cluster.

CREATE TABLE app_lease (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    fence INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
