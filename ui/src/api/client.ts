import { LosslessNumber, isSafeNumber, parse } from 'lossless-json';
import { session } from '../app/session';
import { ApiError, BAD_ANSWER, UNREACHABLE, errorFromAnswer } from './error';

const BASE = '/api/v1';

export type Query = Record<string, string | number | undefined | null>;

export interface CallOptions {
  query?: Query;
  /** JSON text: what a person wrote goes out byte for byte, so whole numbers of any size stay whole. */
  body?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The token to use instead of the session's (to try one at sign-in). */
  token?: string;
}

let language = 'en';

/** Texts of the server's errors come in this language. */
export function setApiLanguage(tag: string): void {
  language = tag;
}

/** Numbers that a double cannot hold stay as their text (LosslessNumber); everything else is an ordinary value. */
export function parseAnswer(text: string): unknown {
  return parse(text, null, (digits) => (isSafeNumber(digits) ? Number(digits) : new LosslessNumber(digits)));
}

export function buildUrl(path: string, query?: Query): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') params.set(key, String(value));
  }
  const text = params.toString();
  return BASE + path + (text ? `?${text}` : '');
}

/** One segment of a path. Colons are ours (`jobs:pause`), so names are encoded whole. */
export const segment = (name: string): string => encodeURIComponent(name);

export async function callText(method: string, path: string, options: CallOptions = {}): Promise<string> {
  const token = options.token ?? session.token();
  const headers: Record<string, string> = { Accept: 'application/json', 'Accept-Language': language, ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';

  let status: number;
  let text: string;
  try {
    const answer = await fetch(buildUrl(path, options.query), {
      method,
      headers,
      body: options.body,
      signal: options.signal,
      cache: 'no-store',
      credentials: 'same-origin',
    });
    status = answer.status;
    text = await answer.text();
  } catch (reason) {
    if (options.signal?.aborted) throw reason;
    throw new ApiError(0, UNREACHABLE, '');
  }
  if (status >= 200 && status < 300) return text;

  let body: unknown = null;
  try {
    body = parseAnswer(text);
  } catch {
    body = null; // not JSON: the status alone must do
  }
  if (status === 401 && options.token === undefined) session.expire(token);
  throw errorFromAnswer(status, body);
}

export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const text = await callText(method, path, options);
  if (text === '') return undefined as T;
  try {
    return parseAnswer(text) as T;
  } catch {
    throw new ApiError(200, BAD_ANSWER, '');
  }
}

/** What /readyz says: null when all is well, or nothing can be said; else why not. */
export async function unreadiness(signal?: AbortSignal): Promise<string | null> {
  try {
    const answer = await fetch('/readyz', { signal, cache: 'no-store' });
    if (answer.ok) return null;
    const body = JSON.parse(await answer.text()) as { reason?: unknown };
    return typeof body.reason === 'string' ? body.reason : null;
  } catch {
    return null; // whoever does not answer is told of by every other call
  }
}
