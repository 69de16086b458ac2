import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from '../simulate.ts';
import { createFigures } from './figures.ts';
import { type TaskSpec, workload } from './workload.ts';

const LOAD = { seed: 1, workers: 10, tasks: 2_000, slots: 4, load: 0.8, taskSeconds: 10 };

function spec(id: string, caller: string, arrivesAt: number, contextId = id): TaskSpec {
  const [any] = workload({ ...LOAD, tasks: 1 });
  assert.ok(any);
  return { ...any, id, caller, arrivesAt, contextId, durationMs: 1_000, share: 1 };
}

describe('the queue time of a task', () => {
  it('begins when the tasks of its conversation before it have ended, as it does in the ideal queue', () => {
    const figures = createFigures(2);
    const [first, second] = [spec('a', 'ana', 0, 'talk'), spec('b', 'ana', 100, 'talk')];
    figures.arrived(first);
    figures.began(first, 5);
    figures.arrived(second);
    figures.ended(first, 'done', 9_000);
    figures.began(second, 9_007);
    figures.ended(second, 'done', 10_000);
    assert.deepEqual([figures.wait().max, figures.ideal().max], [7, 0]);
  });

  it('is counted once, and not for a task that begins after it has ended for its caller', () => {
    const figures = createFigures(2);
    const [first, second] = [spec('a', 'ana', 0, 'talk'), spec('b', 'ana', 0, 'talk')];
    figures.arrived(first);
    figures.arrived(second);
    figures.ended(first, 'error', 500);
    figures.began(first, 600);
    figures.began(second, 700);
    figures.began(second, 60_000);
    assert.equal(figures.wait().max, 200);
    assert.equal(figures.wait().mean, 200);
  });
});

describe('fairness', () => {
  it('counts neither a task that waits for its conversation nor one that has ended without a place', () => {
    const figures = createFigures(1);
    const [talk, next] = [spec('a', 'ana', 0, 'talk'), spec('b', 'ana', 0, 'talk')];
    figures.arrived(talk);
    figures.arrived(next);
    figures.began(talk, 1);
    const lost = spec('c', 'ben', 2);
    figures.arrived(lost);
    figures.ended(lost, 'error', 3);
    const [one, other] = [spec('d', 'cem', 4), spec('e', 'dee', 4)];
    for (const task of [one, other]) figures.arrived(task);
    figures.began(one, 5);
    assert.deepEqual([...figures.fairness.shares().keys()], ['cem', 'dee']);
  });
});

it('one task of ten belongs to a conversation of four tasks of one caller', () => {
  const talks = new Map<string, TaskSpec[]>();
  for (const task of workload(LOAD))
    if (task.contextId !== task.id) talks.set(task.contextId, [...(talks.get(task.contextId) ?? []), task]);
  const lengths = [...talks.values()].map((tasks) => tasks.length);
  const count = lengths.reduce((sum, length) => sum + length, 0);
  assert.ok(count > 150 && count < 250, String(count));
  assert.ok(lengths.filter((length) => length === 4).length >= lengths.length - 8, lengths.join());
  for (const tasks of talks.values()) assert.equal(new Set(tasks.map(({ caller }) => caller)).size, 1);
});

it('the budget of a task allows the share of its work that the ideal queue counts', async () => {
  const shares = new Map([...workload({ ...LOAD, tasks: 200 })].map(({ id, share }) => [id, share]));
  const counts = [0, 0.5, 1].map((share) => [...shares.values()].filter((each) => each === share).length);
  const { figures } = await simulate({ ...LOAD, tasks: 200, faults: 0 });
  assert.deepEqual(
    ['error', 'partial', 'done'].map((status) => figures.statuses.get(status)),
    counts,
  );
});
