// The shapes that /api/v1 answers with. Members that an older or newer server may leave out are optional, and every
// enumeration is open: a state that this build does not know is shown by its name.

export type Instant = string; // RFC 3339, UTC, milliseconds

export interface Page<T> {
  items: T[];
  total: number;
  cursor?: string | null;
}

export interface Metadata {
  name: string;
  project?: string;
  display_name?: string;
  description?: string | null;
  owner?: string | null;
  labels?: Record<string, string>;
  version?: number | string;
}

export interface Project {
  name?: string;
  metadata?: Metadata;
  spec?: { timezone?: string };
}

export interface TriggerStatus {
  name: string;
  kind: 'cron' | 'every' | 'delay' | 'at' | string;
  schedule?: string | null;
  zone?: string | null;
  state: string;
  reason?: string | null;
  paused?: boolean;
  next?: Instant[];
  last?: Instant | null;
}

export interface LastRun {
  id: string;
  state: string;
  scheduled_at?: Instant | null;
  ended_at?: Instant | null;
}

export interface JobStatus {
  name: string;
  project?: string;
  version?: number | string;
  paused: boolean;
  state: string;
  description?: string | null;
  owner_node?: string | null;
  owner_since?: Instant | null;
  triggers?: TriggerStatus[];
  running?: number;
  last_run?: LastRun | null;
  next_at?: Instant | null;
}

export interface JobDocument {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  spec: JobSpec;
  status?: JobStatus;
}

export interface JobSpec {
  triggers?: TriggerSpec[];
  graph?: unknown[];
  overlap?: string;
  max_parallel?: number;
  timeout?: string;
  params?: unknown;
  retry?: { max?: number; delay?: string; backoff?: string };
  max_consecutive_failures?: number;
  max_in_flight?: number;
  pool?: string;
  capture?: string;
  [more: string]: unknown;
}

export interface TriggerSpec {
  name?: string;
  cron?: string;
  every?: string;
  delay?: string;
  at?: string;
  timezone?: string;
  misfire?: string;
  calendar?: string | string[];
  calendars?: string[];
  jitter?: string;
  quiet?: unknown;
  start?: Instant;
  end?: Instant;
  max_fires?: number;
  priority?: number;
  [more: string]: unknown;
}

export interface RunError {
  code?: string | null;
  message?: string | null;
  args?: unknown;
}

export interface Run {
  id: string;
  job: string;
  trigger: string;
  origin: string;
  generation?: number;
  scheduled_at: Instant;
  fired_at: Instant;
  started_at?: Instant | null;
  ended_at?: Instant | null;
  state: string;
  reason?: string | null;
  error?: RunError | null;
  scheduler?: string | null;
  family?: string | null;
  retry_of?: string | null;
  retry_no?: number;
  version?: number | string;
  cancel_requested?: boolean;
}

export interface Attempt {
  n: number;
  try?: number;
  item?: number;
  instance?: string | null;
  scheduler?: string | null;
  epoch?: string | number | null;
  state: string;
  class?: string | null;
  started_at?: Instant | null;
  ended_at?: Instant | null;
  http_status?: number | null;
  error?: string | null;
  idempotency_key?: string | null;
  bytes_sent?: number | null;
  reused_connection?: boolean | null;
  stale?: boolean;
  code?: string | null;
  connect_ms?: number | null; // −1: not reached
  first_byte_ms?: number | null;
  total_ms?: number | null;
  request_size?: number | null;
  response_size?: number | null;
  request?: unknown;
  response?: unknown;
}

/** One entry of the list that a broadcast, shard or map step works through. */
export interface StepItem {
  item: number; // from 1
  value: unknown; // the instance, or the value of the map
  state: string;
  reason?: string | null;
  due?: Instant | null;
  error?: string | null;
}

export interface RunStep {
  step: string;
  state: string;
  reason?: string | null;
  due?: Instant | null;
  error?: string | null;
  result?: unknown;
  item_count?: number;
  items?: StepItem[]; // the first thousand
  attempts?: Attempt[];
}

export interface RunDetail extends Run {
  params?: unknown;
  zone?: string | null;
  steps?: RunStep[];
}

export interface LedgerItem {
  trigger: string;
  scheduled_at?: Instant | null;
  outcome: 'run' | 'skip' | string;
  run?: string | null;
  reason?: string | null;
  from?: Instant | null;
  to?: Instant | null;
  count?: number | null;
}

export interface Explain {
  job: string;
  state: string;
  owner?: { node?: string | null; since?: Instant | null; slot?: number | string | null } | null;
  triggers?: TriggerStatus[];
  /** Calls of ended runs whose executor may still be at work. */
  lingering?: { run: string; step: string; instance?: string | null; until: Instant }[];
  waiting?: { run?: string | null; step?: string | null; reason?: string | null; since?: Instant | null; due?: Instant | null }[];
}

/** A node that fires jobs. What a standalone or an older server does not know is left out. */
export interface Scheduler {
  node: string;
  boot?: string;
  address?: string | null;
  role?: string | null; // scheduler, standalone
  state: string; // working, draining, offline, down
  wish?: string; // what was asked of it last
  wish_by?: string | null;
  wish_at?: Instant | null;
  started_at?: Instant | null;
  seen_at?: Instant | null;
  version?: string | null;
  pool?: string | null;
  weight?: number | null;
  capacity?: number | null; // jobs; null or 0: no limit
  alarm?: boolean;
  slots?: number;
  jobs?: number;
  runs?: number; // in flight
  waits_for?: { slots?: number; runs?: string[]; total?: number } | null; // while it drains; runs: at most 20
}

export interface SchedulerDetail extends Scheduler {
  running?: { run: string; project?: string | null; job?: string | null; state: string; fired_at?: Instant | null }[]; // at most 100
}

/** A job as the list of what a scheduler holds tells it. */
export interface HeldJob {
  project: string;
  name: string;
  slot?: number | string | null;
  state?: string;
  since?: Instant | null;
  running?: number;
}

export interface Token {
  id: string;
  name: string;
  role: string;
  project?: string | null;
  created_at?: Instant | null;
  expires_at?: Instant | null;
  last_used_at?: Instant | null;
  revoked_at?: Instant | null;
}

export interface NewToken extends Token {
  token: string; // told once
}

export interface WhoAmI {
  name: string;
  role: string;
  project?: string | null;
  version?: string;
}

export interface ErrorDetail {
  path?: string;
  code?: string;
  message?: string;
}

export interface BatchItem<R = { run?: string; trigger?: string }> {
  key: string;
  ok: boolean;
  result?: R | null;
  error?: { code?: string; message?: string } | null;
}

export interface Batch<R = { run?: string; trigger?: string }> {
  items: BatchItem<R>[];
}

export interface RunFilter {
  job?: string;
  state?: string;
  trigger?: string;
  from?: string;
  to?: string;
  skip?: number;
  limit?: number;
}
