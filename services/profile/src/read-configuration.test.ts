import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv } from '@hermes-fleet/service';
import { type Configuration, readConfiguration } from './read-configuration.ts';

function read(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>> = {},
): Configuration {
  const home = tempDir(t);
  const profileDir = join(home, 'profiles/neo');
  mkdirSync(profileDir, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(profileDir, name), text);
  for (const [name, text] of Object.entries(secrets))
    writeFileSync(join(profileDir, name), text, { mode: 0o600 });
  const environment = {
    name: 'neo',
    home,
    dir: profileDir,
    stateDir: home,
    workspaceDir: '/workspaces/neo',
    logLevel: 'silent',
  };
  return readConfiguration(environment, createSecretEnv(env));
}

function problemsOf(t: TestContext, files: Readonly<Record<string, string>>): string[] {
  try {
    read(t, files, { SHORT: 'short' });
  } catch (error) {
    assert.ok(error instanceof FleetError && error.code === 'CONFIG_INVALID');
    return error.fields.map(({ path }) => path);
  }
  return [];
}

test('every problem in any file, and with any token, is reported at once, with its line', (t) => {
  const problems = problemsOf(t, {
    'fleet.yaml': [
      'fleet:',
      '  colour: red',
      '  tier: haiku',
      '  server:',
      '    bind_port: 92.5',
      '    callers:',
      '      switch: { token_env: SHORT, scopes: [announce] }',
      '  agents:',
      '    switch: { url: "http://127.0.0.1:9219", token_env: GONE }',
    ].join('\n'),
    'config.yaml': [
      'model: nothing-known',
      'colour: red',
      'executor: claude-code',
      'fallback_models: [claude-x]',
    ].join('\n'),
  });
  assert.deepEqual(problems.sort(), [
    'IDENTITY.md',
    'config.yaml:1 model',
    'config.yaml:2 colour',
    'config.yaml:4 fallback_models',
    'fleet.yaml:2 fleet.colour',
    'fleet.yaml:5 fleet.server.bind_port',
    'fleet.yaml:7 fleet.server.callers.switch.token_env',
    'fleet.yaml:9 fleet.agents.switch.token_env',
  ]);
});

test('a file that is not YAML is reported once, and its tokens with the next try', (t) => {
  const problems = problemsOf(t, { 'fleet.yaml': 'fleet: [', 'config.yaml': '{}', 'IDENTITY.md': '# Neo' });
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /^fleet\.yaml:1/);
});

test('tokens of registered A2A agents are checked with everything else, even in a file with other problems', (t) => {
  const agents = [
    'a2a:',
    '  agents:',
    '    reviews: { url: "http://reviews.internal:4000", description: reviews code, token_env: GONE }',
    '    open: { url: "http://open.internal:4000", description: takes no token }',
    '    short: { url: "http://short.internal:4000", description: has one of its own, token_env: SHORT }',
    '    wrong: { url: "http://wrong.internal:4000", description: holds it here, token_env: "abc def" }',
  ].join('\n');
  const right = ['config.yaml:3 a2a.agents.reviews.token_env', 'config.yaml:6 a2a.agents.wrong.token_env'];
  const others = (problems: string[]) => problems.filter((path) => path.startsWith('config.yaml')).sort();
  assert.deepEqual(others(problemsOf(t, { 'config.yaml': agents })), right);
  const colour = `${agents}\ncolour: red`;
  assert.deepEqual(others(problemsOf(t, { 'config.yaml': colour })), [...right, 'config.yaml:7 colour']);
  const off = agents.replace('a2a:', 'a2a:\n  enabled: false');
  assert.deepEqual(others(problemsOf(t, { 'config.yaml': off })), []);
});

/** The MCP servers of a config.yaml, read with these variables. */
function serversOf(t: TestContext, env: Readonly<Record<string, string>>): Record<string, unknown> {
  const config = [
    `workspace: { path: "\${WORKSPACE:-/default}" }`,
    'mcp:',
    '  servers:',
    `    files: { command: node, args: ["\${HERMES_APP:-.}/x.js", "\${WORKSPACE}"], env: { A: "\${WORKSPACE}/a" }, scope: task }`,
    `    notes: { command: node, args: ["\${HERMES_WORKSPACE_DIR:-.}/mcp"], scope: profile }`,
  ];
  const fleet = 'fleet: { tier: haiku, server: { bind_port: 9220, auth_required: false } }';
  const files = { 'fleet.yaml': fleet, 'config.yaml': config.join('\n'), 'IDENTITY.md': '# Neo' };
  const { agent } = read(t, files, env);
  const { files: server, notes } = agent.mcp.servers;
  return { path: agent.workspace.path, files: server, notes };
}

