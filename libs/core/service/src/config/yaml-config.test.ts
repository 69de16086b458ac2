import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { load, problems, schema, server, write } from '../../testing/yaml-files.ts';
import { createSecretEnv } from './secret-env.ts';
import { loadYamlConfig } from './yaml-config.ts';

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

test('a byte order mark and Windows line endings are accepted', (t) => {
  const file = write(t, `\uFEFF${server('').replaceAll('\n', '\r\n')}`);
  assert.equal(load(file).value.fleet.server.bind_port, 9220);
});
