import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { createSecretEnv } from '@hermes-fleet/service';
import { acceptedVariables, callerNamed, resolveTokens } from './credentials.ts';
import { FleetConfigSchema } from './fleet-yaml.ts';

const env = (values: Record<string, string>) => ({ read: (name: string) => values[name] });
const config = (fleet: object) => FleetConfigSchema.parse({ fleet });
const LONG = 'a-token-of-some-length';

describe('tokens', () => {
  it('resolves a shared token to the caller "peer", and the tokens and other keys of peers', () => {
    const found = resolveTokens(
      config({
        server: { bind_port: 9220, token_env: 'OWN' },
        agents: {
          neo: { url: 'http://neo:9220', token_env: 'NEO' },
          open: { url: 'http://open:1', max_tasks: 2 },
        },
      }),
      env({ OWN: LONG, NEO: `${LONG}2` }),
    );
    assert.deepEqual(found.problems, []);
    assert.deepEqual(found.callers, [
      { name: 'peer', scopes: ['announce', 'dispatch', 'read'], secret: LONG },
    ]);
    assert.deepEqual(found.peers, {
      neo: { url: 'http://neo:9220/jsonrpc', token: `${LONG}2` },
      open: { url: 'http://open:1/jsonrpc', maxTasks: 2 },
    });
  });

  it('reports every missing, short and doubled token at once, naming the variable', () => {
    const { problems } = resolveTokens(
      config({
        server: {
          bind_port: 9220,
          callers: {
            a: { token_env: 'A', scopes: ['read'] },
            b: { token_env: 'B', scopes: ['read'] },
            c: { token_env: 'C', scopes: ['read'] },
          },
        },
        agents: { neo: { url: 'http://neo:9220', token_env: 'MISSING' } },
        nats: { servers: ['nats://n:4222'], user_env: 'NATS_USER', password_env: 'NATS_PASSWORD' },
      }),
      env({ NATS_USER: 'me', A: LONG, B: LONG, C: 'short' }),
    );
    const text = problems.map(({ path, reason }) => `${path}: ${reason}`).join('\n');
    assert.match(text, /fleet\.agents\.neo\.token_env: MISSING is not set/);
    assert.match(text, /callers\.c\.token_env: C is shorter than 16/);
    assert.match(text, /callers\.b\.token_env: holds the same token as a/);
    assert.match(text, /fleet\.nats\.password_env: NATS_PASSWORD is not set/);
    assert.equal(problems.length, 4);
  });

  it('reads the key that signs push notifications, and names one that is no key', () => {
    const seed = Buffer.alloc(32, 7);
    const resolve = (value: string) =>
      resolveTokens(
        config({ server: { bind_port: 9220, token_env: 'OWN' }, push: { signing_key_env: 'KEY' } }),
        env({ OWN: LONG, KEY: value }),
      );
    for (const prefix of ['', 'whsk_'])
      assert.deepEqual(resolve(`${prefix}${seed.toString('base64')}`).pushKey, seed);
    for (const wrong of ['c2hvcnQ=', `whpk_${seed.toString('base64')}`, 'x'.repeat(44)]) {
      const { pushKey, problems } = resolve(wrong);
      assert.equal(pushKey, undefined);
      assert.deepEqual(
        problems.map(({ path }) => path),
        ['fleet.push.signing_key_env'],
      );
      assert.ok(!JSON.stringify(problems).includes(wrong));
    }
  });

  it('resolves the login at the broker, with any length', () => {
    const nats = { servers: ['nats://n:4222'], user_env: 'U', password_env: 'P' };
    const { bus, problems } = resolveTokens(
      config({ server: { bind_port: 1, auth_required: false }, nats }),
      env({ U: 'me', P: 'pw' }),
    );
    assert.deepEqual([bus, problems], [{ user: 'me', pass: 'pw' }, []]);
  });

  it('warns if one variable is used for several profiles', () => {
    const { warnings } = resolveTokens(
      config({
        server: { bind_port: 9220, token_env: 'A2A_TOKEN' },
        agents: { neo: { url: 'http://neo:9220', token_env: 'A2A_TOKEN' } },
      }),
      env({ A2A_TOKEN: LONG }),
    );
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /A2A_TOKEN is shared by this profile, neo/);
  });

  const HASH = `sha256:${'ab'.repeat(32)}`;
  const odd: [what: string, value: string, shown: RegExp | undefined, accepted: RegExp | undefined][] = [
    ['a valid token', LONG, undefined, undefined],
    ['a hash', HASH, /holds a hash, which is only for tokens that are accepted/, undefined],
    ['a broken hash', 'sha256:0123456789abcdef', /holds a hash/, /is not "sha256:" and 64 hex digits/],
    ['a token with a space', 'a-token of-some-length', /no header can carry/, /no header can carry/],
    ['a token that is not ASCII', 'ein-schlüssel-für-neo', /no header can carry/, /no header can carry/],
  ];
  for (const [what, value, shown, accepted] of odd)
    it(`takes ${what} as a token that is ${shown ? '' : 'shown or '}${accepted ? 'neither' : 'accepted'}`, () => {
      const { problems } = resolveTokens(
        config({
          server: { bind_port: 1, token_env: 'T' },
          agents: { neo: { url: 'http://neo:1', token_env: 'T' } },
          join: { endpoints: ['http://127.0.0.1:*'], token_env: 'T' },
        }),
        env({ T: value }),
      );
      const at = (path: string) => problems.find((problem) => problem.path === path)?.reason;
      for (const path of ['fleet.agents.neo.token_env', 'fleet.join.token_env'])
        if (shown) assert.match(at(path) ?? '', shown);
      if (accepted) assert.match(at('fleet.server.token_env') ?? '', accepted);
      assert.equal(problems.length, (shown ? 2 : 0) + (accepted ? 1 : 0));
      assert.ok(!JSON.stringify(problems).includes(value));
    });

  it('finds a duplicate token also if one is given as its hash', () => {
    const hash = `sha256:${createHash('sha256').update(LONG).digest('hex')}`;
    const scopes = ['read'];
    const { problems } = resolveTokens(
      config({
        server: { bind_port: 1, callers: { a: { token_env: 'A', scopes }, b: { token_env: 'B', scopes } } },
      }),
      env({ A: LONG, B: hash }),
    );
    assert.match(problems[0]?.reason ?? '', /holds the same token as a/);
  });

  it('reports an unreadable file together with the other problems', () => {
    const { problems } = resolveTokens(
      config({
        server: { bind_port: 1, token_env: 'OWN' },
        agents: { neo: { url: 'http://neo:1', token_env: 'MISSING' } },
      }),
      createSecretEnv({ OWN_FILE: '/nowhere/at/all' }),
    );
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['fleet.server.token_env', 'fleet.agents.neo.token_env'],
    );
    assert.match(problems[0]?.reason ?? '', /OWN_FILE: \/nowhere\/at\/all can't be read \(ENOENT\)/);
  });

  it('resolves the join policy and its token', () => {
    const { join, callers, peers } = resolveTokens(
      config({
        server: {
          bind_port: 9219,
          public_url: 'http://switch:9219',
          callers: {
            tank: { token_env: 'T', scopes: ['join'], speaks_for: ['worker-*'] },
            neo: { token_env: 'N', scopes: ['announce'] },
          },
        },
        agents: { neo: { url: 'http://neo:1', agent_card_url: 'http://cards/neo.json' } },
        join: { endpoints: ['http://127.0.0.1:*'], token_env: 'J' },
      }),
      env({ T: `${LONG}-t`, N: `${LONG}-n`, J: LONG }),
    );
    assert.deepEqual(join, {
      callers: {
        tank: { joins: true, speaksFor: ['worker-*'] },
        neo: { joins: false, speaksFor: [] },
      },
      endpoints: ['http://127.0.0.1:*'],
      own: ['http://127.0.0.1:9219/jsonrpc', 'http://switch:9219/jsonrpc'],
      token: LONG,
    });
    assert.deepEqual(callers.find(({ name }) => name === 'tank')?.scopes, ['join', 'announce']);
    assert.deepEqual(peers.neo, { url: 'http://neo:1/jsonrpc', cardUrl: 'http://cards/neo.json' });
  });

  it('lists the variables of accepted tokens, if any', () => {
    const scopes = ['read'];
    const server = { bind_port: 1, token_env: 'OWN', callers: { a: { token_env: 'A', scopes } } };
    assert.deepEqual(acceptedVariables(config({ server })), [
      { path: 'fleet.server.token_env', variable: 'OWN', caller: 'peer' },
      { path: 'fleet.server.callers.a.token_env', variable: 'A', caller: 'a' },
    ]);
    assert.deepEqual(acceptedVariables(config({ server, enabled: false })), []);
    assert.deepEqual(acceptedVariables(config({ server: { ...server, auth_required: false } })), []);
  });

  it('accepts no tokens if authentication is disabled', () => {
    const { callers } = resolveTokens(config({ server: { bind_port: 1, auth_required: false } }), env({}));
    assert.deepEqual(callers, []);
  });

  it('finds a caller by name with its current scopes', () => {
    const known = config({
      server: { bind_port: 1, callers: { a: { token_env: 'A', scopes: ['dispatch'] } } },
    });
    assert.deepEqual([...callerNamed(known, 'a').scopes], ['dispatch']);
    assert.deepEqual([...callerNamed(known, 'peer').scopes], ['announce', 'dispatch', 'read']);
    assert.deepEqual([...callerNamed(known, 'gone').scopes], []);
  });
});
