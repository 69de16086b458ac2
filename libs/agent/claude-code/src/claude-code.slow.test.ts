import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  type AnthropicReply,
  type AnthropicServer,
  anthropicServer,
  hasEnded,
  lastCheckpoint,
  type MessagesRequest,
  makeAgent,
  processesWith,
  resultsOf,
  runTask,
  startRun,
  textsOf,
} from '@hermes-fleet/loop/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { cannotConfine, closedToOthers, SECRET } from '@hermes-fleet/workspace/testing';
import { claudeUnavailable, keyedEnv } from '../testing/executors-under-test.ts';
import { claudeCode } from './index.ts';

type Script = (call: number, request: MessagesRequest) => AnthropicReply;

const MODEL = { model: 'anthropic/claude-sonnet-4-5', executor: 'claude-code' } as const;

async function claude(
  t: TestContext,
  script: Script,
  config: { model?: string; confine?: 'auto' | 'uid' | 'bubblewrap' } = {},
) {
  const server: AnthropicServer = await anthropicServer(t, script);
  const { confine = 'auto', ...model } = config;
  const agent = await makeAgent(
    t,
    { ...MODEL, ...model, base_url: server.url, tools: { shell: { confine } } },
    { executor: claudeCode, env: keyedEnv },
  );
  return { agent, server, requests: [], guards: [] };
}

const run = (command: string): AnthropicReply => ({ calls: [['shell_exec', { command }]] });
const messagesOf = (request: MessagesRequest | undefined): string => JSON.stringify(request?.messages ?? []);

const live = { skip: claudeUnavailable };

for (const confine of ['bubblewrap', 'uid'] as const) {
  const skip =
    claudeUnavailable ||
    cannotConfine(confine) ||
    (confine === 'uid' && closedToOthers(import.meta.filename));
  test(`confined by ${confine}, Claude Code's own tools read neither the token nor the ledger`, {
    skip,
  }, async (t) => {
    let state = '';
    const fixture = await claude(
      t,
      (call): AnthropicReply => {
        if (call === 1)
          return run(`ln -s ${state} inside; ln -s ${state}/token link; ln -s /proc/self proc; true`);
        const paths = ['link', 'inside/token', `${state}/token`, 'proc/environ'];
        const file_path = paths[call - 2];
        return file_path === undefined ? { text: 'Nothing.' } : { calls: [['Read', { file_path }]] };
      },
      { confine },
    );
    state = fixture.agent.place.stateDir;
    const { context, result } = await runTask(fixture);
    const [, ...reads] = resultsOf(fixture.server.requests.at(-1) ?? assert.fail());
    assert.equal(reads.length, 4);
    assert.deepEqual(
      reads.map(({ isError, text }) => isError && /leads out of the workspace/.test(text)),
      [true, true, true, true],
      JSON.stringify(reads),
    );
    const all = JSON.stringify([fixture.server.requests, context.checkpoints, context.events, result]);
    assert.doesNotMatch(all, new RegExp(SECRET));
  });
}

test('the process has its own key, no variable of the gateway, and ends with the run', live, async (t) => {
  let environ = '';
  let place = '';
  const fixture = await claude(t, (call) => {
    if (call > 1) return { text: 'Done.' };
    const own = processesWith('--permission-mode=dontAsk').filter((pid) => environOf(pid).includes(place));
    environ = own.map(environOf).join('\0');
    return run('env');
  });
  place = fixture.agent.place.workspaceRoot;
  await runTask(fixture);
  assert.match(environ, /ANTHROPIC_API_KEY=run-/);
  assert.doesNotMatch(environ, new RegExp(SECRET));
  const names = new Set(environ.split('\0').map((line) => line.split('=')[0] ?? ''));
  for (const name of ['NODE_OPTIONS', 'NODE_TEST_CONTEXT', 'HERMES_HOME', 'USER'])
    assert.ok(!names.has(name), name);
  const [shown] = resultsOf(fixture.server.requests.at(-1) ?? assert.fail());
  assert.doesNotMatch(shown?.text ?? '', /ANTHROPIC|CLAUDE/, 'a command has none of these variables');
  assert.deepEqual(processesWith(place), []);
});

/** Empty for a process that has ended. */
function environOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
}

