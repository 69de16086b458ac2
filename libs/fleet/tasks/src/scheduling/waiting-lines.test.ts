import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Priority } from '@hermes-fleet/protocol/handshake';
import fc from 'fast-check';
import { WaitingLines, type WaitingTask } from './waiting-lines.ts';

const AGEING_MS = 1_000;

interface Task extends WaitingTask {
  readonly id: string;
}
let orders = 0;
function task(
  id: string,
  {
    priority = 'normal',
    caller = 'a',
    contextId = id,
    since = 0,
    needs = { key: 'any' },
  }: Partial<Task> = {},
): Task {
  orders += 1;
  return { id, needs, priority, caller, contextId, since, order: orders };
}

/** Starts the next task, and ends it at once. */
function serve(lines: WaitingLines<Task>, now = 0): string | undefined {
  const next = lines.first(now);
  if (!next) return undefined;
  lines.serve(next, now);
  lines.remove(next, now);
  lines.release(next, now);
  return next.id;
}

function drain(lines: WaitingLines<Task>, now = 0): string[] {
  const served: string[] = [];
  for (let id = serve(lines, now); id !== undefined; id = serve(lines, now)) served.push(id);
  return served;
}

describe('waiting lines', () => {
  it('serve by priority; callers of one priority take turns; tasks of one caller go by arrival', () => {
    const lines = new WaitingLines<Task>(AGEING_MS);
    for (const id of ['a1', 'a2', 'a3']) lines.add(task(id), 0);
    for (const id of ['b1', 'b2']) lines.add(task(id, { caller: 'b' }), 0);
    lines.add(task('c1', { caller: 'c', priority: 'high' }), 0);
    assert.deepEqual(drain(lines), ['c1', 'a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('a task keeps the rank that it has aged to when its needs change', () => {
    const lines = new WaitingLines<Task>(AGEING_MS);
    const old = task('old', { priority: 'low' });
    lines.add(old, 0);
    lines.add(task('young', { caller: 'b', since: 5 * AGEING_MS }), 5 * AGEING_MS);
    lines.move(
      old,
      () => {
        Object.assign(old, { needs: { key: 'other' } });
      },
      5 * AGEING_MS,
    );
    assert.equal(serve(lines, 5 * AGEING_MS), 'old');
  });

  it('a caller that comes back each time does not pass one that waits', () => {
    const lines = new WaitingLines<Task>(AGEING_MS);
    for (let i = 0; i < 10; i += 1) lines.add(task(`a${i}`), 0);
    const served: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      lines.add(task(`${i % 2 === 0 ? 'b' : 'c'}${i}`, { caller: i % 2 === 0 ? 'b' : 'c' }), 0);
      served.push(serve(lines) ?? '');
    }
    assert.deepEqual(served.map((id) => id[0]).join(''), 'abacbacb');
  });

  it('the first task of a line rises with time, at most to urgent, and then takes turns with urgent ones', () => {
    const lines = new WaitingLines<Task>(AGEING_MS);
    lines.add(task('low', { priority: 'low' }), 0);
    lines.add(task('low2', { priority: 'low' }), 0);
    const urgent = { priority: 'urgent', caller: 'b', since: 10 * AGEING_MS } as const;
    for (const id of ['u1', 'u2']) lines.add(task(id, urgent), 10 * AGEING_MS);
    assert.deepEqual(drain(lines, 10 * AGEING_MS), ['low', 'u1', 'u2', 'low2']);
  });

  it('a context starts one task at a time: the highest rank, then the first', () => {
    const lines = new WaitingLines<Task>(AGEING_MS);
    const inContext = { contextId: 'c' };
    const first = task('first', inContext);
    lines.add(first, 0);
    lines.add(task('urgent', { ...inContext, priority: 'urgent' }), 0);
    lines.add(task('second', inContext), 0);
    assert.equal(lines.first(0)?.id, 'urgent');
    lines.holdContext(first, 0);
    assert.equal(lines.first(0)?.id, 'first', 'only the holder may start');
    lines.remove(first, 0);
    assert.equal(lines.first(0), undefined);
    lines.release(first, 0);
    assert.deepEqual(drain(lines), ['urgent', 'second']);
  });

  const arrival = fc.record({
    priority: fc.constantFrom(...Priority.options),
    caller: fc.constantFrom('a', 'b', 'c'),
    context: fc.integer({ min: 0, max: 5 }),
  });
  const step = fc.oneof(
    { weight: 4, arbitrary: arrival.map((arrives) => ({ arrives })) },
    { weight: 3, arbitrary: fc.constant({ start: true } as const) },
    { weight: 2, arbitrary: fc.nat(9).map((ends) => ({ ends })) },
    { weight: 1, arbitrary: fc.nat(9).map((withdrawn) => ({ withdrawn })) },
    { weight: 1, arbitrary: fc.nat(9).map((returns) => ({ returns })) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 2_500 }).map((passes) => ({ passes })) },
  );

  /** A linear search for all tasks that may start now, in any order. */
  function startable(waiting: ReadonlySet<Task>, begun: ReadonlyMap<string, Task>): Task[] {
    return [...waiting].filter((each) => (begun.get(each.contextId) ?? each) === each);
  }

  it('never lose a task, start two of a context, leave a slot free, or break the order of a caller', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const lines = new WaitingLines<Task>(AGEING_MS);
        const waiting = new Set<Task>();
        const running = new Set<Task>();
        const begun = new Map<string, Task>();
        let now = 0;
        const pickOf = <T>(set: ReadonlySet<T>, nth: number): T | undefined =>
          [...set][nth % (set.size || 1)];
        function start(): void {
          const next = lines.first(now);
          const candidates = startable(waiting, begun);
          assert.equal(next === undefined, candidates.length === 0, 'a task that may start is found');
          if (!next) return;
          assert.ok(candidates.includes(next));
          for (const other of candidates) {
            const isAlike = other.caller === next.caller && other.priority === next.priority;
            const isFree = other.contextId !== next.contextId;
            if (isAlike && isFree && isFirstOfContext(other, candidates, now))
              assert.ok(other.order >= next.order, 'one caller and priority: by arrival');
          }
          lines.serve(next, now);
          lines.remove(next, now);
          waiting.delete(next);
          running.add(next);
          begun.set(next.contextId, next);
        }
        function end(which: Task | undefined): void {
          if (!which) return;
          running.delete(which);
          lines.release(which, now);
          begun.delete(which.contextId);
        }
        for (const each of steps) {
          if ('arrives' in each) {
            const { priority, caller, context } = each.arrives;
            const added = task('t', { priority, caller, contextId: `c${context}`, since: now });
            waiting.add(added);
            lines.add(added, now);
          } else if ('start' in each) start();
          else if ('ends' in each) end(pickOf(running, each.ends));
          else if ('passes' in each) now += each.passes;
          else if ('returns' in each) {
            const back = pickOf(running, each.returns);
            if (back) {
              running.delete(back);
              waiting.add(back);
              lines.add(back, now);
            }
          } else {
            const gone = pickOf(waiting, each.withdrawn);
            if (gone && begun.get(gone.contextId) !== gone) {
              waiting.delete(gone);
              lines.remove(gone, now);
            }
          }
        }
        for (let left = waiting.size + running.size; left > 0; left -= 1) {
          for (const each of [...running]) end(each);
          start();
        }
        assert.equal(waiting.size + running.size <= 1, true, 'finite load drains');
      }),
    );
  });

  function isFirstOfContext(each: Task, all: readonly Task[], now: number): boolean {
    const rank = ({ priority, since }: Task): number => {
      const raised = Priority.options.indexOf(priority) + Math.floor((now - since) / AGEING_MS);
      return Math.min(Priority.options.length - 1, raised);
    };
    return !all.some(
      (other) =>
        other !== each &&
        other.contextId === each.contextId &&
        (rank(other) > rank(each) || (rank(other) === rank(each) && other.order < each.order)),
    );
  }

  it('between two tasks of one caller, every other caller that waits at the rank is served', () => {
    const callers = ['a', 'b', 'c', 'd'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...callers), { minLength: 8, maxLength: 80 }), (arrivals) => {
        const lines = new WaitingLines<Task>(AGEING_MS);
        for (const [at, caller] of arrivals.entries()) lines.add(task(`${at}`, { caller }), 0);
        const left = new Map(
          callers.map((caller) => [caller, arrivals.filter((each) => each === caller).length]),
        );
        const since = new Map<string, Set<string>>();
        for (let next = lines.first(0); next; next = lines.first(0)) {
          const { caller } = next;
          const served = since.get(caller);
          if (served)
            for (const [other, waiting] of left)
              assert.ok(
                other === caller || waiting === 0 || served.has(other),
                `${caller} went twice, ${other} not`,
              );
          since.set(caller, new Set());
          for (const seen of since.values()) seen.add(caller);
          left.set(caller, (left.get(caller) ?? 0) - 1);
          serve(lines);
        }
      }),
    );
  });

  it('a low task starts in spite of urgent ones that keep coming, whoever sends them', () => {
    for (const caller of ['a', 'b']) {
      const lines = new WaitingLines<Task>(AGEING_MS);
      lines.add(task('low', { priority: 'low' }), 0);
      let served: string | undefined;
      let now = 0;
      for (; served !== 'low' && now < 10 * AGEING_MS; now += AGEING_MS / 2) {
        for (const id of ['u1', 'u2']) lines.add(task(id, { priority: 'urgent', caller, since: now }), now);
        served = serve(lines, now);
      }
      assert.equal(served, 'low');
    }
  });
});
