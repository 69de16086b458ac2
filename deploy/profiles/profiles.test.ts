import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { initKeys, memberEnv, planFleet, TRADER } from '@hermes-fleet/cli';
import { FleetConfigSchema, normalizePeerUrl, resolveTokens } from '@hermes-fleet/fleet-config';
import { memberCard, profileDir, readMemberEnvironment } from '@hermes-fleet/gateway/member';
import { AgentConfigSchema, isContextPlaceholder, SharedRepositories } from '@hermes-fleet/loop';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { SHIPPED_PROFILES, SHIPPED_SERVICES } from '../../test/support/shipped.ts';

const folder = import.meta.dirname;
const load = (profile: string, env: NodeJS.ProcessEnv) =>
  loadYamlConfig({
    file: join(folder, profile === TRADER ? '../trader' : profile, 'fleet.yaml'),
    schema: FleetConfigSchema,
    env: createSecretEnv(env),
  }).value;

const IN_CONTAINERS = {
  BIND_HOST: '0.0.0.0',
  NATS_HOST: 'nats',
  ...Object.fromEntries(SHIPPED_SERVICES.map((name) => [`${name.toUpperCase()}_HOST`, name])),
};

/** The configured peers: every profile knows every other one, and switch and the trader know each other. */
const peersOf = (name: string): string[] => {
  if (name === TRADER) return ['switch'];
  const others = SHIPPED_PROFILES.filter((profile) => profile !== name);
  return (name === 'switch' ? [...others, TRADER] : others).toSorted();
};

test('services know each other by their public URLs', () => {
  for (const env of [{}, IN_CONTAINERS, { NEO_PORT: '10220', SWITCH_PORT: '10219', TRADER_PORT: '10223' }]) {
    const configs = new Map(SHIPPED_SERVICES.map((profile) => [profile, load(profile, env)]));
    for (const [profile, config] of configs) {
      assert.deepEqual(Object.keys(config.fleet.agents).sort(), peersOf(profile));
      for (const [name, agent] of Object.entries(config.fleet.agents)) {
        const own = configs.get(name)?.fleet.server?.public_url ?? '';
        assert.equal(normalizePeerUrl(agent.url), normalizePeerUrl(own));
      }
    }
  }
});

test('the shipped file for all profiles has no repositories', () => {
  const file = join(folder, 'repositories.yaml');
  const { value } = loadYamlConfig({ file, schema: SharedRepositories, env: createSecretEnv({}) });
  assert.deepEqual(value, { repositories: {} });
});

test('only switch orchestrates, and every profile has its tier and port', () => {
  const shipped = SHIPPED_PROFILES.map((profile) => {
    const { fleet } = load(profile, {});
    return [profile, fleet.orchestrate, fleet.tier, fleet.server?.bind_port];
  });
  assert.deepEqual(shipped, [
    ['switch', true, 'sonnet', 9219],
    ['neo', false, 'haiku', 9220],
    ['morpheus', false, 'sonnet', 9221],
    ['trinity', false, 'opus', 9222],
  ]);
});

test('the generated keys hold every token that the services name', (t) => {
  const dir = tempDir(t, { prefix: 'profiles-' });
  const plan = planFleet({ root: join(folder, '../..'), dir });
  const nats = { storeDir: '/data', host: '127.0.0.1', port: 4222, monitorPort: 8222, syncAlways: true };
  initKeys({ dir: plan.keysDir, services: SHIPPED_SERVICES, nats });
  for (const member of plan.members) {
    const env = memberEnv(plan, member);
    const tokens = resolveTokens(load(member.name, env), createSecretEnv(env));
    assert.deepEqual(tokens.problems, [], member.name);
    assert.deepEqual(tokens.warnings, [], member.name);
    const peers = peersOf(member.name);
    assert.deepEqual(tokens.callers.map(({ name }) => name).sort(), [...peers, 'operator'].sort());
    assert.equal(Object.values(tokens.peers).filter(({ token }) => token !== undefined).length, peers.length);
  }
});

test('the operator has all scopes, a profile only those for tasks', () => {
  const callers = load('neo', {}).fleet.server?.callers ?? {};
  assert.deepEqual(callers.operator?.scopes, ['announce', 'dispatch', 'read', 'join']);
  assert.deepEqual(callers.switch?.scopes, ['announce', 'dispatch', 'read']);
});

test('only the operator may decide through switch, and the trader may only announce itself there', () => {
  const callers = Object.entries(load('switch', {}).fleet.server?.callers ?? {});
  const deciders = callers.filter(([, { scopes }]) => scopes.some((scope) => scope.startsWith('trader:')));
  assert.deepEqual(
    deciders.map(([name, { scopes }]) => [name, scopes.filter((scope) => scope.startsWith('trader:'))]),
    [['operator', ['trader:read', 'trader:decide', 'trader:override']]],
  );
  assert.deepEqual(load('switch', {}).fleet.server?.callers?.trader?.scopes, ['announce']);
});

for (const profile of SHIPPED_PROFILES) {
  test(`${profile}: the agent configuration loads, with the shipped MCP servers`, () => {
    const env = {
      HERMES_WORKSPACE_DIR: '/workspace',
      A2A_HERMES_TOKEN_SWITCH_TO_TRADER: 'the-token-of-switch',
    };
    const { value } = loadYamlConfig({
      file: join(folder, profile, 'config.yaml'),
      schema: AgentConfigSchema,
      env: createSecretEnv(env),
      isKept: isContextPlaceholder,
    });
    assert.equal(value.model, 'offline/runbook');
    const { trader, ...own } = value.mcp.servers;
    assert.deepEqual(
      Object.entries(own).map(([name, server]) => [
        name,
        server.scope,
        ...('command' in server ? [server.command, server.args] : []),
      ]),
      [
        ['filesystem', 'task', 'fleet-mcp-filesystem', [`\${WORKSPACE}`]],
        ['memory', 'profile', 'fleet-mcp-memory', undefined],
      ],
    );
    const expected = {
      url: 'http://127.0.0.1:9223/mcp',
      headers: { Authorization: 'Bearer the-token-of-switch' },
      caller_scope: 'trader:decide',
    };
    assert.deepEqual(trader, profile === 'switch' ? expected : undefined);
  });

  test(`${profile}: its identity yields an agent card`, () => {
    const environment = readMemberEnvironment(profile, (home) => profileDir(home, profile), {
      HERMES_HOME: join(folder, '..'),
    });
    const card = memberCard(environment, createSecretEnv({}));
    assert.equal(card.name, profile);
    const replica = memberCard(environment, createSecretEnv({ HERMES_NAME: `${profile}-2` }));
    // There is one orchestrator, and the folder of switch serves it alone.
    assert.equal(replica.name, profile === 'switch' ? 'switch' : `${profile}-2`);
    assert.ok(card.description.length > 20);
    assert.equal(card.skills.length, 2);
  });
}