test('its own tools follow no link or pattern out of the workspace', live, async (t) => {
  const escapes = [
    ['Read', { file_path: 'words' }],
    ['Grep', { pattern: 'root', path: 'words', output_mode: 'content' }],
    ['Grep', { pattern: 'root', path: ' /etc/passwd', output_mode: 'content' }],
    ['Glob', { pattern: '/etc/pass*' }],
    ['Glob', { pattern: 'etc/pass*' }],
  ] as const;
  const fixture = await claude(t, (call): AnthropicReply => {
    if (call === 1) return run('ln -s /etc/passwd words; ln -s /etc etc; true');
    const attempt = escapes[call - 2];
    return attempt === undefined ? { text: 'Nothing.' } : { calls: [attempt] };
  });
  await runTask(fixture);
  const [, ...seen] = resultsOf(fixture.server.requests.at(-1) ?? assert.fail());
  assert.deepEqual(
    seen.map(({ isError, text }) => isError && /leads out of the workspace/.test(text)),
    escapes.map(() => true),
    JSON.stringify(seen),
  );
});

test(
  'of an answer with many calls it runs the first 64, and the model learns that the rest was not run',
  live,
  async (t) => {
    const fixture = await claude(t, (call): AnthropicReply => {
      if (call > 1) return { text: 'Done.' };
      return {
        calls: Array.from({ length: 70 }, (_, at) => ['Write', { file_path: `${at}.txt`, content: 'x' }]),
      };
    });
    const { result } = await runTask(fixture);
    assert.deepEqual([result.status, result.artifacts.filesChanged.length], ['partial', 64]);
    const told = resultsOf(fixture.server.requests.at(-1) ?? assert.fail());
    assert.equal(told.length, 70);
    for (const [at, { isError, text }] of told.entries())
      assert.equal(isError && /not run: of the calls of one answer/.test(text), at >= 64, `${at} ${text}`);
  },
);

test('when the process dies, its commands end before the run does', live, async (t) => {
  const seconds = `3211.${process.pid}`;
  const fixture = await claude(t, () => ({
    calls: [1, 2].map((part) => ['shell_exec', { command: `sleep ${seconds}; echo ${part}` }] as const),
  }));
  const place = fixture.agent.place.workspaceRoot;
  const { result } = startRun(fixture, { limit: 100_000 });
  await t.waitFor(() => assert.ok(processesWith(`sleep\0${seconds}`).length > 0), { timeout: 30_000 });
  for (const pid of processesWith('--permission-mode=dontAsk').concat(processesWith('--permission-mode\0')))
    if (environOf(pid).includes(place)) process.kill(Number(pid), 'SIGKILL');
  const { status, error } = await result;
  assert.deepEqual([status, error?.code, error?.retryable], ['error', 'model_failed', true]);
  assert.deepEqual(processesWith(seconds), []);
  assert.deepEqual(processesWith(place), []);
});

test(
  'files in the workspace configure nothing, and a brief is not a command of Claude Code',
  live,
  async (t) => {
    const hook = { matcher: '', hooks: [{ type: 'command', command: 'touch hooked' }] };
    const settings = JSON.stringify({ hooks: { PreToolUse: [hook], SessionStart: [hook], Stop: [hook] } });
    const planted = [
      `mkdir -p .claude; cat > .claude/settings.json <<'X'\n${settings}\nX`,
      'echo "PLANTED WORDS" > CLAUDE.md',
      `echo '{"mcpServers":{"evil":{"command":"touch","args":["served"]}}}' > .mcp.json`,
    ].join('\n');
    const fixture = await claude(t, (_call, request) => {
      if (messagesOf(request).includes('second task')) {
        const read = resultsOf(request).length > 0;
        return read ? { text: 'Done.' } : { calls: [['Glob', { pattern: '*' }]] };
      }
      return resultsOf(request).length > 0 ? { text: 'Planted.' } : run(planted);
    });
    await runTask(fixture);
    const { result } = await runTask(fixture, { brief: '/init second task @CLAUDE.md @/etc/passwd' });
    assert.equal(result.text, 'Done.', JSON.stringify(result));
    const tree = join(fixture.agent.place.workspaceRoot, 'contexts', 'context-1', 'tree');
    assert.ok(existsSync(join(tree, '.claude/settings.json')));
    assert.deepEqual([existsSync(join(tree, 'hooked')), existsSync(join(tree, 'served'))], [false, false]);
    const last = fixture.server.requests.at(-1);
    assert.match(messagesOf(last), /\/init second task @CLAUDE\.md @\/etc\/passwd/);
    assert.doesNotMatch(messagesOf(last), /PLANTED WORDS|root:x:0/);
  },
);

