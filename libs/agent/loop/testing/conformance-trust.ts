import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool, type ToolSource } from '@hermes-fleet/protocol/ports';
import { SECRET } from '@hermes-fleet/workspace/testing';
import { z } from 'zod';
import { type ConformanceCase, needsScript, needsTools, runTask } from './conformance.ts';
import { block } from './harness.ts';

const run = (command: string) => ({ calls: [['shell_exec', { command }]] }) as const;

const weather: ToolSource = async () => [
  defineTool({
    name: 'mcp__weather__look',
    description: 'Tells the weather of a town.',
    mutates: false,
    inputSchema: z.strictObject({ town: z.string() }),
    run: async ({ town }) =>
      town === 'Atlantis'
        ? { ok: false, output: 'there is no such town' }
        : { ok: true, output: `rain in ${town}` },
  }),
];

/** A model's claims, and what it can reach. */
export const TRUST_CASES: readonly ConformanceCase[] = [
  {
    name: 'false claims about files, a pull request and spending have no effect',
    skipFor: needsScript,
    async run(t, executor) {
      const lie =
        'I wrote b.txt, spent 3 tokens and opened a pull request.\n\n```outcome\n' +
        '{"status":"done","pr":"https://example.org/pr/1","files_changed":["b.txt"],"spent_tokens":3}\n```';
      const fixture = await executor.setUp(t, () => ({ text: lie, output: 30 }));
      const { result, context } = await runTask(fixture);
      assert.deepEqual(result.artifacts, { pr: null, filesChanged: [] });
      assert.deepEqual(result.evidence, [
        { kind: 'claimed', detail: 'pull request https://example.org/pr/1' },
      ]);
      assert.match(result.nextSteps.join(), /confirm the pull request https:\/\/example\.org\/pr\/1/);
      assert.ok(context.budget.spent() > 300, String(context.budget.spent()));
      assert.equal(context.budget.usage().source, 'metered');
      assert.doesNotMatch(result.text ?? '', /"status"/, 'the outcome block is not for the caller');
    },
  },
  {
    name: 'the remaining work is what the model says',
    skipFor: needsScript,
    async run(t, executor) {
      const words =
        'Half.\n```outcome\n{"status":"partial","remaining":["the other half"],"next_steps":["ask Ann"]}\n```';
      const fixture = await executor.setUp(t, () => ({ text: words }));
      const { result } = await runTask(fixture);
      assert.deepEqual(
        [result.status, result.remaining, result.nextSteps, result.text],
        ['partial', ['the other half'], ['ask Ann'], 'Half.'],
      );
    },
  },
  {
    name: 'work whose last command failed is not done',
    skipFor: needsTools,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) =>
        call === 1 ? run('exit 3') : { text: 'All is done.' },
      );
      const { result } = await runTask(fixture, { brief: block('sh', 'exit 3') });
      assert.notEqual(result.status, 'done', JSON.stringify(result));
      assert.deepEqual(result.evidence, [
        { kind: 'command', detail: 'exit 3', exitCode: 3, afterWrite: false },
      ]);
    },
  },
  {
    name: 'an answer cut at the output limit is incomplete',
    skipFor: (executor) =>
      needsScript(executor) ??
      (executor.name === 'claude-code'
        ? 'Claude Code requests the rest of a cut answer on its own'
        : undefined),
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => ({ text: 'It goes on and', cutOff: true }));
      const { result } = await runTask(fixture);
      assert.equal(result.status, 'partial');
      assert.match(result.remaining?.[0] ?? '', /cut at the output limit/);
    },
  },
  {
    name: 'a call of an unknown tool is reported to the model, and the run continues',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) =>
        call === 1 ? { calls: [['fly', { to: 'mars' }]] } : { text: 'I cannot fly.' },
      );
      const { result, context } = await runTask(fixture);
      assert.deepEqual([result.status, result.text], ['done', 'I cannot fly.'], JSON.stringify(result));
      assert.match(
        fixture.requests[1]?.results[0] ?? '',
        /there is no tool fly;|No such tool available: fly/,
      );
      const told = context.events.flatMap(({ type, ...event }) =>
        type === 'progress' && 'data' in event ? [event.data] : [],
      );
      assert.doesNotMatch(JSON.stringify(told), /fly/, 'a name that the model made up is not reported');
    },
  },
  {
    name: 'external tools are called, and their failures are results',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(
        t,
        (call) => {
          if (call > 2) return { text: 'Rain.' };
          return { calls: [['mcp__weather__look', { town: call === 1 ? 'Rome' : 'Atlantis' }]] };
        },
        { sources: [weather] },
      );
      const { result, context } = await runTask(fixture);
      assert.deepEqual([result.status, result.text], ['done', 'Rain.'], JSON.stringify(result));
      const results = fixture.requests.at(-1)?.results ?? [];
      assert.match(results[0] ?? '', /rain in Rome/);
      assert.match(results[1] ?? '', /there is no such town/);
      const ends = context.events.flatMap((event) =>
        event.type === 'progress' && 'ok' in event.data ? [event.data] : [],
      );
      assert.deepEqual(
        ends.map(({ tool, ok }) => [tool, ok]),
        [
          ['mcp__weather__look', true],
          ['mcp__weather__look', false],
        ],
      );
    },
  },
  {
    name: 'a sub-agent returns its answer and spends from the same budget',
    skipFor: needsScript,
    async run(t, executor) {
      let handedOver = 0;
      const fixture = await executor.setUp(t, (_call, { results, users }) => {
        if (users.some((text) => text.includes('Find the river.'))) {
          handedOver += 1;
          return { text: 'It is the Tiber.', output: 50 };
        }
        const brief = { agent: 'researcher', brief: 'Find the river.' };
        return results.length === 0 ? { calls: [['delegate', brief]] } : { text: 'The Tiber.', output: 7 };
      });
      const { result, context } = await runTask(fixture, { limit: 200_000 });
      assert.deepEqual([result.status, result.text], ['done', 'The Tiber.'], JSON.stringify(result));
      assert.equal(handedOver, 1);
      assert.match(fixture.requests.at(-1)?.results[0] ?? '', /It is the Tiber/);
      assert.equal(context.budget.usage().outputTokens, 20 + 50 + 7);
    },
  },
  {
    name: 'a failing tool source does not affect other tools',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => ({ text: 'Hello.' }), {
        sources: [async () => assert.fail('the server hangs'), weather],
      });
      const { result } = await runTask(fixture);
      assert.equal(result.status, 'done');
      assert.ok(fixture.requests[0]?.tools.includes('mcp__weather__look'));
    },
  },
  {
    name: 'no path leads out of the workspace',
    skipFor: needsScript,
    async run(t, executor) {
      const outside = ['../outside.txt', '/tmp/hermes-outside.txt', 'a/../../outside.txt'];
      const fixture = await executor.setUp(t, (call) => {
        const path = outside[call - 1];
        return path === undefined
          ? { text: 'I may not.' }
          : { calls: [['write_file', { path, content: 'x' }]] };
      });
      const { result } = await runTask(fixture);
      assert.deepEqual(result.artifacts.filesChanged, []);
      const results = fixture.requests.at(-1)?.results ?? [];
      assert.equal(results.length, 3);
      for (const text of results) assert.match(text, /leads out of the workspace/);
      assert.equal(existsSync('/tmp/hermes-outside.txt'), false);
      assert.equal(existsSync(join(fixture.agent.place.workspaceRoot, 'contexts', 'outside.txt')), false);
    },
  },
  {
    name: 'no prompt contains a secret, and no command finds one',
    skipFor: needsScript,
    async run(t, executor) {
      const place = (state: string): string =>
        `cat ${state}/ledger.db ${state}/token; env; cat /proc/*/environ | tr '\\0' '\\n'; true`;
      // Like a gateway's keys: a child process would inherit it by default.
      process.env.FLEET_TEST_SECRET = SECRET;
      t.after(() => delete process.env.FLEET_TEST_SECRET);
      let state = '';
      const fixture = await executor.setUp(
        t,
        (call) => (call === 1 ? run(place(state)) : { text: 'Nothing there.' }),
        // So that the whole output is searched.
        { config: { hooks: { compactSuccessOutput: false } } },
      );
      state = fixture.agent.place.stateDir;
      const { context } = await runTask(fixture);
      assert.equal(fixture.requests.length, 2);
      const printed = fixture.requests[1]?.results[0] ?? '';
      assert.match(printed, /Permission denied|No such file/);
      assert.match(printed, /TERM=dumb/, 'its environment was printed');
      const all = JSON.stringify([fixture.requests, context.events, context.checkpoints]);
      assert.doesNotMatch(all, new RegExp(SECRET));
    },
  },
];
