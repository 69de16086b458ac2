import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALONE, type Job, planJobs, runJobs, slotsOf, withReferences } from './schedule.ts';

const filesOf = (jobs: readonly Job[]): string[] => jobs.flatMap(({ files }) => files);
const each = (files: readonly string[]): string[][] => files.map((file) => [file]);

test('containers and the fleet of make test come first, then the cheapest; a fleet without a figure counts as dear', () => {
  const fleets = ['test/fleet/promises.test.ts', 'test/fleet/a.slow.test.ts'];
  const files = [...fleets, 'libs/b.test.ts', 'libs/c.test.ts', 'test/compose/d.slow.test.ts'];
  const { shared } = planJobs(each(files), { 'libs/b.test.ts': 19 });
  assert.deepEqual(filesOf(shared), [
    ...['test/fleet/promises.test.ts', 'test/compose/d.slow.test.ts'],
    ...['libs/c.test.ts', 'libs/b.test.ts', 'test/fleet/a.slow.test.ts'],
  ]);
});

test('a batch costs as much as all its files, and runs as one process', () => {
  const { shared } = planJobs([['b', 'c', 'd'], ['a']], { a: 2 });
  assert.deepEqual(filesOf(shared), ['a', 'b', 'c', 'd']);
  assert.equal(shared[0]?.slots, shared[1]?.slots);
});

test('two cores run four files at once, and fewer where memory is short', () => {
  assert.deepEqual([slotsOf(2, 24 * 2 ** 30), slotsOf(2, 6 * 2 ** 30)], [4, 3]);
  const [containers] = planJobs([['test/compose/a.slow.test.ts']], {}).shared;
  assert.ok((containers?.slots ?? 9) <= slotsOf(1, 2 ** 30), 'containers fit on every machine');
});

test('files that want the machine for themselves are kept apart', () => {
  const alone = Object.keys(ALONE);
  const jobs = planJobs(each([...alone, 'libs/a.test.ts']), {});
  assert.deepEqual([filesOf(jobs.shared), filesOf(jobs.alone)], [['libs/a.test.ts'], alone]);
});

test('the reference work is measured at the start and again while the files run', () => {
  const jobs = withReferences(planJobs(each(['a', 'b', 'c', 'd', 'e', 'f']), {}).shared);
  assert.deepEqual(
    jobs.map(({ files }) => files.length),
    [0, 1, 1, 0, 1, 1, 0, 1, 1],
  );
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
