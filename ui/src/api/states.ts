// States of runs, steps and jobs, and how they look. Colour is never alone: each has a shape of its own.

export const RUN_STATES = ['queued', 'running', 'succeeded', 'failed', 'canceled', 'lost'] as const;

export function isOpen(state: string): boolean {
  return state === 'queued' || state === 'running';
}

export type Tone = 'good' | 'bad' | 'busy' | 'idle' | 'void' | 'warn' | 'odd';

const TONES: Record<string, Tone> = {
  // runs and steps
  queued: 'idle',
  waiting: 'idle',
  ready: 'idle',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  ignored: 'warn',
  skipped: 'void',
  canceled: 'void',
  lost: 'odd',
  unknown: 'odd',
  // attempts
  started: 'busy',
  accepted: 'busy',
  ended: 'idle',
  // jobs and triggers
  active: 'good',
  paused: 'warn',
  suspended: 'bad',
  blocked: 'warn',
  complete: 'void',
  error: 'bad',
  // schedulers
  working: 'good',
  draining: 'warn',
  offline: 'void',
  down: 'bad',
  // tokens
  valid: 'good',
  expired: 'void',
  revoked: 'void',
  // ledger
  run: 'good',
  skip: 'void',
};

export function toneOf(state: string): Tone {
  return TONES[state] ?? 'idle';
}

/** What an attempt ended as: success is good, the rest is not; no class yet is still going on. */
export function toneOfClass(callClass: string | null | undefined): Tone {
  if (!callClass) return 'busy';
  if (callClass === 'success') return 'good';
  if (callClass === 'accepted') return 'busy';
  if (callClass === 'canceled') return 'void';
  if (callClass === 'busy' || callClass === 'not_sent') return 'warn';
  if (callClass === 'unknown' || callClass === 'timeout' || callClass === 'heartbeat') return 'odd';
  return 'bad';
}
