import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetConfigSchema } from './config.ts';
import { callerNamed, resolveTokens } from './credentials.ts';

const env = (values: Record<string, string>) => ({ read: (name: string) => values[name] });
const config = (fleet: object) => FleetConfigSchema.parse({ fleet });
const LONG = 'a-token-of-some-length';

describe('tokens', () => {
  it('resolves a shared token to the caller "peer", and the tokens of peers', () => {
    const found = resolveTokens(
      config({
        server: { bind_port: 9220, token_env: 'OWN' },
        agents: { neo: { url: 'http://neo:9220', token_env: 'NEO' }, open: { url: 'http://open:1' } },
      }),
      env({ OWN: LONG, NEO: `${LONG}2` }),
    );
    assert.deepEqual(found.problems, []);
    assert.deepEqual(found.callers, [
      { name: 'peer', scopes: ['announce', 'dispatch', 'read'], secret: LONG },
    ]);
    assert.deepEqual(found.peers, {
      neo: { url: 'http://neo:9220/jsonrpc', token: `${LONG}2` },
      open: { url: 'http://open:1/jsonrpc' },
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

  it('resolves the login at the broker, however short the name', () => {
    const nats = { servers: ['nats://n:4222'], user_env: 'U', password_env: 'P' };
    const { bus, problems } = resolveTokens(
      config({ server: { bind_port: 1, auth_required: false }, nats }),
      env({ U: 'me', P: 'pw' }),
    );
    assert.deepEqual([bus, problems], [{ user: 'me', pass: 'pw' }, []]);
  });

  it('warns when one variable serves several profiles', () => {
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

  it('accepts nobody by token where auth is off', () => {
    const { callers } = resolveTokens(config({ server: { bind_port: 1, auth_required: false } }), env({}));
    assert.deepEqual(callers, []);
  });

  it('knows a caller again after a restart, with the scopes of today', () => {
    const known = config({
      server: { bind_port: 1, callers: { a: { token_env: 'A', scopes: ['dispatch'] } } },
    });
    assert.deepEqual([...callerNamed(known, 'a').scopes], ['dispatch']);
    assert.deepEqual([...callerNamed(known, 'peer').scopes], ['announce', 'dispatch', 'read']);
    assert.deepEqual([...callerNamed(known, 'gone').scopes], []);
  });
});
