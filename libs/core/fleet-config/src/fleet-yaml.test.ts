import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { type Credentials, resolveTokens } from './credentials.ts';
import { type FleetConfig, FleetConfigSchema } from './fleet-yaml.ts';

const TOKENS = {
  A2A_HERMES_TOKEN_NEO: 'the-shared-token-of-neo',
  A2A_HERMES_TOKEN_SWITCH_TO_NEO: 'what-switch-shows-to-neo',
  A2A_HERMES_TOKEN_SWITCH: 'the-shared-token-of-switch',
};

/** Reads a fleet.yaml from disk as a profile does. */
function read(
  t: TestContext,
  text: string,
  variables: NodeJS.ProcessEnv = TOKENS,
): { fleet?: FleetConfig['fleet']; credentials?: Credentials; problems: string[] } {
  const file = join(tempDir(t), 'fleet.yaml');
  writeFileSync(file, text);
  const env = createSecretEnv(variables);
  try {
    const { value, locate } = loadYamlConfig({ file, schema: FleetConfigSchema, env });
    const credentials = resolveTokens(value, env);
    return {
      fleet: value.fleet,
      credentials,
      problems: credentials.problems.map(({ path, reason }) => `${locate(path)}: ${reason}`),
    };
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    return { problems: thrown.fields.map(({ path, reason }) => `${path}: ${reason}`) };
  }
}

/** An example with comments and a variable. */
const EXAMPLE = `fleet:
  enabled: true                      # false: this profile sends, and runs no listener
  response_handler: agent            # agent = the loop with tools | llm = one stateless model reply, no tools | echo
  server:
    bind_host: 127.0.0.1
    bind_port: 9220                  # required, 1..65535, no default
    auth_required: true
    token_env: A2A_HERMES_TOKEN_NEO  # one shared token, or:
    callers:                         # (+) one token per caller, with scopes
      switch: { token_env: A2A_HERMES_TOKEN_SWITCH_TO_NEO, scopes: [announce, dispatch, read] }
  agents:
    switch:
      url: http://\${SWITCH_HOST:-127.0.0.1}:9219/jsonrpc   # with or without /jsonrpc: both mean the same
      agent_card_url: http://127.0.0.1:9219/.well-known/agent-card.json
      token_env: A2A_HERMES_TOKEN_SWITCH
`;

/** A profile that only sends. */
const SENDER = `fleet:
  enabled: false
  agents:
    neo:
      url: http://127.0.0.1:9220/jsonrpc
      agent_card_url: http://127.0.0.1:9220/.well-known/agent-card.json
      token_env: A2A_HERMES_TOKEN_NEO # profile-scoped name (see #5)
`;

describe('an example of fleet.yaml', () => {
  it('has a server, callers and a peer, with a host from the environment or its default', (t) => {
    for (const [variables, host] of [
      [TOKENS, '127.0.0.1'],
      [{ ...TOKENS, SWITCH_HOST: 'switch' }, 'switch'],
    ] as const) {
      const { fleet, credentials, problems } = read(t, EXAMPLE, variables);
      assert.deepEqual(problems, []);
      assert.deepEqual([fleet?.server?.bind_host, fleet?.server?.bind_port], ['127.0.0.1', 9220]);
      const scopes = ['announce', 'dispatch', 'read'];
      assert.deepEqual(credentials?.callers, [
        { name: 'peer', scopes, secret: TOKENS.A2A_HERMES_TOKEN_NEO },
        { name: 'switch', scopes, secret: TOKENS.A2A_HERMES_TOKEN_SWITCH_TO_NEO },
      ]);
      assert.deepEqual(credentials?.peers, {
        switch: {
          url: `http://${host}:9219/jsonrpc`,
          cardUrl: 'http://127.0.0.1:9219/.well-known/agent-card.json',
          token: TOKENS.A2A_HERMES_TOKEN_SWITCH,
        },
      });
    }
  });

  it('has a peer, with either form of its URL', (t) => {
    for (const text of [SENDER, SENDER.replace('9220/jsonrpc', '9220')]) {
      const { fleet, credentials, problems } = read(t, text);
      assert.deepEqual([problems, fleet?.enabled], [[], false]);
      assert.deepEqual(credentials?.peers, {
        neo: {
          url: 'http://127.0.0.1:9220/jsonrpc',
          cardUrl: 'http://127.0.0.1:9220/.well-known/agent-card.json',
          token: TOKENS.A2A_HERMES_TOKEN_NEO,
        },
      });
    }
  });
});