test(
  'session files are kept for a restart, hidden from its own tools, and removed when the task is over',
  live,
  async (t) => {
    const fixture = await claude(t, (call) => {
      if (call === 1) return { calls: [['Grep', { pattern: 'MARKER-7', output_mode: 'content' }]] };
      return call === 2 ? { calls: [['Glob', { pattern: '**/*.jsonl' }]] } : { text: 'Nothing found.' };
    });
    const scratch = join(fixture.agent.place.workspaceRoot, 'contexts', 'context-1', 'tree', '.scratch');
    const sessions = (): string[] =>
      existsSync(scratch)
        ? readdirSync(scratch, { recursive: true })
            .map(String)
            .filter((name) => /\.claude-/.test(name))
        : [];
    const first = startRun(fixture, {
      brief: 'Find MARKER-7.',
      onEvent: (event, { pausing }) =>
        hasEnded(event, 'grep_files') && pausing.abort(new FleetError('SHUTTING_DOWN', 'stopping')),
    });
    await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
    assert.ok(
      sessions().some((name) => name.endsWith('.jsonl')),
      sessions().join(),
    );
    const { result } = await runTask(fixture, {
      again: first.task,
      checkpoint: lastCheckpoint(first.context),
    });
    assert.equal(result.status, 'done', JSON.stringify(result));
    for (const { text } of resultsOf(fixture.server.requests.at(-1) ?? assert.fail()))
      assert.doesNotMatch(text, /MARKER-7|\.jsonl/);
    assert.deepEqual(sessions(), []);
  },
);

test(
  'a run whose session is lost continues in a new one that is told the work done so far',
  live,
  async (t) => {
    const fixture = await claude(t, (_call, request) => {
      if (/What was said before is lost/.test(messagesOf(request))) return { text: 'I go on.' };
      return resultsOf(request).length > 0 ? { text: 'Not this way.' } : run('echo step one');
    });
    const first = startRun(fixture, {
      brief: 'Do two things.',
      onEvent: (event, { controller }) =>
        hasEnded(event, 'shell_exec') && controller.abort(new FleetError('SHUTTING_DOWN', 'stopping')),
    });
    await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
    const saved = lastCheckpoint(first.context);
    const other = { ...saved, session: { id: '00000000-0000-4000-8000-000000000000', begun: [] } };
    const { result } = await runTask(fixture, { again: first.task, checkpoint: other });
    assert.equal(result.text, 'I go on.', JSON.stringify(result));
    const told = messagesOf(fixture.server.requests.at(-1));
    assert.match(told, /<task>\\nDo two things\.\\n<\/task>/);
    assert.match(told, /Done so far: ran echo step one\./);
  },
);

test(
  "Claude Code gets the model, the long context window and the agent's prompt, and calls nothing else",
  live,
  async (t) => {
    const fixture = await claude(t, () => ({ text: 'Hello.' }), { model: 'claude-opus-4-6[1m]' });
    const { result, context } = await runTask(fixture, { limit: 100_000 });
    assert.equal(result.status, 'done', JSON.stringify(result));
    const [received] = fixture.server.received;
    assert.equal(received?.body.model, 'claude-opus-4-6');
    assert.match(String(received?.headers['anthropic-beta']), /context-1m-2025-08-07/);
    assert.equal(received?.headers['x-api-key'], SECRET, 'set by the proxy');
    assert.match(textsOf(received?.body ?? assert.fail()).system, /You are neo, an agent of Hermes Fleet/);
    assert.deepEqual([fixture.server.requests.length, fixture.server.strays], [1, []]);
    assert.deepEqual(
      received?.body.tools?.map(({ name }) => name).filter((name) => /^[A-Z]/.test(name)),
      ['Edit', 'Glob', 'Grep', 'Read', 'Write'],
      'no other tool of its own',
    );
    assert.ok(
      context.budget.spent() > 1000 && context.budget.spent() < 15_000,
      String(context.budget.spent()),
    );
  },
);
