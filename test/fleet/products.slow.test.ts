import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { shell, tool } from '../support/agent-work.ts';
import { startFleet } from '../support/fleet.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';

const GUEST = 'A2A_HERMES_TOKEN_GUEST';
const GUEST_TOKEN = 'token-of-the-guest-0123456789';
const LARGE = 1_500_000;

interface Part {
  readonly raw?: string;
  readonly url?: string;
  readonly filename?: string;
  readonly mediaType?: string;
}
interface Artifact {
  readonly name: string;
  readonly description?: string;
  readonly parts: readonly Part[];
}

function withGuest(profile: string, shipped: string): string {
  if (profile !== 'switch') return shipped;
  const config = parse(shipped);
  config.fleet.server.callers.guest = { token_env: GUEST, scopes: ['dispatch', 'read'] };
  return stringify(config);
}

test('the files that a worker publishes are at the profile where the task entered, for its caller alone', {
  timeout: 200_000,
}, async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo'], {
    inProcess: true,
    fleetYaml: withGuest,
    secrets: { switch: { [GUEST]: GUEST_TOKEN } },
  });
  const caller = fleet.target('switch');
  const brief = [
    shell(`printf 'a,b' > small.csv; yes | head -c ${LARGE} > large`),
    shell('wc -c small.csv large'),
    tool('publish_file', { path: 'small.csv', description: 'the table' }),
    tool('publish_file', { path: 'large' }),
  ].join('\n\n');
  const { body } = await call(
    caller,
    'SendMessage',
    message(dispatch({ brief, routing: { target: 'neo' } })),
  );
  const { task } = body.result;
  const result = resultOf(task);
  assert.deepEqual([result.status, result.executed_by], ['done', 'neo'], JSON.stringify(result));
  const artifacts: readonly Artifact[] = task.artifacts;
  const own = artifacts.filter(({ name }) => name !== 'task-result' && name !== 'text');
  assert.deepEqual(
    own.map(({ name, description }) => [name, description]),
    [
      ['small.csv', 'the table'],
      ['large', undefined],
    ],
  );
  const [small, large] = own.map(({ parts }) => parts[0]);
  assert.deepEqual(small, { raw: btoa('a,b'), filename: 'small.csv', mediaType: 'text/csv' });
  const url = large?.url ?? assert.fail(JSON.stringify(large).slice(0, 200));
  assert.equal(new URL(url).origin, new URL(caller.url).origin);
  assert.equal(large?.mediaType, 'text/plain');

  const get = (token: string | undefined) =>
    fetch(url, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
  const content = Buffer.from(await (await get(caller.token)).arrayBuffer());
  assert.equal(digest(content), digest(Buffer.alloc(LARGE, 'y\n')));
  assert.equal((await get(GUEST_TOKEN)).status, 404);
  assert.equal((await get(undefined)).status, 401);

  const again = (await call(caller, 'GetTask', { id: task.id })).body.result.artifacts;
  assert.deepEqual(again, artifacts, 'GetTask shows the same');
});

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
