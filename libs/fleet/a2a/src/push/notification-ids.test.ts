import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArtifactChunk } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { restlessClock, startPushing } from '../../testing/pushing.ts';
import { at } from '../../testing/serve.ts';
import { type Received, startWebhook } from '../../testing/webhook.ts';

const LIMITS = { artifactBytes: 10_000, taskBytes: 10_000 };
const idOf = ({ headers }: Received): string => String(headers['webhook-id']);

const chunk = (place: number, text: string, replaces = false): ArtifactChunk => ({
  ...{ id: 'a', place, replaces, isLast: false },
  parts: [{ kind: 'text', text }],
});

test(
  'an update keeps its id after a restart, also if what came before it was replaced',
  deadline,
  async (t) => {
    const clock = manualClock();
    const hook = await startWebhook(t, (response, index) =>
      response.writeHead(index === 1 ? 500 : 200).end(),
    );
    const pushing = startPushing(t, { clock });
    const id = await pushing.begin();
    await pushing.create(id, hook.url);
    const position = pushing.ledger.push.findConfig(id, 'c')?.position;
    const n = pushing.ledger.push.findConfig(id, 'c')?.n;
    assert.equal(idOf(await hook.next()), `${id}.${n}.${position}.snapshot`);
    const first = await pushing.ledger.addArtifact(id, chunk(0, 'wrong'), LIMITS);
    assert.equal(idOf(await hook.next()), `${id}.${n}.${first?.seq}.0`);
    await clock.asleep(1);
    const second = await pushing.ledger.addArtifact(id, chunk(1, 'right', true), LIMITS);
    await pushing.restart();
    await clock.asleep(1);
    clock.advance(60_000);
    const next = await hook.next();
    assert.equal(at(next.body, 'artifactUpdate', 'artifact', 'parts', 0, 'text'), 'right');
    assert.equal(idOf(next), `${id}.${n}.${second?.seq}.0`);
  },
);

test('configs of a task with the same target send under ids of their own', deadline, async (t) => {
  const hook = await startWebhook(t);
  const pushing = startPushing(t);
  const id = await pushing.begin();
  await pushing.create(id, hook.url, { id: 'one', token: 'one' });
  await pushing.create(id, hook.url, { id: 'two', token: 'two' });
  await pushing.ledger.append(id, { type: 'done', data: {} }, { state: 'completed', result: {} });
  while (pushing.ledger.push.active(0, 2).length > 0) await new Promise(setImmediate);
  assert.equal(hook.received.length, 8);
  assert.equal(new Set(hook.received.map(idOf)).size, 8);
});

test(
  'what a target has acknowledged of the end of a task is not sent again when the rest fails',
  deadline,
  async (t) => {
    const { clock } = restlessClock();
    // The snapshot, two artifacts, and two attempts at the status.
    const hook = await startWebhook(t, (response, index) =>
      response.writeHead(index === 3 ? 500 : 200).end(),
    );
    const pushing = startPushing(t, { clock });
    const id = await pushing.begin();
    await pushing.create(id, hook.url);
    await hook.next();
    const done = await pushing.ledger.append(
      id,
      { type: 'done', data: {} },
      { state: 'completed', result: {} },
    );
    while (pushing.ledger.push.active(0, 1).length > 0) await new Promise(setImmediate);
    const { n } = pushing.ledger.push.findConfig(id, 'c') ?? {};
    assert.deepEqual(
      hook.received.slice(1).map(idOf),
      [0, 1, 2, 2].map((index) => `${id}.${n}.${done?.seq}.${index}`),
    );
  },
);
