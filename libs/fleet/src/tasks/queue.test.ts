import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { manualClock } from '../testing/fakes.ts';
import { type QueueItem, TaskQueue } from './queue.ts';

const limits = { maxConcurrent: 1, depth: 10, ageingMs: 1_000 };
const item = (taskId: string, priority: QueueItem['priority'] = 'normal', contextId = taskId): QueueItem => ({
  taskId,
  contextId,
  priority,
});

describe('the queue', () => {
  it('goes by priority, then by arrival', () => {
    const queue = new TaskQueue(limits, manualClock());
    for (const entry of [item('n1'), item('l', 'low'), item('u', 'urgent'), item('n2'), item('h', 'high')])
      queue.add(entry);
    const order: string[] = [];
    for (let next = queue.next(); next; next = queue.next()) {
      order.push(next.taskId);
      queue.finished(next.taskId);
    }
    assert.deepEqual(order, ['u', 'h', 'n1', 'n2', 'l']);
  });

  it('lifts what has waited, so that low gets its turn against a flow of urgent work', () => {
    const clock = manualClock();
    const queue = new TaskQueue(limits, clock);
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

  it('tells how long the oldest has waited', () => {
    const clock = manualClock();
    const queue = new TaskQueue(limits, clock);
    assert.equal(queue.oldestAgeMs(), 0);
    queue.add(item('a'));
    clock.advance(700);
    queue.add(item('b'));
    assert.equal(queue.oldestAgeMs(), 700);
  });

  it('counts places that are being filled', () => {
    const queue = new TaskQueue({ ...limits, depth: 1 }, manualClock());
    assert.deepEqual([queue.reserve(), queue.reserve(), queue.reserve()], [true, true, false]);
    queue.release();
    queue.add(item('a'));
    assert.ok(queue.full);
    assert.equal(queue.remove('a')?.taskId, 'a');
    assert.ok(!queue.full && !queue.has('a'));
    assert.equal(queue.remove('a'), undefined);
    queue.finished('a');
  });

  it('takes a task without a queue while a slot is free', () => {
    const queue = new TaskQueue({ ...limits, depth: 0 }, manualClock());
    assert.ok(queue.reserve());
    queue.release();
    queue.add(item('a'));
    assert.equal(queue.next()?.taskId, 'a');
    assert.ok(!queue.reserve());
    queue.finished('a');
    assert.ok(queue.reserve());
  });

  it('holds its bounds whatever happens: room, concurrency, one turn per context, nothing lost', () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant('add' as const),
        priority: fc.constantFrom('low' as const, 'normal' as const, 'high' as const, 'urgent' as const),
        context: fc.integer({ min: 0, max: 3 }),
      }),
      fc.record({ do: fc.constant('start' as const) }),
      fc.record({ do: fc.constant('finish' as const) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 0, max: 5 }),
        (steps, maxConcurrent, depth) => {
          const clock = manualClock();
          const queue = new TaskQueue<QueueItem>({ maxConcurrent, depth, ageingMs: 1_000 }, clock);
          const running: QueueItem[] = [];
          let added = 0;
          let finished = 0;
          for (const each of steps) {
            if (each.do === 'wait') clock.advance(each.ms);
            if (each.do === 'add' && queue.reserve()) {
              queue.release();
              added += 1;
              queue.add(item(`t${added}`, each.priority, `c${each.context}`));
            }
            const started = each.do === 'start' ? queue.next() : undefined;
            if (started) running.push(started);
            const ended = each.do === 'finish' ? running.shift() : undefined;
            if (ended) {
              queue.finished(ended.taskId);
              finished += 1;
            }
            assert.ok(queue.waiting + queue.running <= depth + maxConcurrent);
            assert.ok(queue.running <= maxConcurrent);
            assert.equal(new Set(running.map(({ contextId }) => contextId)).size, running.length);
            assert.equal(queue.waiting + queue.running + finished, added);
          }
          for (const left of running) queue.finished(left.taskId);
          let drained = 0;
          for (let next = queue.next(); next; next = queue.next()) {
            queue.finished(next.taskId);
            drained += 1;
          }
          assert.equal(drained + finished + running.length, added);
        },
      ),
    );
  });
});
