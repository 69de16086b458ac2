import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { dispatching, profile, type TestProfile } from '@hermes-fleet/gateway/testing';
import { hasCode } from '@hermes-fleet/protocol/testing';

/** Counts the admissions of a profile by the looks at its working tree. */
function countAdmissions(neo: TestProfile): { readonly count: number } {
  let count = 0;
  Object.defineProperty(neo.facts, 'clean', {
    get() {
      count += 1;
      return true;
    },
  });
  return {
    get count() {
      return count;
    },
  };
}

describe('copies of a dispatch', () => {
  it('that arrive together are judged once, and make one task', async (t) => {
    const neo = await profile(t);
    const admissions = countAdmissions(neo);
    const copy = dispatching({ task_id: 'one' });
    const ids = await Promise.all(Array.from({ length: 100 }, () => neo.send(copy)));
    assert.equal(new Set(ids).size, 1);
    await neo.result(ids[0] ?? '');
    assert.equal(admissions.count, 1);
    assert.deepEqual(neo.runs, [ids[0]]);
  });

  it('that arrive later are not judged', async (t) => {
    const neo = await profile(t);
    const admissions = countAdmissions(neo);
    const copy = dispatching({ task_id: 'one' });
    const id = await neo.send(copy);
    await neo.result(id);
    assert.equal(await neo.send(copy), id);
    await assert.rejects(neo.send(dispatching({ task_id: 'one', write: true })), hasCode('TASK_ID_CONFLICT'));
    assert.equal(admissions.count, 1);
  });

  it('that arrive together are the same blocked task, and a later one is judged again', async (t) => {
    const neo = await profile(t);
    const copy = dispatching({ task_id: 'one' }, { requirements: { required_mcp: ['nope'] } });
    const ids = await Promise.all([neo.send(copy), neo.send(copy)]);
    assert.equal(new Set(ids).size, 1);
    assert.notEqual(await neo.send(copy), ids[0]);
  });

  it('that were under way when theirs was refused get its answer; a new attempt is judged', async (t) => {
    const neo = await profile(t);
    const attempt = (accept_until: string) =>
      dispatching(
        { task_id: 'one' },
        { requirements: { required_mcp: ['late'] }, routing: { accept_until } },
      );
    const [first, second] = [attempt('2126-01-01T00:00:00Z'), attempt('2126-01-01T00:00:01Z')];
    const refused = await neo.send(first);
    assert.equal((await neo.result(refused)).status, 'blocked');
    neo.facts.mcp.late = 'ok';
    assert.equal(await neo.send(first), refused, 'the sender may have sent the task elsewhere');
    assert.deepEqual(neo.runs, []);
    const again = await neo.send(second);
    assert.equal((await neo.result(again)).status, 'done');
    assert.equal(await neo.send(first), again, 'a copy of a known task is that task');
  });

  it('with another payload conflict with one that is being accepted, and not with one that is blocked', async (t) => {
    const neo = await profile(t);
    const sent = await Promise.allSettled([
      neo.send(dispatching({ task_id: 'one' })),
      neo.send(dispatching({ task_id: 'one', write: true })),
      neo.send(dispatching({ task_id: 'two' }, { requirements: { required_mcp: ['nope'] } })),
      neo.send(dispatching({ task_id: 'two' })),
    ]);
    const [, second, , fourth] = sent;
    assert.ok(second?.status === 'rejected' && hasCode('TASK_ID_CONFLICT')(second.reason));
    assert.ok(fourth?.status === 'fulfilled');
    assert.equal((await neo.result(fourth.value)).status, 'done');
  });

  it('with a later accept_until outlive one that has expired', async (t) => {
    const neo = await profile(t);
    const until = (accept_until: string) => dispatching({ task_id: 'one' }, { routing: { accept_until } });
    const sent = await Promise.allSettled([
      neo.send(until('2020-01-01T00:00:00Z')),
      neo.send(until('2020-01-01T00:00:00Z')),
      neo.send(until('2126-01-01T00:00:00Z')),
    ]);
    const [first, second, third] = sent;
    for (const expired of [first, second])
      assert.ok(expired?.status === 'rejected' && hasCode('DISPATCH_EXPIRED')(expired.reason));
    assert.ok(third?.status === 'fulfilled');
    assert.deepEqual(neo.runs, [third.value]);
  });
});

it('a stop waits for a dispatch that is being accepted', async (t) => {
  const order: string[] = [];
  const accepting = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const neo = await profile(t, {
    ledger: (real) => ({
      ...real,
      async accept(...args) {
        accepting.resolve();
        await gate.promise;
        const accepted = await real.accept(...args);
        order.push('accepted');
        return accepted;
      },
    }),
  });
  const sent = neo.send(dispatching());
  await accepting.promise;
  const stopped = neo.gateway.stop(10_000).then(() => order.push('stopped'));
  for (let turns = 0; turns < 100; turns += 1) await turn();
  gate.resolve();
  await Promise.all([sent, stopped]);
  assert.deepEqual(order, ['accepted', 'stopped']);
});
