import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { z } from 'zod';
import { createSecretEnv } from './secret-env.ts';
import { loadYamlConfig } from './yaml-config.ts';

const caller = z.strictObject({
  token_env: z.string(),
  scopes: z.array(z.enum(['announce', 'dispatch', 'read'])).min(1),
});
const schema = z
  .strictObject({
    fleet: z.strictObject({
      enabled: z.boolean().default(true),
      response_handler: z.enum(['agent', 'llm', 'echo']).default('agent'),
      server: z.strictObject({
        bind_host: z.string(),
        bind_port: z.int().min(1).max(65_535),
        auth_required: z.boolean(),
        token_env: z.string().min(3).max(40).optional(),
        callers: z.record(z.string().regex(/^[a-z]+$/), caller).optional(),
      }),
      agents: z
        .record(z.string(), z.strictObject({ url: z.url(), weight: z.number().multipleOf(5).optional() }))
        .optional(),
      mcp: z
        .record(
          z.string(),
          z.union([
            z.strictObject({ command: z.string(), args: z.array(z.string()).optional() }),
            z.strictObject({ url: z.url() }),
          ]),
        )
        .optional(),
      mode: z.literal('strict', { error: 'only "strict" is supported; remove this key' }).optional(),
      token: z.int().optional(),
      shape: z
        .discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('a') }),
          z.strictObject({ kind: z.literal('b') }),
        ])
        .optional(),
      env: z.record(z.string(), z.string()).optional(),
      note: z.custom<'x'>((value) => value === 'x').optional(),
    }),
  })
  .superRefine(({ fleet }, context) => {
    if (fleet.server.bind_host !== '127.0.0.1' && !fleet.server.auth_required) {
      context.addIssue({
        code: 'custom',
        path: ['fleet', 'server', 'bind_host'],
        message: 'listens beyond loopback without auth; set auth_required: true',
      });
    }
    if (fleet.agents !== undefined && Object.keys(fleet.agents).length > 2) {
      context.addIssue({ code: 'custom', path: ['fleet', 'agents', 'third'], message: 'one agent too many' });
    }
  });

function write(t: TestContext, content: string | Buffer): string {
  const file = join(tempDir(t), 'fleet.yaml');
  writeFileSync(file, content);
  return file;
}

const load = (file: string, env: NodeJS.ProcessEnv = {}) =>
  loadYamlConfig({ file, schema, env: createSecretEnv(env) });

/** The problems of a configuration, as `<path>: <reason>`. */
function problems(t: TestContext, content: string, env: NodeJS.ProcessEnv = {}): string[] {
  const file = write(t, content);
  try {
    load(file, env);
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    assert.equal(thrown.code, 'CONFIG_INVALID');
    const lines = thrown.fields.map(({ path, reason }) => `${path}: ${reason}`);
    const count = lines.length === 1 ? '1 problem' : `${lines.length} problems`;
    assert.equal(thrown.message, `fleet.yaml has ${count}:\n${lines.map((line) => `  ${line}`).join('\n')}`);
    return lines;
  }
  return [];
}

const server = (lines: string): string => `fleet:
  server:
    bind_host: 127.0.0.1
    bind_port: 9220
    auth_required: true
${lines}`;

test('a valid file becomes the value of the schema', (t) => {
  const file = write(
    t,
    `# neo
fleet:
  server: &server
    bind_host: \${BIND_HOST:-127.0.0.1}
    bind_port: \${PORT:-9220}
    auth_required: \${AUTH:-true}
    callers:
      switch: { token_env: A2A_TOKEN, scopes: [announce, "\${SCOPE}"] }
  agents:
    switch:
      url: http://\${SWITCH_HOST:-127.0.0.1}:9219/jsonrpc
`,
  );
  const { locate, ...loaded } = load(file, { PORT: '9300', SCOPE: 'read', SWITCH_HOST: 'switch' });
  assert.equal(
    locate('fleet.server.callers.switch.token_env'),
    'fleet.yaml:8 fleet.server.callers.switch.token_env',
  );
  assert.equal(locate('fleet.tier'), 'fleet.yaml:2 fleet.tier', 'a missing key has the line of its parent');
  assert.deepEqual(loaded, {
    value: {
      fleet: {
        enabled: true,
        response_handler: 'agent',
        server: {
          bind_host: '127.0.0.1',
          bind_port: 9300,
          auth_required: true,
          callers: { switch: { token_env: 'A2A_TOKEN', scopes: ['announce', 'read'] } },
        },
        agents: { switch: { url: 'http://switch:9219/jsonrpc' } },
      },
    },
    notes: [
      'fleet.yaml takes from the environment: fleet.server.bind_port (PORT), ' +
        'fleet.server.callers.switch.scopes[1] (SCOPE), fleet.agents.switch.url (SWITCH_HOST)',
    ],
  });
});

