-- Tokens that were taken back stay as rows: who had them is part of the record.

ALTER TABLE token ADD COLUMN revoked_at BIGINT;
