import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { AgentConfigSchema } from '@hermes-fleet/loop';
import type { McpPool } from '@hermes-fleet/mcp';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { createExternalTools } from './external-tools.ts';

const unused = () => assert.fail('not to be called');

const NEO = { url: 'http://127.0.0.1:9220/jsonrpc' };

function externalTools(o: {
  config?: Parameters<typeof AgentConfigSchema.parse>[0];
  endpoint?: { name: string; url: string };
  browser?: 'ok' | 'error';
}) {
  const peer = {
    name: 'neo',
    standing: 'configured' as const,
    card: undefined,
    endpoint: o.endpoint,
    announce: undefined,
    receivedAt: undefined,
    circuitOpenUntil: 0,
    inFlight: 0,
    blockedRate: 0,
    latencyMs: 0,
  };
  const peers: PeerRegistry = {
    list: () => [peer],
    get: () => peer,
    record: unused,
    onChange: unused,
    isMember: unused,
    health: unused,
    ownerOf: unused,
    admitted: unused,
    removed: unused,
    membership: unused,
    cardUrl: unused,
    recordCard: unused,
  };
  const health: ReturnType<McpPool['health']> = o.browser
    ? { browser: { state: o.browser, detail: '', checkedAt: 1 } }
    : {};
  const mcp: McpPool = {
    names: () => [],
    health: () => health,
    probe: unused,
    onChange: unused,
    onToolsChanged: unused,
    listTools: unused,
    callTool: unused,
    release: unused,
    pids: () => [],
    close: unused,
  };
  return createExternalTools({
    profile: 'switch',
    fleet: FleetConfigSchema.parse({
      fleet: { server: { bind_port: 9219, auth_required: false }, agents: { neo: NEO } },
    }),
    config: AgentConfigSchema.parse(o.config ?? {}),
    peers,
    mcp,
    subtasks: unused,
    env: { read: () => undefined },
    clock: systemClock,
    log: silentLog,
  });
}

const FLEET = ['fleet_peers', 'fleet_route', 'fleet_send', 'fleet_discard'];
const words = (o: Parameters<typeof externalTools>[0]): readonly string[] =>
  externalTools(o).tools.capabilities?.() ?? [];
const endpoint = { name: 'neo', ...NEO };

test('only usable tools are announced: fleet tools with a peer, a browser while it is healthy', () => {
  assert.deepEqual(words({ endpoint }).slice(0, 4), FLEET);
  assert.ok(words({ endpoint }).includes('a2a_call'));
  assert.ok(words({}).every((word) => !word.startsWith('fleet_')));
  assert.ok(words({ browser: 'ok' }).includes('browser'));
  assert.ok(!words({ browser: 'error' }).includes('browser'));
});

test('tools that config.yaml disables are neither announced nor offered', () => {
  const off = { enabled: false };
  const config = { tools: { fleet: off, a2a: off, mcp: off } };
  assert.deepEqual(words({ endpoint, browser: 'ok', config }), []);
  const agents = { reviews: { url: 'http://reviews.internal:4000', description: 'reviews code' } };
  const listed = (a2a: object) => externalTools({ config: { a2a } }).tools.remotes?.list();
  assert.deepEqual(listed({ agents }), [{ name: 'reviews', description: 'reviews code' }]);
  assert.deepEqual(listed({ enabled: false, agents }), []);
});

test('a name of both a peer and a registered agent is reported at start', () => {
  const agents = { neo: { url: 'http://elsewhere.internal:4000', description: 'another neo' } };
  const { notes } = externalTools({ endpoint, config: { a2a: { agents } } });
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? '', /^neo is a registered A2A agent and a peer: delegate goes to the agent/);
  assert.deepEqual(externalTools({ endpoint }).notes, []);
});
