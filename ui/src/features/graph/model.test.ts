import { describe, expect, it } from 'vitest';
import { layoutSteps } from './layout';
import { inOrder, stepsOfGraph } from './model';

const edges = (graph: unknown): string[] =>
  stepsOfGraph(graph).flatMap((step) => step.after.map((edge) => `${edge.from}>${step.name}${edge.on === 'success' ? '' : `[${edge.on}]`}`)).sort();

describe('stepsOfGraph', () => {
  it.each([
    ['nothing', undefined, []],
    ['side by side', [{ step: 'a' }, { step: 'b' }], []],
    ['after', [{ step: 'a' }, { step: 'b', after: ['a'] }], ['a>b']],
    ['after one, without a list', [{ step: 'a' }, { step: 'b', after: 'a' }], ['a>b']],
    ['an edge of its own', [{ step: 'a' }, { step: 'b', after: [{ step: 'a', on: 'failure' }] }], ['a>b[failure]']],
    ['the step says for all', [{ step: 'a' }, { step: 'b', after: ['a'], on: 'always' }], ['a>b[always]']],
    ['an expression', [{ step: 'a' }, { step: 'b', after: ['a'], when: '${steps.a.result.n > 0}' }], ['a>b[${steps.a.result.n > 0}]']],
    ['serial', [{ serial: [{ step: 'a' }, { step: 'b' }, { step: 'c' }] }], ['a>b', 'b>c']],
    ['parallel in serial', [{ serial: [{ step: 'a' }, { parallel: [{ step: 'b' }, { step: 'c' }] }, { step: 'd' }] }], ['a>b', 'a>c', 'b>d', 'c>d']],
    ['serial in parallel', [{ parallel: [{ serial: [{ step: 'a' }, { step: 'b' }] }, { step: 'c' }] }], ['a>b']],
    ['a block after a step', [{ step: 'x' }, { after: ['x'], serial: [{ step: 'a' }, { step: 'b' }] }], ['a>b', 'x>a']],
    ['a parallel block after a step', [{ step: 'x' }, { after: 'x', parallel: [{ step: 'a' }, { step: 'b' }] }], ['x>a', 'x>b']],
  ])('%s', (_, graph, expected) => {
    expect(edges(graph)).toEqual(expected);
  });

  it.each([
    [{ step: 'a', url: 'http://h/x' }, 'http', 'http://h/x'],
    [{ step: 'a', task: 'ledger/post' }, 'http', 'ledger/post'],
    [{ step: 'a', wait: '5m' }, 'wait', '5m'],
    [{ step: 'a', kind: 'noop' }, 'noop', ''],
    [{ step: 'a', noop: true }, 'noop', ''],
    [{ step: 'a', task: 'l/p', map: '${params.list}' }, 'map', 'l/p'],
    [{ step: 'a', task: 'l/p', routing: 'broadcast' }, 'broadcast', 'l/p'],
    [{ step: 'a', task: 'l/p', shards: 8 }, 'shard', 'l/p'],
    [{ step: 'a', task: 'l/p', routing: 'random' }, 'http', 'l/p'],
  ])('%j', (item, kind, calls) => {
    expect(stepsOfGraph([item])[0]).toMatchObject({ kind, calls });
  });

  it('survives what is no graph', () => {
    expect(stepsOfGraph('x')).toEqual([]);
    expect(stepsOfGraph([1, null, 'x', {}, { step: 'a', after: [null, {}, 3] }])).toHaveLength(1);
  });
});

it('puts predecessors first, and does not hang on a cycle', () => {
  const steps = stepsOfGraph([{ step: 'c', after: ['b'] }, { step: 'b', after: ['a'] }, { step: 'a' }]);
  expect(inOrder(steps).map((step) => step.name)).toEqual(['a', 'b', 'c']);
  const cycle = stepsOfGraph([{ step: 'a', after: ['b'] }, { step: 'b', after: ['a'] }, { step: 'c' }]);
  expect(inOrder(cycle).map((step) => step.name)).toEqual(['c', 'a', 'b']);
});

describe('layoutSteps', () => {
  const steps = stepsOfGraph([{ step: 'a' }, { step: 'b' }, { step: 'c', after: ['a', 'b', 'gone'] }]);
  it('puts what comes later further on', () => {
    const wide = layoutSteps(steps, 'LR').places;
    expect(wide.get('c')!.x).toBeGreaterThan(wide.get('a')!.x);
    const narrow = layoutSteps(steps, 'TB').places;
    expect(narrow.get('c')!.y).toBeGreaterThan(narrow.get('b')!.y);
  });
  it('lets no two steps overlap, and holds a thousand of them', () => {
    const many = stepsOfGraph(Array.from({ length: 1000 }, (_, i) => ({ step: `s${i}`, after: i < 40 ? [] : [`s${i - 40}`] })));
    const { places } = layoutSteps(many, 'LR');
    expect(new Set([...places.values()].map(({ x, y }) => `${x},${y}`)).size).toBe(1000);
  }, 20_000);
});
