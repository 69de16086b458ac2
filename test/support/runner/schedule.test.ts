import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALONE, type Job, planJobs, runJobs, slotsOf } from './schedule.ts';

const filesOf = (jobs: readonly Job[]): string[] => jobs.flatMap(({ files }) => files);
const each = (files: readonly string[]): string[][] => files.map((file) => [file]);

test('containers come first, then the fastest; a fleet that never ran here counts as slow', () => {
  const files = ['test/fleet/a.test.ts', 'libs/b.test.ts', 'libs/c.test.ts', 'test/compose/d.test.ts'];
  const { shared } = planJobs(each(files), { 'libs/b.test.ts': 19 });
  assert.deepEqual(filesOf(shared), [
    ...['test/compose/d.test.ts', 'libs/c.test.ts', 'libs/b.test.ts', 'test/fleet/a.test.ts'],
  ]);
});

test('a batch takes the time of all its files, and one slot', () => {
  const { shared } = planJobs([['b', 'c', 'd'], ['a']], { a: 2 });
  assert.deepEqual(shared, [
    { files: ['a'], slots: 1 },
    { files: ['b', 'c', 'd'], slots: 1 },
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
function held(jobs: readonly Job[], slots: number, isOver = () => false) {
  const ran: string[] = [];
  const ends = new Map<string, () => void>();
  const run = ({ files: [file = ''] }: Job): Promise<void> => {
    ran.push(file);
    return new Promise((resolve) => ends.set(file, resolve));
  };
  const done = runJobs(jobs, slots, run, isOver);
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

test('once the time is over no job starts; those that did not run are named', async () => {
  let over = false;
  const jobs = ['a', 'b', 'c'].map((file) => ({ files: [file], slots: 1 }));
  const { ran, end, done } = held(jobs, 1, () => over);
  await end('a');
  over = true;
  await end('b');
  assert.deepEqual([ran, filesOf(await done)], [['a', 'b'], ['c']]);
});

test('a job that needs more than there is runs by itself', async () => {
  const { ran, end, done } = held([{ files: ['a'], slots: 9 }], 2);
  assert.deepEqual(ran, ['a']);
  await end('a');
  await done;
});
