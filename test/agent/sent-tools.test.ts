import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { AgentConfigSchema } from '@hermes-fleet/loop';
import { makeAgent, makeContext, makeTask, say, scriptedServer } from '@hermes-fleet/loop/testing';
import { createMcpPool } from '@hermes-fleet/mcp';
import { createPeerRegistry } from '@hermes-fleet/peers';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { silentLog as log, tempDir } from '@hermes-fleet/protocol/testing';
import { loadYamlConfig } from '@hermes-fleet/service';
import { z } from 'zod';
import { createAgentTools } from '../../libs/agent/loop/src/built-in-tools.ts';
import { sentSchema } from '../../libs/agent/loop/src/run/sent-schema.ts';
import { createExternalTools } from '../../services/profile/src/external-tools.ts';
import { openTestLedger } from '../support/ledger-run.ts';

const ROOT = join(import.meta.dirname, '../..');
const Sent = z.looseObject({
  function: z.looseObject({
    name: z.string(),
    description: z.string(),
    parameters: z.record(z.string(), z.json()),
  }),
});

/** The MCP servers of a shipped profile, which all tasks share here. */
function shippedServers(dir: string) {
  const values: Record<string, string> = { HERMES_WORKSPACE_DIR: dir, WORKSPACE: dir };
  const file = join(ROOT, 'deploy/profiles/neo/config.yaml');
  const env = { read: (name: string) => values[name] };
  const { servers } = loadYamlConfig({ file, schema: AgentConfigSchema, env }).value.mcp;
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, { ...server, scope: 'profile' as const }]),
  );
}

/** The schemas of the tools that an agent with everything enabled has, and the tools of the request of its model. */
async function toolsOf(t: TestContext) {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'mcp'));
  const ledger = openTestLedger(join(dir, 'ledger.db'));
  t.after(() => ledger.close());
  const servers = shippedServers(dir);
  const pool = createMcpPool({ servers, clock, log });
  t.after(() => pool.close());
  const url = 'http://127.0.0.1:9/jsonrpc';
  const model = await scriptedServer(t, () => say('Nothing to do.'));
  const settings = {
    model: 'openai-compatible/m',
    api_key_env: 'MODEL_KEY',
    base_url: model.url,
    tools: { web: { search: { url: 'https://search.example/' } } },
  };
  const parsed = AgentConfigSchema.parse(settings);
  const config = { ...parsed, mcp: { ...parsed.mcp, servers } };
  const env = { read: (name: string) => (name === 'MODEL_KEY' ? 'key-1' : undefined) };
  const external = createExternalTools({
    profile: 'switch',
    fleet: FleetConfigSchema.parse({
      fleet: { server: { bind_port: 9219, auth_required: false }, agents: { neo: { url } } },
    }),
    config,
    peers: createPeerRegistry({
      ledger,
      configured: { neo: { url } },
      join: undefined,
      clock,
      log,
      self: 'switch',
    }),
    subtasks: () => assert.fail('nothing is handed over'),
    mcp: pool,
    env,
    clock,
    log,
  });
  const task = makeTask('Say hello.');
  const signal = new AbortController().signal;
  const listed = Object.keys(servers).map(async (server) => {
    assert.equal((await pool.probe(server, { maxAgeMs: 0, timeoutMs: 20_000 })).state, 'ok');
    const tools = await pool.listTools(server);
    return tools.map(({ name, inputSchema }) => [`mcp__${server}__${name}`, inputSchema] as const);
  });
  const ofServers = (await Promise.all(listed)).flat();
  const [ofFleet = []] = await Promise.all(
    (external.tools.sources ?? []).map((source) => source(task, signal)),
  );
  const { tools: own } = await createAgentTools({
    config,
    profile: 'switch',
    stateDir: dir,
    confinement: { method: 'unconfined', wrap: (command, args) => ({ command, args }) },
    model: 'm',
    runtime: { env, clock },
    subagents: [],
    hasBackground: true,
  });
  for (const { name, parameters } of [...own, ...ofFleet])
    assert.equal(sentSchema(parameters).isWrapped, false, `${name} would get its input in a wrapper`);
  const whole = new Map([
    ...[...own, ...ofFleet].map(({ name, parameters }) => [name, parameters] as const),
    ...ofServers,
  ]);
  const agent = await makeAgent(t, settings, { env, ...external.tools });
  assert.equal((await agent.executor.run(task, makeContext())).status, 'done');
  const sent = z.array(Sent).parse(model.requests[0]?.tools);
  return { whole, sent: new Map(sent.map((tool) => [tool.function.name, tool.function.parameters])) };
}

