import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { defineTool, type ToolCall } from '@hermes-fleet/protocol/ports';
import { makePlace, SECRET } from '@hermes-fleet/workspace/testing';
import { z } from 'zod';
import { delegating } from '../../testing/delegating.ts';
import { stepsSinceAsked } from '../../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';

const hand =
  (agent: string) =>
  (request: ChatRequest): Reply =>
    stepsSinceAsked(request) === 0 ? use([['delegate', { agent, brief: 'Look.' }]]) : say('Done with it.');

test('no prompt of an agent or its sub-agents contains a secret', async (t) => {
  const place = makePlace(t);
  mkdirSync(place.workspaceRoot, { recursive: true });
  process.env.TEST_LEAK = SECRET;
  t.after(() => {
    delete process.env.TEST_LEAK;
  });
  const { run } = await delegating(
    t,
    { main: hand('writer'), writer: () => say('Nothing to write.') },
    {
      mcp: {
        servers: {
          files: { command: 'node', env: { KEY: SECRET } },
          web: { url: 'http://127.0.0.1:1/', headers: { authorization: `Bearer ${SECRET}` } },
        },
      },
      a2a: {
        agents: { reviews: { url: 'http://127.0.0.1:1/', description: 'reviews', token_env: 'REVIEWS' } },
      },
    },
    {
      place,
      identity: '---\nname: neo\n---\n# Neo\n\nYou are quick.\n',
      peersSummary: () => 'morpheus',
      env: { read: (name) => (name === 'MODEL_KEY' || name === 'REVIEWS' ? SECRET : undefined) },
    },
  );
  const { requests } = await run();
  const all = [...requests('main'), ...requests('writer')];
  assert.equal(all.length, 3);
  assert.match(String(all[0]?.messages[0]?.content), /You are quick[\s\S]+Peers: morpheus/);
  assert.ok(!JSON.stringify(all).includes(SECRET));
  assert.ok(!JSON.stringify(all).includes(place.stateDir), 'nor where secrets are');
});

test('a sub-agent acts for the task’s caller and within the task’s budget', async (t) => {
  const calls: ToolCall[] = [];
  const probe = defineTool({
    name: 'mcp__x__probe',
    description: 'probe',
    mutates: true,
    inputSchema: z.strictObject({}),
    async run(_input, call: ToolCall) {
      calls.push(call);
      return { ok: true, output: call.task.caller.name };
    },
  });
  const dir = join(makePlace(t).stateDir, 'subagents');
  mkdirSync(dir);
  writeFileSync(
    join(dir, 'prober.md'),
    '---\nname: prober\ndescription: Probes.\ntools: [mcp__x__*, mcp__y__probe]\nmax_steps: 2\n---\nProbe.\n',
  );
  const { run } = await delegating(
    t,
    {
      main: hand('prober'),
      prober: (request) => (stepsSinceAsked(request) === 0 ? use([['mcp__x__probe', {}]]) : say('Probed.')),
    },
    {},
    { sources: [async () => [probe]], subagentsDir: dir },
  );
  const caller = { name: 'somebody', scopes: new Set(['read']) };
  const { requests, result } = await run({ limit: 90_000, admitted: { caller } });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(
    requests('prober')[0]?.tools?.map((tool) => tool.function.name),
    ['mcp__x__probe'],
  );
  assert.match(String(requests('prober')[0]?.messages[0]?.content), /in at most 2 steps/);
  const [call] = calls;
  assert.deepEqual(call?.task.caller, caller);
  assert.match(call?.key ?? '', /^0\.0\/|^1\.0\//);
  assert.ok(call !== undefined && call.budget.remaining() < 31_000, 'its slice, not the whole');
});
