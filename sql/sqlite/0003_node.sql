-- What is wished of a node (0 working, 1 draining) and what it told at its newest start; and where a request moves a
-- job to.

ALTER TABLE node ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN pool TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
ALTER TABLE node ADD COLUMN capacity INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN wish INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN wish_by TEXT;
ALTER TABLE node ADD COLUMN wish_at INTEGER;
UPDATE node SET role = COALESCE((SELECT MAX(b.role) FROM boot b WHERE b.node = node.node AND b.role <> 'orchestrator'),
                                'orchestrator')
    WHERE role = '';
ALTER TABLE request ADD COLUMN node TEXT;
