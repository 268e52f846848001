-- Items of a step that fans out (broadcast, shard, map): JSON array, one element an item.
ALTER TABLE step ADD COLUMN items TEXT;
