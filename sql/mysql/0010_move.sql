-- Slots behind the shared ones are bound to a pool or a node while they have jobs; a job knows how often it was moved; a
-- slot knows the change by which a job came last. A column that exists already counts as added: migrate.c.

ALTER TABLE slot_load
    ADD COLUMN pool VARCHAR(128) NOT NULL DEFAULT '',
    ADD COLUMN node VARCHAR(64) NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN moves BIGINT NOT NULL DEFAULT 0;
ALTER TABLE slot ADD COLUMN moved_seq BIGINT NOT NULL DEFAULT 0;