describe('an invalid fleet.yaml', () => {
  it('gets all problems at once, each with its line and the remedy', (t) => {
    const { problems } = read(
      t,
      `fleet:
  enabled: 'no'
  response_handler: agnt
  colour: red
  tiers: [haiku, haiku]
  tier: gpt
  server:
    bind_host: 0.0.0.0
    bind_port: 92.5
    auth_required: false
    token_env: abc-123
    callers:
      peer: { token_env: T, scopes: [read] }
  agents:
    auto: { url: http://a:1 }
    neo: { url: neo:9220, managed: true, mode: x, repo_path: /x }
    a: { url: http://h:1/jsonrpc }
    b: { url: http://h:1 }
  queue: { max_wait_s: 0, max_waiting: 1.5 }
  routing: { on_blocked: wait, max_attempts: 21, tiers: { by_priority: { low: gpt } } }
`,
    );
    assert.deepEqual(problems, [
      'fleet.yaml:2 fleet.enabled: "no" is text, not a boolean; write true or false',
      'fleet.yaml:3 fleet.response_handler: "agnt" is not one of agent, llm, echo; did you mean "agent"?',
      `fleet.yaml:4 fleet.colour: unknown key; remove it, or use one of ${Object.keys(FleetConfigSchema.shape.fleet.shape).slice(0, 20).join(', ')}, …`,
      'fleet.yaml:5 fleet.tiers: names a tier twice: keep one of the two',
      'fleet.yaml:6 fleet.tier: is not a tier: tiers are haiku, haiku',
      'fleet.yaml:9 fleet.server.bind_port: must be a port from 1 to 65535',
      'fleet.yaml:10 fleet.server.auth_required: may be false only on loopback, and bind_host is 0.0.0.0: set it to true, or bind to 127.0.0.1',
      'fleet.yaml:11 fleet.server.token_env: must be the name of an environment variable, not the token itself',
      'fleet.yaml:13 fleet.server.callers.peer: is the name of the caller with the shared token: choose another name',
      'fleet.yaml:15 fleet.agents.auto: this name is not allowed here: is reserved by the handshake: choose another name',
      'fleet.yaml:16 fleet.agents.neo.url: must be an http or https address',
      'fleet.yaml:16 fleet.agents.neo.managed: is not used here: run the worker as a profile of its own and list it here with url and token_env only',
      "fleet.yaml:16 fleet.agents.neo.mode: is not used here: set fleet.response_handler in the worker's own fleet.yaml",
      "fleet.yaml:16 fleet.agents.neo.repo_path: is not used here: the worker's own configuration names its workspace",
      'fleet.yaml:18 fleet.agents.b.url: is the address of a too (http://h:1/jsonrpc): each peer needs its own',
      'fleet.yaml:19 fleet.queue.max_wait_s: 0 must be more than 0',
      'fleet.yaml:19 fleet.queue.max_waiting: must be a whole number, not 1.5',
      'fleet.yaml:20 fleet.routing.on_blocked: "wait" is not one of reroute, queue, fail',
      'fleet.yaml:20 fleet.routing.max_attempts: 21 must be at most 20',
      'fleet.yaml:20 fleet.routing.tiers.by_priority.low: is not a tier: tiers are haiku, haiku',
    ]);
  });

  it('gets a ceiling for a name that no caller has, and the callers there are', (t) => {
    const spending =
      '  spending: { tokens_per_day: 5, callers: { swich: { tokens_per_day: 0 }, peer: { tokens_per_day: 9 } } }';
    const { problems } = read(t, `${EXAMPLE.trimEnd()}\n${spending}\n`);
    const line = EXAMPLE.trimEnd().split('\n').length + 1;
    assert.deepEqual(problems, [
      `fleet.yaml:${line} fleet.spending.callers.swich.tokens_per_day: its value must be more than 0`,
      `fleet.yaml:${line} fleet.spending.callers.swich: is not a caller of this profile: callers are switch, peer`,
    ]);
  });

  for (const [port, reason] of [
    ['0', 'must be a port from 1 to 65535'],
    ['65536', 'must be a port from 1 to 65535'],
    ["'9220'", 'must be a port from 1 to 65535'],
    ['', 'must be a port from 1 to 65535'],
  ])
    it(`with bind_port ${port || '(empty)'} gets the problem`, (t) => {
      const { problems } = read(t, EXAMPLE.replace('bind_port: 9220', `bind_port: ${port}`));
      assert.deepEqual(problems, [`fleet.yaml:6 fleet.server.bind_port: ${reason}`]);
    });

  it('gets the problem of every missing, short or duplicate token', (t) => {
    const { problems } = read(t, EXAMPLE, {
      A2A_HERMES_TOKEN_NEO: TOKENS.A2A_HERMES_TOKEN_NEO,
      A2A_HERMES_TOKEN_SWITCH_TO_NEO: TOKENS.A2A_HERMES_TOKEN_NEO,
      A2A_HERMES_TOKEN_SWITCH: 'fifteen-letters',
    });
    assert.deepEqual(problems, [
      'fleet.yaml:10 fleet.server.callers.switch.token_env: holds the same token as peer: callers are told apart by their token, give each its own',
      'fleet.yaml:15 fleet.agents.switch.token_env: A2A_HERMES_TOKEN_SWITCH is shorter than 16 characters: use a longer token',
    ]);
    const unset = (name: string): string =>
      `${name} is not set: export it, or put its value in the file that ${name}_FILE names`;
    assert.deepEqual(read(t, EXAMPLE, {}).problems, [
      `fleet.yaml:8 fleet.server.token_env: ${unset('A2A_HERMES_TOKEN_NEO')}`,
      `fleet.yaml:10 fleet.server.callers.switch.token_env: ${unset('A2A_HERMES_TOKEN_SWITCH_TO_NEO')}`,
      `fleet.yaml:15 fleet.agents.switch.token_env: ${unset('A2A_HERMES_TOKEN_SWITCH')}`,
    ]);
  });
});