test('a sole unquoted placeholder has the type of its value; a quoted or combined one is text', (t) => {
  const types = z.strictObject({ v: z.array(z.unknown()) });
  const file = write(
    t,
    `v: \n  - \${N}\n  - "\${N}"\n  - x\${N}\n  - \${B}\n  - \${NULL}\n  - \${LIST}\n  - \${TEXT}\n  - \${EMPTY:-}\n  - \${F:-1.5}\n  - \${COMMENT}\n  - |\n    \${N}`,
  );
  const env = createSecretEnv({
    N: '7',
    B: 'false',
    NULL: 'null',
    LIST: '[1, 2]',
    TEXT: 'a: b',
    COMMENT: '5 # five',
  });
  const { value } = loadYamlConfig({ file, schema: types, env });
  assert.deepEqual(value.v, [7, '7', 'x7', false, null, '[1, 2]', 'a: b', '', 1.5, '5 # five', '7\n']);
});

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

test('unknown YAML tags are rejected', (t) => {
  assert.deepEqual(problems(t, server('  mode: !!js/function strict\n  enabled: !foo true\n')), [
    'fleet.yaml:6: unknown tag !!js/function; remove it',
    'fleet.yaml:7: unknown tag !foo; remove it',
    'fleet.yaml:7 fleet.enabled: "true" is text, not a boolean; write true or false',
  ]);
});

test('anchors are allowed; unbounded and recursive ones are rejected', (t) => {
  const file = write(t, server('  agents:\n    a: &agent { url: "http://a" }\n    b: *agent\n'));
  assert.deepEqual(load(file).value.fleet.agents, { a: { url: 'http://a' }, b: { url: 'http://a' } });
  const bound = 'the file unfolds to more than 20000 values, 100 aliases or 64 levels; make it smaller';
  const lines = ['a: &a [1,1,1,1,1,1,1,1,1]'];
  for (const [name, of] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf'].map((pair) => pair.split(''))) {
    lines.push(`${name}: &${name} [${Array(9).fill(`*${of}`).join(',')}]`);
  }
  assert.deepEqual(problems(t, lines.join('\n')), [`fleet.yaml:3: ${bound}`]);
  assert.deepEqual(problems(t, 'fleet: &a\n  server: *a\n'), [`fleet.yaml:2: ${bound}`]);
  assert.deepEqual(problems(t, `fleet: [${'1,'.repeat(20_001)}]`), [`fleet.yaml:1: ${bound}`]);
  assert.deepEqual(problems(t, `fleet: ${'['.repeat(70)}${']'.repeat(70)}`), [`fleet.yaml:1: ${bound}`]);
});

test('nesting that overflows the stack is a problem of the file', (t) => {
  for (const content of ['['.repeat(200_000), `${'- '.repeat(100_000)}x`, `${'{a: '.repeat(60_000)}`]) {
    const found = problems(t, content);
    assert.ok(found.includes('fleet.yaml:1: the file is nested too deeply'), found[0]);
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

test('an unreadable file is an error with the reason', (t) => {
  const file = write(t, 'fleet: {}');
  const invalid = (what: string, path = file, name = 'fleet.yaml') => ({
    code: 'CONFIG_INVALID',
    message: `${path} ${what}`,
    fields: [{ path: name, reason: what }],
  });
  const folder = join(file, '..');
  assert.throws(
    () => load(join(folder, 'none.yaml')),
    invalid('does not exist; create it, or correct the path', join(folder, 'none.yaml'), 'none.yaml'),
  );
  assert.throws(
    () => load(folder),
    invalid('is not a file; name the YAML file itself', folder, folder.split('/').at(-1)),
  );
  assert.throws(() => load(join(file, 'x')), {
    code: 'CONFIG_INVALID',
    message: /can't be read \(ENOTDIR\); check who may read it$/,
  });
  writeFileSync(file, Buffer.from([0x66, 0xff, 0xfe]));
  assert.throws(() => load(file), invalid('is not UTF-8 text; save it as UTF-8'));
  writeFileSync(file, ' '.repeat(256_001));
  assert.throws(() => load(file), invalid('is larger than 256000 bytes; make it smaller'));
});

test('an unforeseen error of the environment is not hidden', (t) => {
  const env = {
    read: () => {
      throw new TypeError('a bug');
    },
  };
  const file = write(t, `fleet: \${NAME}\n`);
  assert.throws(() => loadYamlConfig({ file, schema, env }), { name: 'TypeError', message: 'a bug' });
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

test('a byte order mark and Windows line endings are accepted', (t) => {
  const file = write(t, `\uFEFF${server('').replaceAll('\n', '\r\n')}`);
  assert.equal(load(file).value.fleet.server.bind_port, 9220);
});
