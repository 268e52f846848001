-- A boot that ends says so: it gives its slots away and finishes what it has in flight. People see it; nothing fences by
-- it.

ALTER TABLE boot ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
