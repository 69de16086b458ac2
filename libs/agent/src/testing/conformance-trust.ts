import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool, type ToolSource } from '@hermes-fleet/protocol';
import { SECRET } from '@hermes-fleet/workspace/testing';
import { z } from 'zod';
import { needsScript, needsTools, type Row, runOn } from './conformance.ts';
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

/** What a model may say, claim and reach (design 3: "is not believed"; Tools). */
export const HONESTY_ROWS: readonly Row[] = [
  {
    name: 'one that lies about files, a pull request and spending is not believed',
    except: needsScript,
    async run(t, subject) {
      const lie =
        'I wrote b.txt, spent 3 tokens and opened a pull request.\n\n```outcome\n' +
        '{"status":"done","pr":"https://example.org/pr/1","files_changed":["b.txt"],"spent_tokens":3}\n```';
      const bench = await subject.bench(t, () => ({ text: lie, output: 30 }));
      const { result, context } = await runOn(bench);
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
    name: 'what it says is left is what remains',
    except: needsScript,
    async run(t, subject) {
      const words =
        'Half.\n```outcome\n{"status":"partial","remaining":["the other half"],"next_steps":["ask Ann"]}\n```';
      const bench = await subject.bench(t, () => ({ text: words }));
      const { result } = await runOn(bench);
      assert.deepEqual(
        [result.status, result.remaining, result.nextSteps, result.text],
        ['partial', ['the other half'], ['ask Ann'], 'Half.'],
      );
    },
  },
  {
    name: 'work whose last command failed is not done',
    except: needsTools,
    async run(t, subject) {
      const bench = await subject.bench(t, (call) => (call === 1 ? run('exit 3') : { text: 'All is done.' }));
      const { result } = await runOn(bench, { brief: block('sh', 'exit 3') });
      assert.notEqual(result.status, 'done', JSON.stringify(result));
      assert.deepEqual(result.evidence, [
        { kind: 'command', detail: 'exit 3', exitCode: 3, afterWrite: false },
      ]);
    },
  },
  {
    name: 'an answer that was cut off is no whole answer',
    except: (subject) =>
      needsScript(subject) ??
      (subject.name === 'claude-code'
        ? 'Claude Code itself asks for the rest of an answer that was cut'
        : undefined),
    async run(t, subject) {
      const bench = await subject.bench(t, () => ({ text: 'It goes on and', cutOff: true }));
      const { result } = await runOn(bench);
      assert.equal(result.status, 'partial');
      assert.match(result.remaining?.[0] ?? '', /cut at the output limit/);
    },
  },
  {
    name: 'a tool that is not there is said so, and the run goes on',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, (call) =>
        call === 1 ? { calls: [['fly', { to: 'mars' }]] } : { text: 'I cannot fly.' },
      );
      const { result, context } = await runOn(bench);
      assert.deepEqual([result.status, result.text], ['done', 'I cannot fly.'], JSON.stringify(result));
      assert.match(bench.asked[1]?.results[0] ?? '', /unavailable tool 'fly'|No such tool available: fly/);
      const told = context.events.flatMap(({ type, ...event }) =>
        type === 'progress' && 'data' in event ? [event.data] : [],
      );
      assert.doesNotMatch(JSON.stringify(told), /fly/, 'a name that the model made up stays here');
    },
  },
  {
    name: 'tools from outside are called, and their failures are results',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(
        t,
        (call) => {
          if (call > 2) return { text: 'Rain.' };
          return { calls: [['mcp__weather__look', { town: call === 1 ? 'Rome' : 'Atlantis' }]] };
        },
        { toolSources: [weather] },
      );
      const { result, context } = await runOn(bench);
      assert.deepEqual([result.status, result.text], ['done', 'Rain.'], JSON.stringify(result));
      const results = bench.asked.at(-1)?.results ?? [];
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
    name: 'work that is handed to a sub-agent comes back, and is spent in the same budget',
    except: needsScript,
    async run(t, subject) {
      let handedOver = 0;
      const bench = await subject.bench(t, (_call, { results, users }) => {
        if (users.some((text) => text.includes('Find the river.'))) {
          handedOver += 1;
          return { text: 'It is the Tiber.', output: 50 };
        }
        const brief = { agent: 'researcher', brief: 'Find the river.' };
        return results.length === 0 ? { calls: [['delegate', brief]] } : { text: 'The Tiber.', output: 7 };
      });
      const { result, context } = await runOn(bench, { limit: 200_000 });
      assert.deepEqual([result.status, result.text], ['done', 'The Tiber.'], JSON.stringify(result));
      assert.equal(handedOver, 1);
      assert.match(bench.asked.at(-1)?.results[0] ?? '', /It is the Tiber/);
      assert.equal(context.budget.usage().outputTokens, 20 + 50 + 7);
    },
  },
  {
    name: 'a source of tools that fails costs its tools, and no more',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, () => ({ text: 'Hello.' }), {
        toolSources: [async () => assert.fail('the server hangs'), weather],
      });
      const { result } = await runOn(bench);
      assert.equal(result.status, 'done');
      assert.ok(bench.asked[0]?.tools.includes('mcp__weather__look'));
    },
  },
  {
    name: 'no path leads out of the workspace',
    except: needsScript,
    async run(t, subject) {
      const outside = ['../outside.txt', '/tmp/hermes-outside.txt', 'a/../../outside.txt'];
      const bench = await subject.bench(t, (call) => {
        const path = outside[call - 1];
        return path === undefined
          ? { text: 'I may not.' }
          : { calls: [['write_file', { path, content: 'x' }]] };
      });
      const { result } = await runOn(bench);
      assert.deepEqual(result.artifacts.filesChanged, []);
      const results = bench.asked.at(-1)?.results ?? [];
      assert.equal(results.length, 3);
      for (const text of results) assert.match(text, /leads out of the workspace/);
      assert.equal(existsSync('/tmp/hermes-outside.txt'), false);
      assert.equal(existsSync(join(bench.agent.place.workspaceRoot, 'contexts', 'outside.txt')), false);
    },
  },
  {
    name: 'no prompt holds a secret, and no command finds one',
    except: needsScript,
    async run(t, subject) {
      const place = (state: string): string =>
        `cat ${state}/ledger.db ${state}/token; env; cat /proc/*/environ | tr '\\0' '\\n'; true`;
      // As a gateway holds its keys; a process that is started later inherits it, unless it is kept from it.
      process.env.FLEET_TEST_SECRET = SECRET;
      t.after(() => delete process.env.FLEET_TEST_SECRET);
      let state = '';
      const bench = await subject.bench(
        t,
        (call) => (call === 1 ? run(place(state)) : { text: 'Nothing there.' }),
        // All that the command prints is looked through.
        { config: { hooks: { compactSuccessOutput: false } } },
      );
      state = bench.agent.place.stateDir;
      const { context } = await runOn(bench);
      assert.equal(bench.asked.length, 2);
      const printed = bench.asked[1]?.results[0] ?? '';
      assert.match(printed, /Permission denied|No such file/);
      assert.match(printed, /TERM=dumb/, 'its environment was printed');
      const all = JSON.stringify([bench.asked, context.events, context.checkpoints]);
      assert.doesNotMatch(all, new RegExp(SECRET));
    },
  },
];
