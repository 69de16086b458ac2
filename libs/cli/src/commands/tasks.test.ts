import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fleet, profileStub } from '../testing/profile-stub.ts';

const task = {
  id: 't-1',
  contextId: 'c-1',
  status: { state: 'TASK_STATE_WORKING', timestamp: '2030-01-01T00:00:00.000Z' },
};
const refusal = { status: 401, body: { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no' } } };

/** switch refuses every call, nothing listens for trinity, and neo answers every call with the result that is given. */
async function reachOf(t: TestContext, result: object): Promise<string[]> {
  const refusing = await profileStub(t, { '/jsonrpc': refusal });
  const neo = await profileStub(t, { '/jsonrpc': { body: { jsonrpc: '2.0', id: 1, result } } });
  const reach = [`switch=${refusing.url}`, 'trinity=http://127.0.0.1:2', `neo=${neo.url}`];
  return ['--dir', neo.dir, ...reach.flatMap((each) => ['--reach', each])];
}

test('tasks lists those of the other profiles when one refuses and one is away', async (t) => {
  const reach = await reachOf(t, { tasks: [task] });
  const { code, stdout, stderr } = await fleet(['tasks', ...reach]);
  assert.equal(code, 1);
  assert.match(stdout, /2030-01-01T00:00:00Z {2}working {2}neo/);
  assert.match(
    stderr,
    /^not listed: switch does not accept .*\nnot listed: trinity does not answer at .*\n$/,
  );
  const document = await fleet(['tasks', ...reach, '--json']);
  assert.deepEqual(JSON.parse(document.stdout), {
    tasks: [{ profile: 'neo', task }],
    silent: ['switch', 'trinity'],
  });
  assert.deepEqual([document.code, document.stderr], [1, '']);
});

test('tasks ends with the refusal when no profile lists any', async (t) => {
  const refusing = await profileStub(t, { '/jsonrpc': refusal });
  const reach = ['--reach', `switch=${refusing.url}`, '--reach', 'neo=http://127.0.0.1:2'];
  const { code, stderr } = await fleet(['tasks', '--dir', refusing.dir, ...reach]);
  assert.equal(code, 1);
  assert.match(stderr, /^fleet: switch does not accept the token\nhint: /);
});

test('a task is found behind a profile that refuses, which is the error when none has it', async (t) => {
  const found = await fleet(['task', 't-1', ...(await reachOf(t, task))]);
  assert.equal(found.code, 0, found.stderr);
  assert.match(found.stdout, / {2}task {7}t-1\n/);
  const refusing = await profileStub(t, { '/jsonrpc': refusal });
  const lost = await fleet(['task', 't-1', '--dir', refusing.dir, '--reach', `switch=${refusing.url}`]);
  assert.match(lost.stderr, /^fleet: peer "switch" refused GetTask \(UNAUTHENTICATED, /);
});

test('FLEET_TOKEN is the caller of the commands about tasks, and of no other', async (t) => {
  const answers = {
    '/jsonrpc': { body: { jsonrpc: '2.0', id: 1, result: { tasks: [] } } },
    '/fleet/spending': { body: {} },
    '/fleet/peers': { body: { profile: 'switch', peers: [] } },
  };
  const { url, dir, token, asked } = await profileStub(t, answers);
  for (const given of ['token-of-another', ''])
    for (const command of ['tasks', 'cost', 'peers']) {
      const args = [command, '--dir', dir, '--reach', `switch=${url}`];
      const { code, stderr } = await fleet(args, '', { FLEET_TOKEN: given });
      assert.equal(code, 0, stderr);
    }
  assert.deepEqual(
    asked.map((each) => each.token),
    ['token-of-another', 'token-of-another', token, token, token, token],
  );
});
