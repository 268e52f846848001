-- How the executor of an accepted call is told that nobody waits any more, and what has become of that (0 no need, 1 due,
-- 2 told, 3 unreached). A run that has ended leaves with its lingering calls what is still to be told.

ALTER TABLE attempt ADD COLUMN notice_to TEXT;
ALTER TABLE attempt ADD COLUMN notice INTEGER NOT NULL DEFAULT 0;
ALTER TABLE linger ADD COLUMN notice_to TEXT;
