import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { asking, freePort, mcpFleet, mcpTokenOf, untilAborted } from '@hermes-fleet/gateway/testing';
import { callTool, connectStdio } from '@hermes-fleet/mcp/testing';
import { fleet } from '../../testing/profile-stub.ts';

const MAIN = resolve(import.meta.dirname, '../main.ts');
const argsFor = (url: string): string[] => ['mcp', '--url', url, '--token-env', 'THE_TOKEN'];

const connect = (t: TestContext, url: string, as = 'operator', o: Parameters<typeof connectStdio>[2] = {}) =>
  connectStdio(t, { args: [MAIN, ...argsFor(url)], env: { THE_TOKEN: mcpTokenOf(as) } }, o);

test('the official client uses the fleet over stdio: it dispatches, answers and sees progress', async (t) => {
  const { url } = await mcpFleet(t, asking('which branch?'));
  const client = await connect(t, url);
  assert.equal(client.getServerVersion()?.name, 'switch');
  const { tools } = await client.listTools();
  assert.equal(tools.length, 7);
  const lines: string[] = [];
  const onprogress = ({ message = '' }: { message?: string }): unknown => lines.push(message);
  const asked = await callTool(client, 'fleet_dispatch', { brief: 'release' }, { onprogress });
  assert.equal(asked.question.text, 'which branch?');
  assert.equal(lines.at(-1), 'input_required at neo · 0 tokens');
  const done = await callTool(client, 'fleet_answer', { id: asked.id, question: 1, text: 'main' });
  assert.deepEqual([done.state, done.result.text], ['completed', 'main']);
});

for (const o of [{}, { negotiation: 'auto' }] as const)
  test(`a cancellation over stdio cancels the task (${o.negotiation ?? '2025'})`, async (t) => {
    const { url, one, neo } = await mcpFleet(t, untilAborted);
    const client = await connect(t, url, 'operator', o);
    assert.equal(client.getProtocolEra(), o.negotiation ? 'modern' : 'legacy');
    const canceling = new AbortController();
    const input = { brief: 'x', task_id: 'mine' };
    const call = callTool(client, 'fleet_dispatch', input, { signal: canceling.signal });
    await neo.firstRun;
    canceling.abort(new Error('enough'));
    await assert.rejects(call);
    const id = one.ledger.findByKey('operator', 'mine')?.task.id ?? '';
    await one.event(id, 'canceled');
  });

test('a fleet that is not there, or does not accept the token, is an error of the request', async (t) => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  await assert.rejects(connect(t, nobody), /does not answer; start the fleet/);
  const { url } = await mcpFleet(t, untilAborted);
  await assert.rejects(connect(t, url, 'stranger'), /does not accept the token/);
});

const lineOf = (method: string, params: object = {}): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`;

test('requests that are open when the input ends get their answers, and one without is an error', async (t) => {
  const { url, one } = await mcpFleet(t, untilAborted);
  const env = { THE_TOKEN: mcpTokenOf('operator') };
  const listed = await fleet(argsFor(url), lineOf('tools/list'), env);
  assert.deepEqual([listed.code, listed.stderr], [0, '']);
  assert.equal(JSON.parse(listed.stdout).result.tools.length, 7);
  const input = { name: 'fleet_dispatch', arguments: { brief: 'x', task_id: 'mine', wait_s: 240 } };
  const left = await fleet(argsFor(url), lineOf('tools/call', input), env);
  assert.deepEqual([left.code, left.stdout], [1, '']);
  assert.match(
    left.stderr,
    /^fleet: no answer within 5 s of the end of the input \(open: 1\); tasks go on\n$/,
  );
  const id = one.ledger.findByKey('operator', 'mine')?.task.id ?? '';
  assert.equal(one.task(id).result, undefined);
});

test('wrong options are refused before anything is read, and the end of the input ends the command', async () => {
  const run = (args: readonly string[], env: Record<string, string> = {}) => fleet(['mcp', ...args], '', env);
  const url = 'http://127.0.0.1:1';
  for (const [args, words] of [
    [['--url', url], /--url needs --token-env/],
    [['--url', 'ftp://x', '--token-env', 'T'], /--url must be an http or https address, not "ftp:\/\/x"/],
    [['more'], /more/],
  ] as const) {
    const { code, stderr } = await run(args);
    assert.equal(code, 2);
    assert.match(stderr, words);
  }
  const unset = await run(['--url', url, '--token-env', 'NOT_SET']);
  assert.equal(unset.code, 1);
  assert.match(unset.stderr, /the variable NOT_SET of --token-env is not set/);
  assert.deepEqual(await run(['--url', url, '--token-env', 'T'], { T: 'x' }), {
    code: 0,
    stdout: '',
    stderr: '',
  });
});
