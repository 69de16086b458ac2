import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildAgentCard } from '@hermes-fleet/a2a';
import { AgentConfigSchema } from '@hermes-fleet/agent';
import { DEFAULT_SERVICES, initKeys, planFleet, profileEnv } from '@hermes-fleet/cli';
import { FleetConfigSchema, normalizePeerUrl, resolveTokens } from '@hermes-fleet/fleet';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';

const folder = import.meta.dirname;
const load = (profile: string, env: NodeJS.ProcessEnv) =>
  loadYamlConfig({
    file: join(folder, profile, 'fleet.yaml'),
    schema: FleetConfigSchema,
    env: createSecretEnv(env),
  }).value;

const IN_CONTAINERS = {
  BIND_HOST: '0.0.0.0',
  NATS_HOST: 'nats',
  ...Object.fromEntries(DEFAULT_SERVICES.map((name) => [`${name.toUpperCase()}_HOST`, name])),
};

test('the profiles know each other by the address that each gives for itself', () => {
  for (const env of [{}, IN_CONTAINERS, { NEO_PORT: '10220', SWITCH_PORT: '10219' }]) {
    const configs = new Map(DEFAULT_SERVICES.map((profile) => [profile, load(profile, env)]));
    for (const [profile, config] of configs) {
      const others = DEFAULT_SERVICES.filter((name) => name !== profile).sort();
      assert.deepEqual(Object.keys(config.fleet.agents).sort(), others);
      for (const [name, agent] of Object.entries(config.fleet.agents)) {
        const own = configs.get(name)?.fleet.server?.public_url ?? '';
        assert.equal(normalizePeerUrl(agent.url), normalizePeerUrl(own));
      }
    }
  }
});

test('only switch orchestrates, and every profile has its tier', () => {
  const shipped = DEFAULT_SERVICES.map((profile) => {
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

test('the keys that are made hold every token that the profiles name', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'profiles-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const plan = planFleet({ root: join(folder, '../..'), dir });
  const nats = { storeDir: '/data', host: '127.0.0.1', port: 4222, monitorPort: 8222, syncAlways: true };
  initKeys({ dir: plan.keysDir, services: DEFAULT_SERVICES, nats });
  for (const profile of plan.profiles) {
    const env = profileEnv(plan, profile);
    const tokens = resolveTokens(load(profile.name, env), createSecretEnv(env));
    assert.deepEqual(tokens.problems, [], profile.name);
    assert.deepEqual(tokens.warnings, [], profile.name);
    assert.equal(tokens.callers.length, 4);
    assert.equal(Object.values(tokens.peers).filter(({ token }) => token !== undefined).length, 3);
  }
});

test('the operator may do everything, a profile nothing but work', () => {
  const callers = load('neo', {}).fleet.server?.callers ?? {};
  assert.deepEqual(callers.operator?.scopes, ['announce', 'dispatch', 'read', 'join']);
  assert.deepEqual(callers.switch?.scopes, ['announce', 'dispatch', 'read']);
});

for (const profile of DEFAULT_SERVICES) {
  test(`${profile}: the agent's configuration loads, and its MCP servers are there`, () => {
    const env = { HERMES_APP: join(folder, '../..'), HERMES_WORKSPACE_DIR: '/workspace' };
    const { value } = loadYamlConfig({
      file: join(folder, profile, 'config.yaml'),
      schema: AgentConfigSchema,
      env: createSecretEnv(env),
    });
    assert.equal(value.model, 'offline/runbook');
    assert.deepEqual(Object.keys(value.mcp.servers), ['filesystem', 'memory']);
    for (const server of Object.values(value.mcp.servers)) {
      assert.ok('command' in server && server.args?.[0]);
      assert.ok(readFileSync(server.args[0], 'utf8').length > 0);
    }
  });

  test(`${profile}: its identity makes an agent card`, () => {
    const card = buildAgentCard({
      identity: readFileSync(join(folder, profile, 'IDENTITY.md'), 'utf8'),
      url: 'http://127.0.0.1:9220/jsonrpc',
      version: '0.0.0',
      extensions: [],
      streaming: true,
      authRequired: true,
    });
    assert.equal(card.name, profile);
    assert.ok(card.description.length > 20);
    assert.equal(card.skills.length, 2);
  });
}
