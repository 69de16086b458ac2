import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NOW } from '@hermes-fleet/peers/testing';
import { manualClock } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { type QueueItem, SlotScheduler } from './slot-scheduler.ts';

const limits = { maxConcurrent: 1, depth: 10, ageingMs: 1_000 };
const item = (taskId: string, priority: QueueItem['priority'] = 'normal', contextId = taskId): QueueItem => ({
  taskId,
  contextId,
  caller: 'operator',
  priority,
});

describe('the slot scheduler', () => {
  it('orders tasks by priority, then by arrival', () => {
    const queue = new SlotScheduler(limits, manualClock(NOW));
    for (const entry of [item('n1'), item('l', 'low'), item('u', 'urgent'), item('n2'), item('h', 'high')])
      queue.add(entry);
    const order: string[] = [];
    for (let next = queue.next(); next; next = queue.next()) {
      order.push(next.taskId);
      queue.finished(next.taskId);
    }
    assert.deepEqual(order, ['u', 'h', 'n1', 'n2', 'l']);
  });

  it('raises waiting tasks, so that low runs in spite of continuous urgent tasks', () => {
    const clock = manualClock(NOW);
    const queue = new SlotScheduler(limits, clock);
    queue.add(item('low', 'low'));
    let served = '';
    for (let i = 0; i < 10 && served !== 'low'; i += 1) {
      queue.add(item(`urgent-${i}`, 'urgent'));
      served = queue.next()?.taskId ?? '';
      queue.finished(served);
      clock.advance(500);
    }
    assert.equal(served, 'low');
  });

  it('reports the longest wait', () => {
    const clock = manualClock(NOW);
    const queue = new SlotScheduler(limits, clock);
    assert.equal(queue.oldestAgeMs(), 0);
    queue.add(item('a'));
    clock.advance(700);
    queue.add(item('b'));
    assert.equal(queue.oldestAgeMs(), 700);
  });

  it('counts reserved places', () => {
    const queue = new SlotScheduler({ ...limits, depth: 1 }, manualClock(NOW));
    assert.deepEqual([queue.reserve(), queue.reserve(), queue.reserve()], [true, true, false]);
    queue.release();
    queue.add(item('a'));
    assert.ok(queue.full);
    assert.equal(queue.remove('a')?.taskId, 'a');
    assert.ok(!queue.full && !queue.has('a'));
    assert.equal(queue.remove('a'), undefined);
    queue.finished('a');
  });

  it('with depth 0, accepts a task while a slot is free', () => {
    const queue = new SlotScheduler({ ...limits, depth: 0 }, manualClock(NOW));
    assert.ok(queue.reserve());
    queue.release();
    queue.add(item('a'));
    assert.equal(queue.next()?.taskId, 'a');
    assert.ok(!queue.reserve());
    queue.finished('a');
    assert.ok(queue.reserve());
  });

  it('releases the slot of a parked task, keeps its context, and restores its position', () => {
    const clock = manualClock(NOW);
    const queue = new SlotScheduler(limits, clock);
    queue.add(item('first', 'normal', 'c'));
    assert.equal(queue.next()?.taskId, 'first');
    queue.add(item('same', 'urgent', 'c'));
    queue.add(item('other'));
    queue.park('first');
    assert.deepEqual([queue.running, queue.parked, queue.waiting], [0, 1, 2]);
    assert.equal(queue.next()?.taskId, 'other', 'its context stays its own');
    queue.add(item('later'));
    queue.unpark('first');
    assert.equal(queue.next(), undefined, 'the slot is taken');
    assert.equal(queue.remove('first'), undefined, 'it began: it is not merely in line');
    queue.finished('other');
    assert.equal(queue.next()?.taskId, 'first');
    queue.park('first');
    queue.unpark('first');
    queue.park('first');
    assert.equal(queue.next()?.taskId, 'later');
    queue.finished('later');
    queue.finished('first');
    assert.equal(queue.next()?.taskId, 'same');
    assert.ok(!queue.has('first'));
  });

  it('a task that a former process began holds its context before it runs', () => {
    const queue = new SlotScheduler(limits, manualClock(NOW));
    queue.add(item('other', 'urgent', 'c'));
    queue.add(item('begun', 'low', 'c'), true);
    assert.equal(queue.remove('begun'), undefined, 'it is not merely in line');
    assert.equal(queue.next()?.taskId, 'begun');
    queue.finished('begun');
    assert.equal(queue.next()?.taskId, 'other');
  });

  it('parks only tasks that began', () => {
    const queue = new SlotScheduler(limits, manualClock(NOW));
    queue.add(item('a'));
    queue.park('a');
    queue.park('nobody');
    queue.unpark('a');
    assert.deepEqual([queue.waiting, queue.parked], [1, 0]);
  });

  const priority = fc.constantFrom('low' as const, 'normal' as const, 'high' as const, 'urgent' as const);

  it('keeps its limits for depth, concurrency and contexts, and loses no task', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('add' as const), priority, context: fc.integer({ min: 0, max: 3 }) }),
      fc.record({
        do: fc.constantFrom('start' as const, 'finish' as const, 'park' as const, 'unpark' as const),
      }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 0, max: 5 }),
        (steps, maxConcurrent, depth) => {
          const clock = manualClock(NOW);
          const queue = new SlotScheduler<QueueItem>({ maxConcurrent, depth, ageingMs: 1_000 }, clock);
          const running: QueueItem[] = [];
          const parked: QueueItem[] = [];
          let added = 0;
          let finished = 0;
          for (const each of steps) {
            if (each.do === 'wait') clock.advance(each.ms);
            if (each.do === 'add' && queue.reserve()) {
              queue.release();
              added += 1;
              queue.add(item(`t${added}`, each.priority, `c${each.context}`));
              assert.ok(queue.waiting + queue.running <= depth + maxConcurrent);
            }
            const started = each.do === 'start' ? queue.next() : undefined;
            if (started) running.push(started);
            const ended = each.do === 'finish' ? running.shift() : undefined;
            if (ended) {
              queue.finished(ended.taskId);
              finished += 1;
            }
            const aside = each.do === 'park' ? running.shift() : undefined;
            if (aside) {
              queue.park(aside.taskId);
              parked.push(aside);
            }
            const back = each.do === 'unpark' ? parked.shift() : undefined;
            if (back) queue.unpark(back.taskId);
            assert.ok(queue.running <= maxConcurrent);
            assert.equal(queue.running, running.length);
            assert.equal(queue.parked, parked.length);
            const begun = [...running, ...parked];
            assert.equal(new Set(begun.map(({ contextId }) => contextId)).size, begun.length);
            assert.equal(queue.waiting + queue.running + queue.parked + finished, added);
          }
          for (const { taskId } of [...running, ...parked]) queue.finished(taskId);
          let drained = 0;
          for (let next = queue.next(); next; next = queue.next()) {
            queue.finished(next.taskId);
            drained += 1;
          }
          assert.equal(drained + finished + running.length + parked.length, added);
        },
      ),
    );
  });
});
