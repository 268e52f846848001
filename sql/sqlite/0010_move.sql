-- Slots behind the shared ones are bound to a pool or a node while they have jobs; a job knows how often it was moved; a
-- slot knows the change by which a job came last.

ALTER TABLE slot_load ADD COLUMN pool TEXT NOT NULL DEFAULT '';
ALTER TABLE slot_load ADD COLUMN node TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slot ADD COLUMN moved_seq INTEGER NOT NULL DEFAULT 0;
