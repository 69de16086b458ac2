import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fieldErrors } from '@hermes-fleet/protocol';
import { FleetConfigSchema } from './fleet-yaml.ts';
import { normalizePeerUrl, samePeerUrl } from './peer-url.ts';
import { tierOf } from './tier.ts';

const server = { bind_port: 9220, token_env: 'A2A_HERMES_TOKEN_NEO' };
const neighbour = { url: 'http://127.0.0.1:9219/jsonrpc', token_env: 'A2A_HERMES_TOKEN_SWITCH' };

function problems(fleet: object): string[] {
  const parsed = FleetConfigSchema.safeParse({ fleet });
  return parsed.success ? [] : fieldErrors(parsed.error).map(({ path, reason }) => `${path}: ${reason}`);
}

describe('fleet.yaml', () => {
  it('accepts an example and fills in the defaults', () => {
    const { fleet } = FleetConfigSchema.parse({
      fleet: {
        enabled: true,
        response_handler: 'agent',
        server: { bind_host: '127.0.0.1', auth_required: true, ...server },
        agents: {
          switch: { ...neighbour, agent_card_url: 'http://127.0.0.1:9219/.well-known/agent-card.json' },
        },
      },
    });
    assert.equal(fleet.limits.max_concurrent_tasks, 4);
    assert.equal(fleet.routing.tiers.small_below_tokens, 2_000);
    assert.deepEqual(fleet.tiers, ['haiku', 'sonnet', 'opus']);
    assert.equal(fleet.announce.ttl_s, 90);
    assert.deepEqual(fleet.queue, { ageing_s: 60, max_wait_s: 60, max_waiting: 1_000 });
    assert.equal(fleet.join, undefined);
  });

  const wrong: [string, object, RegExp][] = [
    ['an unknown key', { server, colour: 'red' }, /colour/],
    [
      "'no' as a boolean",
      { server: { ...server, auth_required: 'no' } },
      /fleet\.server\.auth_required: .*boolean/,
    ],
    ['no port', { server: { token_env: 'T' } }, /bind_port: is required/],
    ['port 0', { server: { ...server, bind_port: 0 } }, /fleet\.server\.bind_port/],
    ['port 65536', { server: { ...server, bind_port: 65_536 } }, /fleet\.server\.bind_port/],
    ['no server on a profile that listens', {}, /fleet\.server: is required/],
    [
      'managed',
      { server, agents: { n: { ...neighbour, managed: true } } },
      /agents\.n\.managed: is not used here: run the worker/,
    ],
    ['mode', { server, agents: { n: { ...neighbour, mode: 'x' } } }, /agents\.n\.mode: .*response_handler/],
    [
      'repo_path',
      { server, agents: { n: { ...neighbour, repo_path: '/x' } } },
      /agents\.n\.repo_path: .*workspace/,
    ],
    [
      'an open bind without auth',
      { server: { bind_port: 1, bind_host: '0.0.0.0', auth_required: false } },
      /only on loopback/,
    ],
    ['authentication without callers', { server: { bind_port: 9220 } }, /no caller could log in/],
    [
      'a token in place of its name',
      { server: { ...server, token_env: 'abc-123' } },
      /name of an environment variable/,
    ],
    [
      'two peers at one address',
      { server, agents: { a: { url: 'http://h:1/jsonrpc' }, b: { url: 'http://h:1' } } },
      /agents\.b\.url: is the address of a too/,
    ],
    [
      "a peer at this profile's own port",
      { server, agents: { a: { url: 'http://localhost:9220' } } },
      /own port 9220/,
    ],
    ['an unknown tier', { server, tier: 'gpt' }, /fleet\.tier: is not a tier/],
    [
      'a priority with an unknown tier',
      { server, routing: { tiers: { by_priority: { low: 'x' } } } },
      /by_priority\.low: is not a tier/,
    ],
    ['a tier twice', { server, tiers: ['a', 'a'] }, /fleet\.tiers: names a tier twice/],
    ['an invalid address', { server, agents: { a: { url: 'neo:9220' } } }, /agents\.a\.url: must be an http/],
  ];
  const caller = { token_env: 'T', scopes: ['join'] };
  const more: [string, object, RegExp][] = [
    [
      'an invalid join address',
      { server, join: { endpoints: ['http://*@evil'] } },
      /endpoints\[0\]: must be an/,
    ],
    ['a join without a list', { server, join: {} }, /fleet\.join\.endpoints/],
    ['an unknown key of join', { server, join: { endpoints: ['http://a:1'], token: 'x' } }, /token/],
    [
      'an invalid speaks_for',
      { server: { ...server, callers: { tank: { ...caller, speaks_for: ['a b'] } } } },
      /callers\.tank\.speaks_for\[0\]: must be a name/,
    ],
    [
      'a caller with the name of the shared one',
      { server: { ...server, callers: { peer: caller } } },
      /callers\.peer: is the name of the caller with the shared token/,
    ],
    ['a peer called auto', { server, agents: { auto: neighbour } }, /agents\.auto: Invalid key/],
    ['a wait of zero', { server, queue: { max_wait_s: 0 } }, /fleet\.queue\.max_wait_s/],
    ['a wait of more than a day', { server, queue: { max_wait_s: 86_401 } }, /fleet\.queue\.max_wait_s/],
    ['a limit of zero waiting tasks', { server, queue: { max_waiting: 0 } }, /fleet\.queue\.max_waiting/],
  ];
  it('accepts join endpoints and speaks_for', () => {
    const { fleet } = FleetConfigSchema.parse({
      fleet: {
        server: { ...server, callers: { tank: { ...caller, speaks_for: ['worker-*'] }, mouse: caller } },
        join: { endpoints: ['http://127.0.0.1:*', 'http://*.workers.internal:9230'], token_env: 'T' },
      },
    });
    assert.deepEqual(fleet.server?.callers?.tank?.speaks_for, ['worker-*']);
    assert.deepEqual(fleet.server?.callers?.mouse?.speaks_for, []);
    assert.equal(fleet.join?.token_env, 'T');
  });
  for (const [what, fleet, message] of [...wrong, ...more])
    it(`refuses ${what}`, () => assert.match(problems(fleet).join('\n'), message));

  it('reports the problems of fields and of cross-checks at once', () => {
    const found = problems({
      server: { bind_port: 'x', bind_host: '0.0.0.0', auth_required: false },
      agents: { a: { ...neighbour, mode: 'x' }, b: { url: 'http://127.0.0.1:9219' } },
      tier: 'gpt',
    });
    for (const part of ['bind_port', 'auth_required', 'agents.a.mode', 'agents.b.url', 'fleet.tier'])
      assert.ok(
        found.some((line) => line.includes(part)),
        `${part} in ${found.join('\n')}`,
      );
  });

  it('requires no server if the profile only sends', () =>
    assert.deepEqual(problems({ enabled: false }), []));
  it('allows disabled authentication on loopback', () =>
    assert.deepEqual(problems({ server: { bind_port: 9220, auth_required: false } }), []));
});

