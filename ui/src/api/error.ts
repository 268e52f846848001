import type { ErrorDetail } from './types';

/** Codes that do not come from the server: the request never got a proper answer. */
export const UNREACHABLE = 'UNREACHABLE';
export const BAD_ANSWER = 'BAD_ANSWER';

export class ApiError extends Error {
  readonly status: number; // 0: no answer
  readonly code: string;
  readonly args: Record<string, unknown>;
  readonly details: ErrorDetail[];
  readonly traceId: string | null;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { args?: Record<string, unknown>; details?: ErrorDetail[]; traceId?: string | null } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.args = more.args ?? {};
    this.details = more.details ?? [];
    this.traceId = more.traceId ?? null;
  }
}

interface ErrorBody {
  error?: {
    code?: unknown;
    message?: unknown;
    args?: unknown;
    details?: unknown;
    trace_id?: unknown;
  };
}

/** The error form of the API; anything else (a proxy's page, say) becomes `HTTP_<status>`. */
export function errorFromAnswer(status: number, body: unknown): ApiError {
  const error = (body as ErrorBody | null)?.error;
  if (!error || typeof error !== 'object') return new ApiError(status, `HTTP_${status}`, '');
  return new ApiError(
    status,
    typeof error.code === 'string' ? error.code : `HTTP_${status}`,
    typeof error.message === 'string' ? error.message : '',
    {
      args: error.args && typeof error.args === 'object' ? (error.args as Record<string, unknown>) : {},
      details: Array.isArray(error.details) ? (error.details as ErrorDetail[]) : [],
      traceId: typeof error.trace_id === 'string' ? error.trace_id : null,
    },
  );
}

const STATUS_OF_KIND: Record<string, number> = { NOTFOUND: 404, VALIDATION: 400, CONFLICT: 409, FORBIDDEN: 403, UNAVAILABLE: 503, TIMEOUT: 504 };

/** One item of a batch was refused: the same error as if it had been asked for alone. */
export function errorFromItem(item: { error?: { code?: string; message?: string } | null }): ApiError {
  const code = item.error?.code ?? 'UNKNOWN';
  return new ApiError(STATUS_OF_KIND[/_([A-Z]+)_\d+$/.exec(code)?.[1] ?? ''] ?? 500, code, item.error?.message ?? '');
}

/**
 * Which remedy the catalogue should name (key below `remedy.`): by code where a code calls for its own, else by what
 * kind of refusal it is.
 */
export function remedyKey(error: unknown): string {
  if (!(error instanceof ApiError)) return 'unexpected';
  if (error.code === UNREACHABLE) return 'unreachable';
  switch (error.status) {
    case 400:
    case 422:
      return 'validation';
    case 401:
      return 'signin';
    case 403:
      return 'forbidden';
    case 404:
      return 'notfound';
    case 409:
      return error.code === 'SCHEDULING_CONFLICT_001' ? 'conflict' : 'state';
    case 412:
      return 'changed';
    case 413:
      return 'toobig';
    case 429:
      return 'slowdown';
    case 503:
    case 504:
      return 'unavailable';
    default:
      return 'unexpected';
  }
}