test('the tree of a context stays a placeholder in MCP servers only, and folders are absolute', (t) => {
  const app = resolve(import.meta.dirname, '../../..');
  const seen = (path: string, root: string) => ({
    path,
    files: {
      command: 'node',
      args: [`${root}/x.js`, `\${WORKSPACE}`],
      env: { A: `\${WORKSPACE}/a` },
      cwd: undefined,
      scope: 'task',
    },
    notes: {
      command: 'node',
      args: ['/workspaces/neo/mcp'],
      env: undefined,
      cwd: undefined,
      scope: 'profile',
    },
  });
  assert.deepEqual(serversOf(t, {}), seen('/default', app));
  assert.deepEqual(
    serversOf(t, { WORKSPACE: '/elsewhere', HERMES_APP: '/app', HERMES_WORKSPACE_DIR: 'relative' }),
    seen('/elsewhere', '/app'),
  );
});

test('a shipped MCP server that 0.2.0 named by a path is found, with a note where the path leads nowhere', (t) => {
  const entry = (name: string, dir: string, args = '') =>
    `    ${name}: { command: node, args: [${dir}/node_modules/@modelcontextprotocol/server-${name}/dist/index.js${args}] }`;
  const own = `"\${HERMES_APP:-.}`;
  const config = [
    'mcp:',
    '  servers:',
    entry('filesystem', '/app', `, "\${WORKSPACE}"`),
    entry('memory', own, '"'),
  ];
  const files = {
    'fleet.yaml': 'fleet: { tier: haiku, server: { bind_port: 9220, auth_required: false } }',
    'config.yaml': config.join('\n'),
    'IDENTITY.md': '# Neo',
  };
  const { agent, notes } = read(t, files, {});
  const { filesystem, memory } = agent.mcp.servers;
  assert.partialDeepStrictEqual(filesystem, { command: 'fleet-mcp-filesystem', args: [`\${WORKSPACE}`] });
  assert.partialDeepStrictEqual(memory, { command: 'node' }, 'the file is there');
  assert.deepEqual(notes.slice(1), [
    'config.yaml:3 mcp.servers.filesystem.args: /app/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js is not there, so the server of this release is used; write command: fleet-mcp-filesystem, and remove the path from args',
  ]);
});

test('commands of a set-up keep their placeholders, which are variables of the shell', (t) => {
  const command = `echo \${SECRET} "\${NODE_ENV:-test}" $\${TMPDIR%/}`;
  for (const setup of [command, [command]]) {
    const { agent } = read(
      t,
      {
        'fleet.yaml': 'fleet: { tier: haiku, server: { bind_port: 9220, auth_required: false } }',
        'config.yaml': JSON.stringify({ workspace: { setup } }),
        'IDENTITY.md': '# Neo',
      },
      { SECRET: 'sk-secret', NODE_ENV: 'production' },
    );
    assert.deepEqual(agent.workspace.setup, [`echo \${SECRET} "\${NODE_ENV:-test}" \${TMPDIR%/}`]);
  }
});

test('a signing key is found beside config.yaml, and one that cannot sign is a problem of its key', (t) => {
  const folder = tempDir(t);
  const keyFile = join(folder, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile]);
  const filesWith = (file: string) => ({
    'fleet.yaml': 'fleet: { tier: haiku, server: { bind_port: 9220, auth_required: false } }',
    'config.yaml': `workspace:\n  commit:\n    signing_key_file: ${file}`,
    'IDENTITY.md': '# Neo',
  });
  const { agent } = read(t, filesWith('sub/../key'), {}, { key: readFileSync(keyFile, 'utf8') });
  const { signing_key_file: found = '' } = agent.workspace.commit;
  assert.match(found, /^\/.*\/profiles\/neo\/key$/);
  assert.deepEqual(problemsOf(t, filesWith('gone')), ['config.yaml:3 workspace.commit.signing_key_file']);
});

