-- A boot that ends says so: it gives its slots away and finishes what it has in flight. People see it; nothing fences by
-- it. A column that exists already counts as added: migrate.c.

ALTER TABLE boot ADD COLUMN draining TINYINT NOT NULL DEFAULT 0;
