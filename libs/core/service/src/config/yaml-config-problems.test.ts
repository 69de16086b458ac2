import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { load, problems, server, write } from '../../testing/yaml-files.ts';
import { createSecretEnv } from './secret-env.ts';
import { loadYamlConfig } from './yaml-config.ts';

test('every problem is reported at once, with its line and its fix, in order', (t) => {
  const found = problems(
    t,
    `fleet:
  enabled: no
  response_handler: agnt
  servr: {}
  server:
    bind_host: \${BIND}
    bind_port: '9220'
    port: 3
    auth_required: 'no'
    auth_required: true
    callers:
      Switch: { token_env: X, scopes: [read] }
      neo:
        token_env: X
        scopes: [dispach]
  agents:
    switch:
      url: http://\${SWITCH_HOST:-127.0.0.1}:9219/jsonrpc
      tokenenv: X
    neo: { url: nope, weight: 7 }
  mcp:
    a: { command: 3 }
    b: { url: x, args: [] }
    c: { commnd: x }
`,
  );
  assert.deepEqual(found, [
    'fleet.yaml:2 fleet.enabled: "no" is text, not a boolean; write true or false',
    'fleet.yaml:3 fleet.response_handler: "agnt" is not one of agent, llm, echo; did you mean "agent"?',
    'fleet.yaml:4 fleet.servr: unknown key; did you mean "server"?',
    `fleet.yaml:6 fleet.server.bind_host: the variable BIND is not set; set it, or give a default: \${BIND:-value}`,
    'fleet.yaml:7 fleet.server.bind_port: "9220" is text because it is quoted; remove the quotes',
    'fleet.yaml:8 fleet.server.port: unknown key; did you mean "bind_port"?',
    'fleet.yaml:9 fleet.server.auth_required: "no" is text, not a boolean; write true or false',
    'fleet.yaml:10 fleet.server.auth_required: this key is already on line 9; keep one of the two',
    'fleet.yaml:12 fleet.server.callers.Switch: this name is not allowed here: it is not of the form /^[a-z]+$/',
    'fleet.yaml:15 fleet.server.callers.neo.scopes[0]: "dispach" is not one of announce, dispatch, read; did you mean "dispatch"?',
    'fleet.yaml:19 fleet.agents.switch.tokenenv: unknown key; remove it, or use one of url, weight',
    'fleet.yaml:20 fleet.agents.neo.url: "nope" is not a valid url',
    'fleet.yaml:20 fleet.agents.neo.weight: 7 must be a multiple of 5',
    'fleet.yaml:22 fleet.mcp.a.command: 3 is a number, not text; put it in quotes',
    'fleet.yaml:23 fleet.mcp.b.url: "x" is not a valid url',
    'fleet.yaml:23 fleet.mcp.b.args: this key does not go together with the others here; remove it or them',
    'fleet.yaml:24 fleet.mcp.c.command: is missing; it must be text',
    'fleet.yaml:24 fleet.mcp.c.commnd: unknown key; did you mean "command"?',
  ]);
});