/** All that a provider reads of a schema. It refuses bounds, patterns, formats, references, dialects and more. */
const SENT_KEYS = new Set(['type', 'description', 'enum', 'properties', 'required', 'items', 'anyOf']);

const schemasIn = ({ properties, items, anyOf }: JsonObject): JsonValue[] => [
  ...Object.values(isJsonObject(properties) ? properties : {}),
  ...(items === undefined ? [] : [items]),
  ...(Array.isArray(anyOf) ? anyOf : []),
];

function refused(schema: JsonValue): string[] {
  if (!isJsonObject(schema)) return [JSON.stringify(schema)];
  return [
    ...Object.keys(schema).filter((key) => !SENT_KEYS.has(key)),
    ...(schema.type === undefined && schema.anyOf === undefined ? ['no type'] : []),
    ...schemasIn(schema).flatMap(refused),
  ];
}

/** The rules of the whole schema that the sent one lacks. */
function lost(whole: JsonValue, sent: JsonValue | undefined, path: string): string[] {
  if (!isJsonObject(whole)) return [];
  if (!isJsonObject(sent)) return [path];
  const { type, required = [], enum: values, const: value, description = '', items, properties = {} } = whole;
  const alternatives = whole.anyOf ?? whole.oneOf ?? [];
  const said = String(sent.description ?? '');
  assert.ok(Array.isArray(required) && Array.isArray(alternatives) && isJsonObject(properties));
  const { properties: sentProperties = {}, required: sentRequired = [], anyOf: sentAny = [] } = sent;
  assert.ok(isJsonObject(sentProperties) && Array.isArray(sentRequired) && Array.isArray(sentAny));
  const expected = value === undefined ? values : [value];
  return [
    ...(type === undefined || isSame(sent.type, type) ? [] : [`${path}: type`]),
    ...(expected === undefined || isSame(sent.enum, expected) ? [] : [`${path}: enum`]),
    ...(said.startsWith(String(description).trim()) ? [] : [`${path}: description`]),
    ...required.filter((name) => !sentRequired.includes(name)).map((name) => `${path}: required ${name}`),
    ...(items === undefined ? [] : lost(items, sent.items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([name, one]) =>
      lost(one, sentProperties[name], `${path}.${name}`),
    ),
    ...alternatives.flatMap((one, index) => lost(one, sentAny[index], `${path}|${index}`)),
  ];
}

const isSame = (a: JsonValue | undefined, b: JsonValue): boolean => JSON.stringify(a) === JSON.stringify(b);

test('every tool is sent as every provider takes it, and nothing but bounds is lost', {
  timeout: 120_000,
}, async (t) => {
  const { whole, sent } = await toolsOf(t);
  assert.deepEqual([...sent.keys()].toSorted(), [...whole.keys()].toSorted());
  assert.ok([...sent.keys()].some((name) => name.startsWith('mcp__filesystem__')));
  assert.ok([...sent.keys()].some((name) => name.startsWith('mcp__memory__')));
  assert.ok(sent.has('fleet_send') && sent.has('a2a_call') && sent.has('progress_update'));
  for (const [name, schema] of sent) {
    assert.deepEqual(refused(schema), [], name);
    assert.ok(schema.type === 'object' && isJsonObject(schema.properties), name);
    assert.deepEqual(lost(whole.get(name) ?? null, schema, name), []);
  }
});
