-- What a sign of life promises: the next one comes within so many milliseconds. 0 = nothing is promised.

ALTER TABLE alive ADD COLUMN within_ms BIGINT NOT NULL DEFAULT 0;
