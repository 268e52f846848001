import { afterEach, describe, expect, it, vi } from 'vitest';
import { stringify } from '../app/lossless';
import { jobsVerb, putJob } from './carillon';
import { buildUrl, call, parseAnswer } from './client';
import { ApiError, errorFromAnswer, remedyKey } from './error';

function answer(status: number, body: string): ReturnType<typeof vi.fn> {
  const fake = vi.fn(async (_url: string, _init: RequestInit) => ({ status, text: async () => body }));
  vi.stubGlobal('fetch', fake);
  return fake;
}

afterEach(() => vi.unstubAllGlobals());

describe('call', () => {
  it('sends the token, the language and the query', async () => {
    const fake = answer(200, '{"items":[]}');
    await call('GET', '/projects', { token: 'secret', query: { q: 'a b', skip: 0, none: undefined, empty: '' } });
    const [url, init] = fake.mock.calls[0] as [string, { headers: Record<string, string> }];
    expect(url).toBe('/api/v1/projects?q=a+b&skip=0');
    expect(init.headers.Authorization).toBe('Bearer secret');
    expect(init.headers['Accept-Language']).toBe('en');
  });

  it('turns the error form into an error', async () => {
    answer(400, '{"error":{"code":"SCHEDULING_VALIDATION_001","message":"bad","args":{"n":1},"details":[{"path":"spec","message":"x"}],"trace_id":"t1"}}');
    const error = await call('GET', '/x', { token: 't' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 400, code: 'SCHEDULING_VALIDATION_001', message: 'bad', args: { n: 1 }, details: [{ path: 'spec', message: 'x' }], traceId: 't1' });
  });

  it('survives an answer that is not ours', async () => {
    answer(502, '<html>Bad gateway</html>');
    await expect(call('GET', '/x', { token: 't' })).rejects.toMatchObject({ status: 502, code: 'HTTP_502' });
    answer(200, '<html>');
    await expect(call('GET', '/x', { token: 't' })).rejects.toMatchObject({ code: 'BAD_ANSWER' });
  });

  it('says when nobody answers', async () => {
    vi.stubGlobal('fetch', async () => {
      throw new TypeError('Failed to fetch');
    });
    await expect(call('GET', '/x', { token: 't' })).rejects.toMatchObject({ status: 0, code: 'UNREACHABLE' });
  });
});

describe('requests', () => {
  it('parameters go out as they were written', async () => {
    const fake = answer(200, '{"items":[]}');
    await jobsVerb('shop', 'run', ['a"b'], '{"big":123456789012345678901, "2":1, "1":2}');
    const [url, init] = fake.mock.calls[0] as [string, RequestInit];
    expect(url).toBe('/api/v1/projects/shop/jobs:run');
    expect(init.body).toBe('{"names":["a\\"b"],"params":{"big":123456789012345678901, "2":1, "1":2}}');
  });

  it('a new job is created only, an old one replaced only as it was seen', async () => {
    const fake = answer(200, '{}');
    await putJob('shop', 'a', '{}');
    await putJob('shop', 'a', '{}', '7');
    const headers = fake.mock.calls.map((each) => (each as [string, { headers: Record<string, string> }])[1].headers);
    expect(headers[0]).toMatchObject({ 'If-None-Match': '*' });
    expect(headers[1]).toMatchObject({ 'If-Match': '"7"' });
  });

  it('names cannot leave their place in a path', () => {
    expect(buildUrl(`/projects/${encodeURIComponent('../x?y')}`)).toBe('/api/v1/projects/..%2Fx%3Fy');
  });
});

it('numbers that a double cannot hold come out as they came in', () => {
  expect(stringify(parseAnswer('{"a":9007199254740993,"b":1.5,"c":12}'))).toBe('{"a":9007199254740993,"b":1.5,"c":12}');
});

it.each([
  [new ApiError(0, 'UNREACHABLE', ''), 'unreachable'],
  [new ApiError(400, 'SCHEDULING_VALIDATION_001', ''), 'validation'],
  [new ApiError(401, 'AUTH_UNAUTHORIZED_002', ''), 'signin'],
  [new ApiError(403, 'AUTH_FORBIDDEN_001', ''), 'forbidden'],
  [new ApiError(404, 'SCHEDULING_NOTFOUND_001', ''), 'notfound'],
  [new ApiError(409, 'SCHEDULING_CONFLICT_001', ''), 'conflict'],
  [new ApiError(412, 'REQUEST_PRECONDITION_001', ''), 'changed'],
  [new ApiError(429, 'AUTH_RATE_001', ''), 'slowdown'],
  [new ApiError(503, 'SCHEDULING_UNAVAILABLE_003', ''), 'unavailable'],
  [new ApiError(418, 'X', ''), 'unexpected'],
  [new Error('x'), 'unexpected'],
])('every error has a remedy: %s', (error, key) => {
  expect(remedyKey(error)).toBe(key);
});

it('an error without a body still has a code', () => {
  expect(errorFromAnswer(500, null)).toMatchObject({ status: 500, code: 'HTTP_500' });
});
