import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CALLER,
  commitsOf,
  dispatching,
  inbound,
  type ProfileOptions,
  profile,
} from '@hermes-fleet/fleet/testing';
import type { JsonObject } from '@hermes-fleet/protocol';

/** The transactions of one task after another one, which has warmed everything. */
async function commitsOfTask(
  t: Parameters<typeof profile>[0],
  options: ProfileOptions,
  rest: JsonObject = {},
): Promise<{ commits: number; events: string[] }> {
  const neo = await profile(t, options);
  await neo.result(await neo.send(dispatching()));
  const before = commitsOf(neo);
  const id = await neo.send(dispatching({}, rest));
  await neo.result(id);
  return { commits: commitsOf(neo) - before, events: neo.events(id) };
}

describe('a dispatch', () => {
  it('that runs at once is two transactions: acceptance with its start, and its end', async (t) => {
    const { commits, events } = await commitsOfTask(t, {});
    assert.deepEqual(events, ['submitted', 'queued', 'started', 'done']);
    assert.equal(commits, 2);
  });

  it('whose executor is free of effects is one transaction', async (t) => {
    const { commits, events } = await commitsOfTask(t, { isFreeOfEffects: true });
    assert.deepEqual(events, ['submitted', 'queued', 'started', 'done']);
    assert.equal(commits, 1);
  });

  it('that is blocked is one transaction', async (t) => {
    const { commits, events } = await commitsOfTask(t, {}, { requirements: { required_mcp: ['nope'] } });
    assert.deepEqual(events, ['submitted', 'blocked']);
    assert.equal(commits, 1);
  });

  it('whose admission fails is one transaction', async (t) => {
    const neo = await profile(t);
    Object.defineProperty(neo.facts, 'clean', { get: () => assert.fail('bug') });
    await neo.send(dispatching());
    const before = commitsOf(neo);
    assert.equal((await neo.result(await neo.send(dispatching()))).status, 'error');
    assert.equal(commitsOf(neo) - before, 1);
  });

  it('is durable with its admission when its caller gets the answer', async (t) => {
    const neo = await profile(t, { script: () => new Promise(() => undefined) });
    const accepted = await neo.gateway.accept(inbound(dispatching()), CALLER);
    assert.ok(accepted.kind === 'task');
    assert.deepEqual(neo.events(accepted.taskId), ['submitted', 'queued', 'started']);
  });

  it('that many send at once shares its transactions with theirs', async (t) => {
    const neo = await profile(t, { fleet: { limits: { max_concurrent_tasks: 20 } } });
    await neo.result(await neo.send(dispatching()));
    const before = commitsOf(neo);
    const ids = await Promise.all(Array.from({ length: 20 }, () => neo.send(dispatching())));
    for (const id of ids) await neo.result(id);
    const commits = commitsOf(neo) - before;
    assert.ok(commits < 20, `${commits} transactions`);
  });
});