describe('peer addresses', () => {
  for (const url of [
    'http://neo:9220',
    'http://neo:9220/',
    'http://neo:9220/jsonrpc',
    'http://neo:9220/jsonrpc/',
  ])
    it(`${url} means /jsonrpc`, () => assert.equal(normalizePeerUrl(url), 'http://neo:9220/jsonrpc'));
  it('keeps a path before /jsonrpc', () =>
    assert.equal(normalizePeerUrl('https://h/a2a/neo'), 'https://h/a2a/neo/jsonrpc'));
  it('equal for all loopback names', () => {
    assert.ok(samePeerUrl('http://localhost:1/', 'http://127.0.0.1:1/jsonrpc'));
    assert.ok(!samePeerUrl('http://localhost:1/', 'http://127.0.0.1:2/'));
  });
});

describe('the tier of a model', () => {
  const config = (extra: object) => FleetConfigSchema.parse({ fleet: { enabled: false, ...extra } });
  it('is fleet.tier', () => assert.equal(tierOf(config({ tier: 'opus' }), 'offline/runbook'), 'opus'));
  it('is the only tier in the model ID', () =>
    assert.equal(tierOf(config({}), 'anthropic/claude-sonnet-4-20250514'), 'sonnet'));
  it('is never guessed', () =>
    assert.throws(() => tierOf(config({}), 'offline/runbook'), /in no tier: set fleet.tier/));
});
