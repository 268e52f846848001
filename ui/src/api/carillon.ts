// Every call that the pages make, by name. Nothing else in the interface knows a path of the API.
import { call, callText, parseAnswer, segment, type CallOptions } from './client';
import type {
  Batch,
  Explain,
  HeldJob,
  JobDocument,
  JobStatus,
  LedgerItem,
  NewToken,
  Page,
  Project,
  RunDetail,
  Run,
  RunFilter,
  Scheduler,
  SchedulerDetail,
  Token,
  WhoAmI,
} from './types';

const project = (name: string): string => `/projects/${segment(name)}`;
const job = (projectName: string, name: string): string => `${project(projectName)}/jobs/${segment(name)}`;

export const projectName = (item: Project): string => item.name ?? item.metadata?.name ?? '';

export function listProjects(options: CallOptions = {}): Promise<Page<Project>> {
  return call('GET', '/projects', { ...options, query: { limit: 1000 } });
}

export function whoAmI(signal?: AbortSignal): Promise<WhoAmI> {
  return call('GET', '/whoami', { signal });
}

export function listJobs(
  name: string,
  filter: { q?: string; state?: string; skip?: number; limit?: number },
  signal?: AbortSignal,
): Promise<Page<JobStatus>> {
  return call('GET', `${project(name)}/jobs`, { query: filter, signal });
}

export interface JobAnswer {
  text: string; // as the server wrote it
  document: JobDocument;
}

export async function getJob(projectName: string, name: string, signal?: AbortSignal): Promise<JobAnswer> {
  const text = await callText('GET', job(projectName, name), { signal });
  return { text, document: parseAnswer(text) as JobDocument };
}

export function getJobStatus(projectName: string, name: string, signal?: AbortSignal): Promise<JobStatus> {
  return call('GET', `${job(projectName, name)}/status`, { signal });
}

/** Replaces the version that was read, or (without one) makes a new job; never writes over what it has not seen. */
export function putJob(projectName: string, name: string, text: string, version?: string): Promise<unknown> {
  const seen: Record<string, string> = version ? { 'If-Match': `"${version}"` } : { 'If-None-Match': '*' };
  const headers = { ...seen, 'X-Carillon-Source': 'ui' };
  return call('PUT', job(projectName, name), { body: text, headers });
}

export type JobVerb = 'pause' | 'resume' | 'run' | 'enqueue' | 'cancel';

/** `params` is JSON text of an object, sent as it stands. */
export function jobsVerb(name: string, verb: JobVerb, names: string[], params?: string): Promise<Batch> {
  const extra = params && params.trim() !== '' ? `,"params":${params}` : '';
  return call('POST', `${project(name)}/jobs:${verb}`, { body: `{"names":${JSON.stringify(names)}${extra}}` });
}

export function triggersVerb(
  name: string,
  verb: 'pause' | 'resume',
  keys: { job: string; trigger: string }[],
): Promise<Batch> {
  return call('POST', `${project(name)}/triggers:${verb}`, { body: JSON.stringify({ keys }) });
}

export function listRuns(name: string, filter: RunFilter, signal?: AbortSignal): Promise<Page<Run>> {
  return call('GET', `${project(name)}/runs`, { query: { ...filter }, signal });
}

export function getRun(name: string, id: string, signal?: AbortSignal): Promise<RunDetail> {
  return call('GET', `${project(name)}/runs/${segment(id)}`, { signal });
}

export function cancelRuns(name: string, ids: string[]): Promise<Batch> {
  return call('POST', `${project(name)}/runs:cancel`, { body: JSON.stringify({ ids }) });
}

export function listLedger(
  name: string,
  filter: { job: string; from?: string; to?: string; skip?: number; limit?: number },
  signal?: AbortSignal,
): Promise<Page<LedgerItem>> {
  return call('GET', `${project(name)}/ledger`, { query: filter, signal });
}

export function explainJob(projectName: string, name: string, signal?: AbortSignal): Promise<Explain> {
  return call('GET', `${job(projectName, name)}/explain`, { signal });
}

export function listSchedulers(signal?: AbortSignal): Promise<Page<Scheduler>> {
  return call('GET', '/schedulers', { signal });
}

export function getScheduler(node: string, signal?: AbortSignal): Promise<SchedulerDetail> {
  return call('GET', `/schedulers/${segment(node)}`, { signal });
}

export function listSchedulerJobs(
  node: string,
  filter: { skip?: number; limit?: number },
  signal?: AbortSignal,
): Promise<Page<HeldJob>> {
  return call('GET', `/schedulers/${segment(node)}/jobs`, { query: filter, signal });
}

export type SchedulerVerb = 'drain' | 'online' | 'forget';

export function schedulersVerb(verb: SchedulerVerb, names: string[]): Promise<Batch> {
  return call('POST', `/schedulers:${verb}`, { body: JSON.stringify({ names }) });
}

/** To a node, or (null) back to whoever has room. */
export function moveJobs(name: string, names: string[], node: string | null): Promise<Batch> {
  return call('POST', `${project(name)}/jobs:move`, { body: JSON.stringify({ names, node }) });
}

export function listTokens(filter: { skip?: number; limit?: number }, signal?: AbortSignal): Promise<Page<Token>> {
  return call('GET', '/tokens', { query: filter, signal });
}

export function createToken(wish: { name: string; role: string; project?: string; expires_in?: string }): Promise<NewToken> {
  return call('POST', '/tokens', { body: JSON.stringify(wish) });
}

export function revokeTokens(ids: string[]): Promise<Batch> {
  return call('POST', '/tokens:revoke', { body: JSON.stringify({ ids }) });
}

export function cronNext(
  request: { cron: string; timezone: string; from: string; count: number },
  signal?: AbortSignal,
): Promise<{ next: string[] }> {
  return call('POST', '/cron/next', { body: JSON.stringify(request), signal });
}
