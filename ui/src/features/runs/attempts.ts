// What many calls of one step amount to.
import type { Attempt, StepItem } from '../../api/types';

/** From the first call's begin to the last one's end; the end is null while one is open, the begin while there is none. */
export function spanOfAttempts(attempts: Attempt[]): [string | null, string | null] {
  let began: string | null = null;
  let ended: string | null = null;
  let open = false;
  for (const { started_at: start, ended_at: end, state } of attempts) {
    if (start && (began === null || start < began)) began = start; // all in UTC with milliseconds: text order is time order
    if (end && (ended === null || end > ended)) ended = end;
    if (!end && state !== 'ended') open = true;
  }
  return [began, open ? null : ended];
}

const ENDED = new Set(['succeeded', 'failed', 'ignored', 'skipped', 'canceled', 'unknown']);

export const doneOf = (items: StepItem[]): number => items.filter((item) => ENDED.has(item.state)).length;

/** What asks for a look comes first: failed, then at work, then the rest, each in the order of the list. */
const RANK: Record<string, number> = { failed: 0, unknown: 0, running: 1, waiting: 2 };

export function byUrgency(items: StepItem[]): StepItem[] {
  return [...items].sort((a, b) => (RANK[a.state] ?? 3) - (RANK[b.state] ?? 3) || a.item - b.item);
}

/** How many items are in which state, the most first. */
export function countStates(items: StepItem[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { state } of items) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
