import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import fc from 'fast-check';
import { parse } from 'yaml';
import { folderAt } from './fleet-folder.ts';
import { followingFiles } from './following-files.ts';
import { type Members, problemOfName, readMembers, servicesOf } from './members.ts';

const folder = folderAt(join(import.meta.dirname, '../../../..'));
const shipped = readMembers(folder.home);
const neo = join(folder.home, 'profiles/neo/fleet.yaml');
const compose = join(folder.root, 'docker-compose.yml');
const switchFile = join(folder.home, 'profiles/switch/fleet.yaml');

/** The text of every file that follows from the list; those of a new profile are neo's. */
function follow(members: Members, texts: ReadonlyMap<string, string>, removed: readonly string[] = []) {
  const read = (path: string): string => texts.get(path) ?? readFileSync(path, 'utf8');
  return new Map(followingFiles(folder, members, { removed, read }).map(({ path, text }) => [path, text]));
}

const withProfile = (name: string, port: number): Members => ({
  ...shipped,
  profiles: [...shipped.profiles, { name, port }],
});

test('a member that is added and removed again leaves every byte of every file as it was', () => {
  const names = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
  const comments = fc.constantFrom('', '\n# the end\n', '\n\n');
  fc.assert(
    fc.property(names, fc.integer({ min: 10_000, max: 60_000 }), comments, (name, port, end) => {
      fc.pre(problemOfName(name, servicesOf(shipped)) === undefined);
      const before = new Map([...follow(shipped, new Map())].map(([path, text]) => [path, text + end]));
      const own = join(folder.home, `profiles/${name}/fleet.yaml`);
      const added = follow(withProfile(name, port), new Map([...before, [own, readFileSync(neo, 'utf8')]]));
      for (const [path, text] of added)
        if (path !== own && !path.includes('trader')) assert.notEqual(text, before.get(path), path);
      const after = follow(shipped, added, [name]);
      const rendered = follow(shipped, new Map()).get(compose);
      for (const [path, text] of after)
        assert.equal(text, path === compose ? rendered : before.get(path), path);
    }),
    { numRuns: 20 },
  );
});

test('a new profile is a peer and a caller of the others, a target and a container; what the user wrote stays', () => {
  const own = `${readFileSync(switchFile, 'utf8').replace('  agents:\n', '  # mine\n  agents:\n    friend: { url: "https://friend.example" } # of mine\n')}`;
  const oracle = join(folder.home, 'profiles/oracle/fleet.yaml');
  const texts = new Map([
    [switchFile, own],
    [oracle, 'fleet:\n  server:\n    callers: {}\n  agents: {}\n'],
  ]);
  const files = follow(withProfile('oracle', 9230), texts);
  const now = files.get(switchFile) ?? '';
  assert.equal(own.split('\n').filter((line) => !now.includes(line)).length, 0);
  const { fleet } = parse(now);
  assert.deepEqual(fleet.server.callers.oracle, {
    token_env: 'A2A_HERMES_TOKEN_ORACLE_TO_SWITCH',
    scopes: ['announce', 'dispatch', 'read', 'join'],
    speaks_for: ['oracle-*'],
  });
  assert.equal(fleet.agents.oracle.url, `http://\${ORACLE_HOST:-127.0.0.1}:\${ORACLE_PORT:-9230}/jsonrpc`);
  assert.equal(fleet.join.endpoints.at(-1), `\${ORACLE_REPLICAS:-http://127.0.0.1:*}`);
  assert.deepEqual(Object.keys(parse(files.get(oracle) ?? '').fleet.agents), [
    'switch',
    'neo',
    'morpheus',
    'trinity',
  ]);
  const { services, volumes } = parse(files.get(compose) ?? '', {
    merge: true,
  });
  assert.deepEqual(services.oracle.ports, [`127.0.0.1:\${ORACLE_PORT:-9230}:9230`]);
  assert.ok(['keys-oracle', 'state-oracle', 'workspace-oracle'].every((name) => name in volumes));
  assert.equal(services.trader.environment.ORACLE_HOST, 'oracle');
  assert.deepEqual(services.keys.command, [
    'init',
    '--services',
    'switch,neo,morpheus,trinity,oracle,trader',
  ]);
});

test('the files of a fleet without a trader do not name one', () => {
  const files = follow({ ...shipped, trader: undefined }, new Map(), ['trader']);
  assert.equal(files.size, follow(shipped, new Map()).size - 1);
  for (const [path, text] of files) {
    const settings = text
      .split('\n')
      .filter((line) => !/^ *#|operator|scopes: \[announce, dispatch, read, join, operate/.test(line));
    assert.doesNotMatch(settings.join('\n'), /\btrader\b|TRADER/, path);
  }
});

test('a port of the list stands in every file', () => {
  const profiles = shipped.profiles.map(({ name, port }) => ({ name, port: name === 'neo' ? 9400 : port }));
  for (const [path, text] of follow({ ...shipped, profiles }, new Map()))
    assert.doesNotMatch(text, /9220/, path);
});

test('a file that cannot be edited is named with the key', () => {
  const texts = new Map([[neo, 'fleet: { server: { callers: { operator: {} } }, agents: {} }\n']]);
  assert.throws(
    () => follow(withProfile('oracle', 9230), texts),
    (error) =>
      error instanceof FleetError &&
      /neo\/fleet\.yaml: fleet\.server\.callers is a map in braces/.test(error.message),
  );
});
