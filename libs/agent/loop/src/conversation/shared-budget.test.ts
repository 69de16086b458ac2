import assert from 'node:assert/strict';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { use } from '../../testing/scripted-server.ts';
import { abortOf, calls, results, scripted, test, watched } from '../../testing/watched-tools.ts';

const killed = new FleetError('SHUTTING_DOWN', 'killed');

test('delegations that run at the same time share the budget, and leave the caller a share', async (t) => {
  const seen: number[] = [];
  const tools = watched(async (_name, { budget }, { reached }) => {
    await reached(3);
    const before = budget.remaining();
    seen.push(before);
    await assert.rejects(
      budget.reserve({ inputTokens: before + 1, maxOutputTokens: 1 }),
      /left of this share of the budget/,
    );
    const call = await budget.reserve({ inputTokens: 100, maxOutputTokens: 50 });
    await call.settle({
      inputTokens: 100,
      outputTokens: 20,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      source: 'metered',
    });
    await budget.addDelegated(1000, 'part');
    return String(before - budget.remaining());
  });
  const run = await scripted(t, [use(calls('s1', 's2', 's3'))], tools);
  const { requests, context } = await run({ limit: 100_000, contextId: 'shares' });
  assert.deepEqual(results(requests.at(-1) ?? assert.fail()), ['1120', '1120', '1120']);
  assert.equal(new Set(seen).size, 1, 'the shares are equal, whatever the others spend');
  const [share = 0] = seen;
  assert.ok(share > 20_000 && share <= 25_000, String(share));
  assert.equal(JSON.stringify(context.checkpoints.at(-1)).includes('"shares"'), false);
  assert.ok(context.budget.spent() >= 3 * 1120);
});

test('the tokens of a share outlast a restart', async (t) => {
  let isFirst = true;
  const left: number[] = [];
  const tools = watched(async (_name, call, { reached }) => {
    left.push(call.budget.remaining());
    if (!isFirst) return 'x';
    await reached(2);
    await call.budget.addDelegated(5000, 'part');
    await call.memo.save({});
    return await abortOf(call.signal);
  });
  const server = await scripted(t, [use(calls('s1', 's2'))], tools);
  let checkpoint: JsonObject | undefined;
  const crashed = server({
    limit: 90_000,
    contextId: 'restart',
    onSave: (_, context) => {
      checkpoint = context.checkpoints.at(-1);
      if (JSON.stringify(checkpoint).match(/"spent":5000/g)?.length === 2) context.controller.abort(killed);
    },
  });
  await assert.rejects(crashed, killed);
  isFirst = false;
  await server({ limit: 90_000, contextId: 'restart', checkpoint: checkpoint ?? assert.fail() });
  assert.deepEqual(
    left.slice(2),
    left.slice(0, 2).map((tokens) => tokens - 5000),
  );
});
