import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALONE, type Job, planJobs, runJobs, slotsOf } from './schedule.ts';

const filesOf = (jobs: readonly Job[]): string[] => jobs.flatMap(({ files }) => files);
const each = (files: readonly string[]): string[][] => files.map((file) => [file]);

test('the slowest files come first; fleets and containers that never ran here count as slow', () => {
  const files = ['libs/a.test.ts', 'libs/b.test.ts', 'test/fleet/c.test.ts', 'test/compose/d.test.ts'];
  const { shared } = planJobs(each(files), { 'libs/b.test.ts': 30 });
  assert.deepEqual(filesOf(shared), [
    ...['test/compose/d.test.ts', 'libs/b.test.ts', 'test/fleet/c.test.ts', 'libs/a.test.ts'],
  ]);
});

test('a batch takes the time of all its files, and one slot', () => {
  const { shared } = planJobs([['a'], ['b', 'c', 'd']], { a: 2 });
  assert.deepEqual(shared, [
    { files: ['b', 'c', 'd'], slots: 1 },
    { files: ['a'], slots: 1 },
  ]);
});

test('files that want the machine for themselves are kept apart', () => {
  const alone = Object.keys(ALONE);
  const jobs = planJobs(each([...alone, 'libs/a.test.ts']), {});
  assert.deepEqual([filesOf(jobs.shared), filesOf(jobs.alone)], [['libs/a.test.ts'], alone]);
});

test('a fleet fits on every machine', () => {
  const [fleet] = planJobs([['test/fleet/a.test.ts']], {}).shared;
  assert.ok(fleet !== undefined && fleet.slots <= slotsOf(1));
});

/** Runs jobs that end when they are told; `ran` has those that were started, in order. */
function held(jobs: readonly Job[], slots: number) {
  const ran: string[] = [];
  const ends = new Map<string, () => void>();
  const done = runJobs(jobs, slots, ({ files: [file = ''] }) => {
    ran.push(file);
    return new Promise((resolve) => ends.set(file, resolve));
  });
  const end = async (file: string): Promise<void> => {
    ends.get(file)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { ran, end, done };
}

test('as many run at once as there are slots, and a large job is not starved by small ones', async () => {
  const jobs = [
    { files: ['a'], slots: 1 },
    { files: ['b'], slots: 1 },
    { files: ['large'], slots: 2 },
    { files: ['c'], slots: 1 },
  ];
  const { ran, end, done } = held(jobs, 2);
  assert.deepEqual(ran, ['a', 'b']);
  await end('a');
  assert.deepEqual(ran, ['a', 'b']);
  await end('b');
  assert.deepEqual(ran, ['a', 'b', 'large']);
  await end('large');
  await end('c');
  await done;
  assert.deepEqual(ran, ['a', 'b', 'large', 'c']);
});

test('jobs of one group run one after the other, and others pass them meanwhile', async () => {
  const jobs = [
    { files: ['a'], slots: 1, group: 'g' },
    { files: ['b'], slots: 1, group: 'g' },
    { files: ['c'], slots: 1 },
  ];
  const { ran, end, done } = held(jobs, 3);
  assert.deepEqual(ran, ['a', 'c']);
  await end('a');
  assert.deepEqual(ran, ['a', 'c', 'b']);
  for (const file of ['b', 'c']) await end(file);
  await done;
});

test('a job that needs more than there is runs by itself', async () => {
  const { ran, end, done } = held([{ files: ['a'], slots: 9 }], 2);
  assert.deepEqual(ran, ['a']);
  await end('a');
  await done;
});
