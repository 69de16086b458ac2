import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { scriptedAgent, stepsSinceAsked } from '../testing/scripted-run.ts';
import { say, use } from '../testing/scripted-server.ts';

test('the prompt is made once per run: the same after a restart, whatever has changed since', async (t) => {
  const run = await scriptedAgent(t, (_, request) =>
    stepsSinceAsked(request) === 0
      ? use([['write_file', { path: 'new.txt', content: 'x' }]])
      : say('Written.'),
  );
  const killed = new FleetError('SHUTTING_DOWN', 'killed');
  let checkpoint: JsonObject | undefined;
  const first = run({
    limit: 50_000,
    onSave: (count, context) => {
      if (count < 2) return;
      checkpoint ??= context.checkpoints.at(-1);
      context.controller.abort(killed);
    },
  });
  await assert.rejects(first, killed);
  const resumed = await run({ limit: 50_000, ...(checkpoint ? { checkpoint } : {}) });
  const later = await run({ limit: 50_000 });
  const [prompt] = resumed.requests.map(({ messages }) => String(messages[0]?.content));
  assert.equal(prompt, checkpoint?.instructions);
  assert.doesNotMatch(prompt ?? '', /new\.txt/);
  assert.match(String(later.requests[0]?.messages[0]?.content), /- new\.txt/, 'the next run sees it');
});
