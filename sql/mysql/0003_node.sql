-- What is wished of a node (0 working, 1 draining) and what it told at its newest start; and where a request moves a
-- job to. A column that exists already (a start that was cut short) counts as added: migrate.c.

ALTER TABLE node
    ADD COLUMN role VARCHAR(32) NOT NULL DEFAULT '',
    ADD COLUMN version VARCHAR(64) NOT NULL DEFAULT '',
    ADD COLUMN pool VARCHAR(128) NOT NULL DEFAULT '',
    ADD COLUMN weight BIGINT NOT NULL DEFAULT 1,
    ADD COLUMN capacity BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN wish TINYINT NOT NULL DEFAULT 0,
    ADD COLUMN wish_by VARCHAR(255),
    ADD COLUMN wish_at BIGINT;
UPDATE node SET role = COALESCE((SELECT MAX(b.role) FROM boot b WHERE b.node = node.node AND b.role <> 'orchestrator'),
                                'orchestrator')
    WHERE role = '';
ALTER TABLE request ADD COLUMN node VARCHAR(64);