const single: readonly (readonly [string, string, string])[] = [
  [
    'a missing key',
    'fleet:\n  enabled: true\n',
    'fleet.yaml:1 fleet.server: is missing; it must be a mapping of keys to values',
  ],
  [
    'an empty value',
    server('  agents:\n    neo:\n      url:\n'),
    'fleet.yaml:8 fleet.agents.neo.url: is empty; it must be text',
  ],
  [
    'a number out of range below',
    server('').replace('9220', '0'),
    'fleet.yaml:4 fleet.server.bind_port: 0 must be at least 1',
  ],
  [
    'a number out of range above',
    server('').replace('9220', '65536'),
    'fleet.yaml:4 fleet.server.bind_port: 65536 must be at most 65535',
  ],
  [
    'a fraction',
    server('').replace('9220', '92.5'),
    'fleet.yaml:4 fleet.server.bind_port: must be a whole number, not 92.5',
  ],
  [
    'not a number',
    server('').replace('9220', '.nan'),
    'fleet.yaml:4 fleet.server.bind_port: must be a number, not NaN',
  ],
  [
    'words for a number',
    server('').replace('9220', 'many'),
    'fleet.yaml:4 fleet.server.bind_port: must be a number, not "many"',
  ],
  [
    'a mapping for text',
    server('').replace('127.0.0.1', '{a: 1}'),
    'fleet.yaml:3 fleet.server.bind_host: must be text, not a mapping',
  ],
  [
    'text for a mapping',
    'fleet: {server: x}',
    'fleet.yaml:1 fleet.server: must be a mapping of keys to values, not "x"',
  ],
  ['a list for the file', '- a\n- b\n', 'fleet.yaml:1: must be a mapping of keys to values, not a list'],
  [
    'text that is too short',
    server('    token_env: ab\n'),
    'fleet.yaml:6 fleet.server.token_env: "ab" must have at least 3 characters',
  ],
  [
    'text that is too long',
    server(`    token_env: ${'a'.repeat(70)}\n`),
    `fleet.yaml:6 fleet.server.token_env: "${'a'.repeat(59)}… must have at most 40 characters`,
  ],
  [
    'a list that is too short',
    server('    callers: {neo: {token_env: A, scopes: []}}\n'),
    'fleet.yaml:6 fleet.server.callers.neo.scopes: a list must have at least 1 items',
  ],
  [
    "the schema's own message",
    server('  mode: lax\n'),
    'fleet.yaml:6 fleet.mode: only "strict" is supported; remove this key',
  ],
  [
    'no kind of a union',
    server('  mcp: {a: 5}\n'),
    'fleet.yaml:6 fleet.mcp.a: must be a mapping of keys to values, not 5',
  ],
  [
    'an unknown discriminator',
    server('  shape: {kind: c}\n'),
    'fleet.yaml:6 fleet.shape.kind: "c" is not one of a, b',
  ],
  [
    'a custom check without a message',
    server('  note: y\n'),
    'fleet.yaml:6 fleet.note: "y" is not allowed here',
  ],
  [
    'a refinement',
    server('').replace('127.0.0.1', '0.0.0.0').replace('true', 'false'),
    'fleet.yaml:3 fleet.server.bind_host: listens beyond loopback without auth; set auth_required: true',
  ],
  [
    'a refinement about a missing key',
    server('  agents:\n    a: {url: "http://a"}\n    b: {url: "http://b"}\n    c: {url: "http://c"}\n'),
    'fleet.yaml:6 fleet.agents.third: one agent too many',
  ],
  [
    'a value that may be a secret',
    server('  token: hunter2\n'),
    'fleet.yaml:6 fleet.token: must be a number, not its value',
  ],
  [
    'a value that may be a secret regardless of its name',
    server('  env: {API: 24680}\n'),
    'fleet.yaml:6 fleet.env.API: its value is a number, not text; put it in quotes',
  ],
  [
    'a password in a URL',
    server('  response_handler: http://a:hunter2@b\n'),
    'fleet.yaml:6 fleet.response_handler: "http://a:[redacted]@b" is not one of agent, llm, echo',
  ],
  [
    'a value from the environment',
    server(`  enabled: \${SECRET}\n`),
    'fleet.yaml:6 fleet.enabled: its value (from the environment) is text, not a boolean; write true or false',
  ],
  [
    'a missing secret file',
    server(`  enabled: \${LOST}\n`),
    "fleet.yaml:6 fleet.enabled: LOST_FILE: /does/not/exist can't be read (ENOENT); check that it exists and who may read it",
  ],
  [
    'a malformed placeholder',
    server(`  enabled: \${A-b}\n`),
    `fleet.yaml:6 fleet.enabled: "\${" does not start a placeholder; write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`,
  ],
  [
    'a prototype key',
    server('__proto__: {a: 1}\n'),
    'fleet.yaml:6 __proto__: unknown key; remove it, or use one of fleet',
  ],
  [
    'a merge key',
    server('    <<: {a: 1}\n'),
    'fleet.yaml:6 fleet.server.<<: unknown key; remove it, or use one of bind_host, bind_port, auth_required, token_env, callers',
  ],
  [
    'a duplicate key in quotes',
    server('  "server": {}\n'),
    'fleet.yaml:6 fleet.server: this key is already on line 2; keep one of the two',
  ],
  ['an empty file', '', 'fleet.yaml:1: the file is empty; write the configuration into it'],
  ['only comments', '# a\n\n# b\n', 'fleet.yaml:1: the file is empty; write the configuration into it'],
  ['an explicit null', '---\nnull\n', 'fleet.yaml:1: the file is empty; write the configuration into it'],
  [
    'a second document',
    `${server('')}---\na: 1\n`,
    'fleet.yaml:6: a second document starts here; a file holds one',
  ],
  ['a tab', 'fleet:\n\tserver: {}\n', 'fleet.yaml:2: a tab indents this line; use spaces'],
  ['a key that is a list', '? [a]\n: 1\n', 'fleet.yaml:1: a key must be plain text'],
  ['an unclosed quote', 'fleet:\n  a: "x\n', 'fleet.yaml:3: not valid YAML: Missing closing "quote'],
  [
    'an unknown anchor',
    server('  enabled: *nobody\n'),
    'fleet.yaml:6 fleet.enabled: there is no anchor &nobody above this line',
  ],
];

