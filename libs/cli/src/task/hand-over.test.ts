import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { handOver } from './hand-over.ts';

const profile = { name: 'switch', target: { name: 'switch', url: 'http://switch', token: 't' } };
const agent = { name: 'other', target: undefined };
const unreachable = (code: string) =>
  new FleetError('PEER_UNREACHABLE', `no answer: ${code}`, {
    cause: new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }),
  });

/** Sends a message whose attempts end as `outcomes` say, the last one again and again; each wait takes `waitMs`. */
function sending(at: typeof profile | typeof agent, outcomes: readonly (Error | string)[], waitMs = 0) {
  const waits: number[] = [];
  let [sent, now] = [0, 0];
  const clock = {
    ...systemClock,
    monotonic: () => now,
    sleep: async (ms: number): Promise<void> => {
      waits.push(ms);
      now += waitMs;
    },
  };
  const done = handOver({ clock, at, taskId: 'mine' }, async () => {
    const outcome = outcomes[Math.min(sent++, outcomes.length - 1)];
    if (typeof outcome !== 'string') throw outcome;
    return outcome;
  });
  return { done, waits, sent: () => sent };
}

test('a dispatch whose answer is lost is sent again, also while its profile starts anew', async () => {
  const busy = new FleetError('PEER_REFUSED', 'busy', { retryable: true });
  const outcomes = [unreachable('ECONNRESET'), unreachable('ECONNREFUSED'), busy, 'task'];
  const { done, sent, waits } = sending(profile, outcomes);
  assert.equal(await done, 'task');
  assert.deepEqual([sent(), waits], [4, [500, 1000, 2000]]);
});

test('a dispatch that stays without an answer may be running, and its repeat is named', async () => {
  const says = {
    code: 'PEER_UNREACHABLE',
    message:
      /^no answer: ECONNRESET: the task may be running at switch all the same; fleet tasks .* --task-id mine /,
  };
  const quick = sending(profile, [unreachable('ECONNRESET')]);
  await assert.rejects(quick.done, says);
  const total = quick.waits.reduce((sum, ms) => sum + ms, 0);
  assert.ok(quick.sent() === 9 && total > 45_000 && total < 90_000, `${total} ms`);
  const slow = sending(profile, [unreachable('ECONNRESET')], 30_000);
  await assert.rejects(slow.done, says);
  assert.equal(slow.sent(), 3);
});

test('a dispatch to a port where nothing listens is sent once', async () => {
  for (const code of ['ECONNREFUSED', 'ENOTFOUND']) {
    const { done, sent } = sending(profile, [unreachable(code)]);
    await assert.rejects(done, { code: 'PEER_UNREACHABLE', message: `no answer: ${code}` });
    assert.equal(sent(), 1);
  }
});

test('an agent that is not of the fleet gets its message once', async () => {
  const lost = sending(agent, [unreachable('ECONNRESET')]);
  await assert.rejects(lost.done, {
    message: 'no answer: ECONNRESET: the task may be running at other all the same',
  });
  const away = sending(agent, [unreachable('ECONNREFUSED')]);
  await assert.rejects(away.done, { message: 'no answer: ECONNREFUSED' });
  assert.deepEqual([lost.sent(), away.sent()], [1, 1]);
});

test('a refusal is no lost answer', async () => {
  for (const retryable of [true, false]) {
    const refused = new FleetError('PEER_REFUSED', 'no', { retryable });
    const { done, sent } = sending(profile, [refused]);
    await assert.rejects(done, refused);
    assert.equal(sent(), 1);
  }
});
