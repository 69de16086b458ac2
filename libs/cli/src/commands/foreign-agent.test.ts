import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fleet } from '../../testing/profile-stub.ts';

const task = (state: string) => ({
  id: 't',
  contextId: 'c',
  status: {
    state: `TASK_STATE_${state}`,
    message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'which one?' }] },
  },
});

/** An agent with its card below a path, and an answer for each method: a result, an error, or a closed connection. */
async function agent(
  t: TestContext,
  answers: Readonly<Record<string, { result?: object; error?: object; status?: number }>>,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (body === '') {
      const supportedInterfaces = [{ url: rpcUrl, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
      response.end(JSON.stringify({ name: 'A', supportedInterfaces, capabilities: { streaming: false } }));
      return;
    }
    const { method } = JSON.parse(body);
    const answer = answers[method];
    if (answer === undefined) return void response.destroy();
    const { status = 200, ...outcome } = answer;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...outcome }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const rpcUrl = `http://127.0.0.1:${address.port}/rpc`;
  return `http://127.0.0.1:${address.port}/agents/a`;
}

test('the next command for an agent at --url has its path and the variable of its token', async (t) => {
  const url = await agent(t, {
    SendMessage: { result: { task: task('INPUT_REQUIRED') } },
    GetTask: { result: task('INPUT_REQUIRED') },
  });
  const named = ['--url', url, '--token-env', 'FLEET_TEST_TOKEN'];
  const env = { FLEET_TEST_TOKEN: 's3cret' };
  const detached = await fleet(['send', 'x', '--detach', ...named], '', env);
  assert.equal(detached.code, 0, detached.stderr);
  assert.equal(
    detached.stdout,
    `task t in context c\nto see it: fleet watch t --url ${url} --token-env FLEET_TEST_TOKEN\n`,
  );
  const asking = await fleet(['send', 'x', ...named], '', env);
  assert.equal(asking.code, 3, asking.stderr);
  assert.match(
    asking.stdout,
    new RegExp(`to answer: fleet answer t "…" --url ${url} --token-env FLEET_TEST_TOKEN\n$`),
  );
  const odd = await fleet(['task', 't', '--url', `${url}/.well-known/agent-card.json?a=1&b=2`]);
  assert.match(
    odd.stdout,
    new RegExp(`to answer: fleet answer t "…" --url '${url}/[^' ]+\\?a=1&b=2'\n$`),
    odd.stderr,
  );
});

test('the id of a task cannot control the terminal while its agent works', async (t) => {
  const named = { id: 't\u001b[2J\u009b', contextId: 'c\r\u202e' };
  const url = await agent(t, {
    SendMessage: { result: { task: { ...task('WORKING'), ...named } } },
    GetTask: { result: { ...task('COMPLETED'), ...named } },
  });
  const { code, stdout, stderr } = await fleet(['send', 'x', '--url', url]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^task t\ufffd\[2J\ufffd in context c\ufffd\ufffd\n/);
  assert.doesNotMatch(`${stdout}${stderr}`.replaceAll('\n', ''), /[\p{Cc}\u202e]/u);
});

test('an error of an agent at --url comes with no hint about the fleet', async (t) => {
  const url = await agent(t, {
    CancelTask: { error: { code: -32002, message: 'too late' } },
    GetTask: { result: task('COMPLETED') },
  });
  const named = ['--url', url];
  const late = await fleet(['cancel', 't', ...named]);
  assert.match(
    late.stderr,
    /^fleet: peer .*CancelTask.*\nhint: fleet task <id> --url \S+ shows its result\n$/,
  );
  assert.ok(late.stderr.includes(`--url ${url} `), late.stderr);

  const refusing = await agent(t, { GetTask: { status: 401, error: { code: -32000, message: 'no' } } });
  const refused = await fleet(['task', 't', '--url', refusing]);
  const hint = '--token-env names the variable with a bearer token that the agent accepts';
  assert.match(refused.stderr, new RegExp(`^fleet: peer .*UNAUTHENTICATED.*\nhint: ${hint}\n$`));
  const document = JSON.parse((await fleet(['task', 't', '--url', refusing, '--json'])).stdout);
  assert.equal(document.error.hint, hint);

  const empty = await agent(t, { GetTask: { error: { code: -32001, message: 'no' } } });
  const unknown = await fleet(['watch', 't', '--url', empty]);
  assert.match(unknown.stderr, /^fleet: 127\.0\.0\.1:\d+: no such task of yours: t\n$/);

  const away = await fleet(['watch', 't', '--url', await agent(t, {})]);
  assert.equal(away.code, 1);
  assert.match(away.stderr, /^fleet: peer "127\.0\.0\.1:\d+" cannot be reached for GetTask: .*\n$/);
});