test('a problem is described with its fix', async (t) => {
  for (const [name, content, expected] of single) {
    await t.test(name, (t) => {
      const env = { SECRET: 'hunter2', LOST_FILE: '/does/not/exist' };
      assert.deepEqual(problems(t, content, env), [expected]);
    });
  }
});

test('at most a hundred problems are listed', (t) => {
  const file = write(t, server(Array.from({ length: 130 }, (_, at) => `  zz${at}: 1\n`).join('')));
  assert.throws(
    () => load(file),
    (thrown) => {
      assert.ok(thrown instanceof FleetError);
      assert.equal(thrown.fields.length, 100);
      assert.match(thrown.message, /^fleet\.yaml has 130 problems:\n/);
      assert.match(thrown.message, /\n {2}and 30 more$/);
      return true;
    },
  );
});

test('suggestions for unknown keys work in every kind of schema', (t) => {
  const inner = z.strictObject({ known_name: z.int().optional() });
  const wrapped = z.strictObject({
    list: z.array(inner).optional(),
    lazy: z.lazy(() => inner).optional(),
    piped: inner.transform((value) => value.known_name).optional(),
    both: z.intersection(inner, inner).optional(),
    other: z.strictObject({}).optional(),
    plain: z.nullable(inner.readonly().default({})).prefault({}),
  });
  const file = write(
    t,
    'list: [{}, {known_nam: 1}]\nlazy: {known_nam: 1}\npiped: {known_nam: 1}\nboth: {known_nam: 1}\nother: {a: 1}\nplain: {known_nam: 1}\n',
  );
  assert.throws(
    () => loadYamlConfig({ file, schema: wrapped, env: createSecretEnv({}) }),
    (thrown) => {
      assert.ok(thrown instanceof FleetError);
      const meant = 'unknown key; did you mean "known_name"?';
      assert.deepEqual(thrown.fields, [
        { path: 'fleet.yaml:1 list[1].known_nam', reason: meant },
        { path: 'fleet.yaml:2 lazy.known_nam', reason: meant },
        { path: 'fleet.yaml:3 piped.known_nam', reason: meant },
        { path: 'fleet.yaml:4 both.known_nam', reason: meant },
        { path: 'fleet.yaml:5 other.a', reason: 'unknown key; remove it' },
        { path: 'fleet.yaml:6 plain.known_nam', reason: meant },
      ]);
      return true;
    },
  );
});