/** The repositories that neo has with these files; one of `shared` is for all profiles. */
function repositoriesOf(
  t: TestContext,
  { own, shared, fleet = {} }: { own?: object; shared?: string; fleet?: object },
): { home: string; read(): Configuration['agent']['workspace']['repositories'] } {
  const home = tempDir(t);
  const dir = join(home, 'profiles/neo');
  mkdirSync(dir, { recursive: true });
  const server = { bind_port: 9220, auth_required: false };
  writeFileSync(join(dir, 'fleet.yaml'), JSON.stringify({ fleet: { tier: 'haiku', server, ...fleet } }));
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ workspace: own ?? {} }));
  writeFileSync(join(dir, 'IDENTITY.md'), '# Neo');
  if (shared !== undefined) writeFileSync(join(home, 'profiles/repositories.yaml'), shared);
  const environment = {
    name: 'neo',
    home,
    dir,
    stateDir: home,
    workspaceDir: '/workspaces/neo',
    logLevel: 'silent',
  };
  const env = createSecretEnv({ WEB_TOKEN: 'a-token' });
  return { home, read: () => readConfiguration(environment, env).agent.workspace.repositories };
}

const SHARED = [
  'repositories:',
  '  web: { url: "https://git.example/web", token_env: WEB_TOKEN }',
  '  docs:',
  '    url: https://git.example/docs',
  '    ca_file: ca.pem',
].join('\n');

test('a profile has the repositories of all profiles, of which its own replace one whole', (t) => {
  const web = { url: 'https://git.example/neo-web', ca_file: 'own.pem' };
  const { home, read } = repositoriesOf(t, { own: { repositories: { web } }, shared: SHARED });
  const pem = '-----BEGIN CERTIFICATE-----';
  writeFileSync(join(home, 'profiles/ca.pem'), pem);
  writeFileSync(join(home, 'profiles/neo/own.pem'), pem);
  const found = Object.entries(read()).map(([name, each]) => [name, each.url, each.token_env, each.ca_file]);
  assert.deepEqual(found.sort(), [
    ['docs', 'https://git.example/docs', undefined, join(home, 'profiles/ca.pem')],
    ['web', web.url, undefined, join(home, 'profiles/neo/own.pem')],
  ]);
});

test('a profile whose tasks have no trees of their own has no repositories of all profiles', (t) => {
  const shared = 'repositories: { web: { url: "https://git.example/web", token_env: GONE } }';
  for (const others of [{ own: { isolation: 'in_place' } }, { fleet: { response_handler: 'llm' } }])
    assert.deepEqual(repositoriesOf(t, { ...others, shared }).read(), {});
});

test('problems of repositories have their file, line and key', (t) => {
  const own = { repositories: { web: { url: 'https://git.example/web', token_env: 'GONE' } } };
  const paths = (shared: string): string[] => {
    try {
      repositoriesOf(t, { own, shared }).read();
    } catch (error) {
      assert.ok(error instanceof FleetError && error.code === 'CONFIG_INVALID');
      return error.fields.map(({ path }) => path);
    }
    return [];
  };
  const mine = 'config.yaml:1 workspace.repositories.web.token_env';
  assert.deepEqual(paths(SHARED), [mine, 'repositories.yaml:5 repositories.docs.ca_file']);
  assert.deepEqual(paths(SHARED.replace('web:', 'WEB:').replace(/ {2}docs[\s\S]*/, '')), [
    mine,
    'repositories.yaml:2 repositories.WEB',
  ]);
  assert.deepEqual(paths(`${SHARED}\n    colour: red`), [
    'repositories.yaml:6 repositories.docs.colour',
    mine,
  ]);
  assert.deepEqual(paths('repositories: ['), ['repositories.yaml:1', mine]);
});

test('a placeholder of a tree in a server that all tasks share is a problem of its key', (t) => {
  const config = ['mcp:', '  servers:', '    a:', '      command: node', '      scope: profile'];
  const [problem] = problemsOf(t, {
    'fleet.yaml': 'fleet: { tier: haiku, server: { bind_port: 9220, auth_required: false } }',
    'config.yaml': [...config, '      args:', `        - "\${WORKSPACE}"`].join('\n'),
    'IDENTITY.md': '# Neo',
  });
  assert.equal(problem, 'config.yaml:7 mcp.servers.a.args[0]');
});
