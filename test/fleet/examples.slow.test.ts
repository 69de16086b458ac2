import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Fleet, PROFILES, ROOT, runProgram, startFleet } from '../support/fleet.ts';
import { untilSeen } from '../support/peers-view.ts';
import { freeOffset } from '../support/ports.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';

const EXAMPLES = join(ROOT, 'examples');
const tokens = { announce: `announce-${randomUUID()}`, work: `work-${randomUUID()}` };

/** The shipped switch, with the lines that examples/README.md adds. */
function withCounter(profile: string, shipped: string): string {
  if (profile !== 'switch') return shipped;
  return shipped
    .replace(
      '    callers:\n',
      '    callers:\n      counter: { token_env: A2A_HERMES_TOKEN_COUNTER_TO_SWITCH, scopes: [join] }\n',
    )
    .replace('  join:\n', '  join:\n    token_env: A2A_HERMES_TOKEN_SWITCH_TO_JOINED\n');
}

const startChangedFleet = (t: TestContext): Promise<Fleet> =>
  startFleet(t, PROFILES, {
    inProcess: true,
    fleetYaml: withCounter,
    mcpServers: ['filesystem'],
    secrets: {
      switch: {
        A2A_HERMES_TOKEN_COUNTER_TO_SWITCH: tokens.announce,
        A2A_HERMES_TOKEN_SWITCH_TO_JOINED: tokens.work,
      },
    },
  });

test('the worker has at most 60 lines of code', async () => {
  const source = await readFile(join(EXAMPLES, 'worker/word-counter.ts'), 'utf8');
  const code = source.split('\n').filter((line) => !/^\s*(\/\/|\/?\*|$)/.test(line));
  assert.ok(code.length > 30 && code.length <= 60, `it has ${code.length} lines of code`);
});

test('the examples work as they are', async (t) => {
  const fleet = await startChangedFleet(t);
  const { url } = fleet.target('switch');
  const run = (program: string, args: string[], token = fleet.operatorToken) =>
    runProgram(program, args, { env: { ...process.env, FLEET_URL: url, FLEET_TOKEN: token } });
  const clients: Record<string, [program: string, ...args: string[]]> = {
    curl: ['bash', join(EXAMPLES, 'curl/dispatch.sh')],
    python: ['python3', join(EXAMPLES, 'python/dispatch.py')],
    typescript: [process.execPath, join(EXAMPLES, 'typescript/dispatch.ts')],
  };
  for (const [language, [program, ...args]] of Object.entries(clients))
    await t.test(`a dispatch in ${language}: states as they come, and the result`, async () => {
      const { code, stdout, stderr } = await run(program, args);
      assert.equal(code, 0, `${stdout}\n${stderr}`);
      assert.match(stdout, /TASK_STATE_WORKING[\s\S]*TASK_STATE_COMPLETED/);
      assert.match(stdout, /done/);
      assert.match(stdout, /hello\.txt/);
    });
  for (const [language, [program, ...args]] of Object.entries(clients))
    await t.test(`a dispatch in ${language} with a wrong token says so, and fails`, async () => {
      const { code, stdout, stderr } = await run(program, args, 'wrong');
      assert.notEqual(code, 0, stdout);
      assert.match(`${stdout}\n${stderr}`, /401|token/i);
    });
  for (const [language, [program, ...args]] of Object.entries(clients))
    await t.test(`a dispatch in ${language} that nobody can do is blocked, and fails`, async () => {
      const { code, stdout, stderr } = await run(program, [...args, 'nope']);
      assert.equal(code, 1, stdout);
      assert.match(`${stdout}\n${stderr}`, /required MCP server .*nope/);
    });

  await t.test('the worker joins, and gets the work that only it can do', async (tt) => {
    const port = 9_230 + (await freeOffset());
    const worker = spawn(process.execPath, [join(EXAMPLES, 'worker/word-counter.ts')], {
      env: {
        ...process.env,
        FLEET_URL: url,
        FLEET_TOKEN: tokens.announce,
        WORKER_TOKEN: tokens.work,
        PORT: String(port),
      },
      stdio: 'ignore',
    });
    tt.after(() => worker.kill('SIGKILL'));
    await untilSeen(
      fleet.target('switch'),
      'counter',
      ({ standing, state }) => standing === 'joined' && state === 'live',
      'as joined',
    );
    const counted = async (brief: string, requirements: Record<string, unknown>, taskId?: string) => {
      const contract = dispatch({ ...(taskId ? { taskId } : {}), brief, requirements });
      const { body } = await call(fleet.target('switch'), 'SendMessage', message(contract));
      return resultOf(body.result.task);
    };
    const result = await counted('one two  three\nfour', { required_capabilities: ['count_words'] });
    assert.deepEqual([result.status, result.executed_by, result.output], ['done', 'counter', { words: 4 }]);
    assert.equal(result.tokens_spent, 0);

    const direct = { url: `http://127.0.0.1:${port}`, token: tokens.work };
    const sent = dispatch({ taskId: 'twice', brief: 'a b', requirements: { required_mcp: ['memory'] } });
    const [once, again] = [
      await call(direct, 'SendMessage', message(sent)),
      await call(direct, 'SendMessage', message(sent)),
    ];
    assert.equal(resultOf(once.body.result.task).blocked_reason, 'counter has no memory');
    assert.deepEqual(again.body, once.body);
    const { body } = await call(direct, 'GetTask', { id: once.body.result.task.id });
    assert.deepEqual(body.result, once.body.result.task);
    assert.equal(
      (await call({ ...direct, token: 'wrong' }, 'GetTask', { id: 'x' }).catch(() => undefined))?.status,
      401,
    );
  });
});
