import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { startPushing } from '../../testing/pushing.ts';

const CONFIGS = 150;
const MIB = 2 ** 20;

/** A target that keeps nothing of what it gets. */
async function startSink(t: TestContext, answer: (response: ServerResponse) => void) {
  const first = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      first.resolve();
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { url: `http://127.0.0.1:${address.port}/`, first: first.promise };
}

function heapMiB(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed / MIB;
}

/** The configs of one task whose snapshot has 1 MiB of artifacts. */
async function startMany(t: TestContext, url: string) {
  const clock = manualClock();
  const limits = { perTask: CONFIGS, perCaller: CONFIGS };
  const pushing = startPushing(t, { clock, limits, giveUpAfterMs: 86_400_000 });
  const id = await pushing.begin();
  const artifactLimits = { artifactBytes: 2 * MIB, taskBytes: 2 * MIB };
  // The most that a notification has inline.
  const parts = [{ kind: 'text' as const, text: 'x'.repeat(MIB / 4) }];
  for (let n = 0; n < 4; n += 1)
    await pushing.ledger.addArtifact(id, { id: `a${n}`, place: 0, parts, isLast: true }, artifactLimits);
  const before = heapMiB();
  for (let n = 0; n < CONFIGS; n += 1) await pushing.create(id, url, { id: `c${n}` });
  return { clock, heldMiB: () => heapMiB() - before };
}

test('configs whose target fails hold no update while they wait to try again', deadline, async (t) => {
  const sink = await startSink(t, (response) => response.writeHead(500).end());
  const { clock, heldMiB } = await startMany(t, sink.url);
  await clock.asleep(CONFIGS);
  const held = heldMiB();
  assert.ok(held < CONFIGS / 8, `${CONFIGS} configs hold ${held} MiB`);
});

test('configs that wait for a target that does not answer hold no update', deadline, async (t) => {
  const sink = await startSink(t, () => undefined);
  const { heldMiB } = await startMany(t, sink.url);
  await sink.first;
  const held = heldMiB();
  // Some are on their way.
  assert.ok(held < CONFIGS / 4, `${CONFIGS} configs hold ${held} MiB`);
});
