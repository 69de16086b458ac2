import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv } from '@hermes-fleet/service';
import { profileDir, traderDir } from './environment.ts';
import { sharedWithSiblings } from './siblings.ts';

const TOKEN = 'a-token-of-some-length';
const accepting = (...variables: string[]) => ({
  fleet: {
    server: {
      bind_port: 9220,
      callers: Object.fromEntries(
        variables.map((variable) => [variable.toLowerCase(), { token_env: variable, scopes: ['read'] }]),
      ),
    },
  },
});

function home(t: TestContext, members: Record<string, unknown>): string {
  const dir = tempDir(t);
  for (const [name, fleet] of Object.entries(members)) {
    const folder = dirOf(dir, name);
    mkdirSync(folder, { recursive: true });
    if (fleet !== undefined)
      writeFileSync(join(folder, 'fleet.yaml'), typeof fleet === 'string' ? fleet : JSON.stringify(fleet));
  }
  return dir;
}

const dirOf = (home: string, name: string): string =>
  name === 'trader' ? traderDir(home) : profileDir(home, name);

function warnings(dir: string, own: unknown, processEnv: NodeJS.ProcessEnv, name = 'neo'): string[] {
  const env = createSecretEnv(processEnv);
  return sharedWithSiblings({
    environment: { home: dir, dir: dirOf(dir, name) },
    config: FleetConfigSchema.parse(own),
    env,
    processEnv,
  });
}

test('a variable that two members of a host accept is reported with its key and the other member', (t) => {
  const own = accepting('SHARED', 'MINE', 'BY_FILE');
  const dir = home(t, {
    neo: own,
    morpheus: accepting('SHARED', 'OTHER'),
    trinity: accepting('SHARED', 'BY_FILE'),
  });
  const told = warnings(dir, own, { SHARED: TOKEN, MINE: TOKEN, BY_FILE_FILE: '/run/secrets/x' });
  assert.equal(told.length, 2);
  assert.match(told[0] ?? '', /callers\.shared\.token_env: SHARED .*morpheus, trinity accept it too/);
  assert.match(told[1] ?? '', /BY_FILE .*and trinity accepts it too/);
});

test('the trader and the profiles are siblings', (t) => {
  const own = accepting('SHARED');
  const dir = home(t, { neo: own, trader: own });
  const env = { SHARED: TOKEN };
  assert.match(warnings(dir, own, env).join(), /and trader accepts it too/);
  assert.match(warnings(dir, own, env, 'trader').join(), /and neo accepts it too/);
});

test('values from HERMES_KEYS_DIR are separate for each member', (t) => {
  const own = accepting('SHARED');
  const dir = home(t, { neo: own, morpheus: accepting('SHARED') });
  writeFileSync(join(dir, 'SHARED'), TOKEN);
  assert.deepEqual(warnings(dir, own, { HERMES_KEYS_DIR: dir }), []);
  assert.deepEqual(warnings(dir, own, { HERMES_KEYS_DIR: dir, SHARED: ' ' }), []);
});

test('siblings that only send, accept nobody, are broken or are not profiles are ignored', (t) => {
  const own = accepting('SHARED');
  const off = accepting('SHARED');
  const dir = home(t, {
    neo: own,
    sender: { fleet: { ...off.fleet, enabled: false } },
    open: { fleet: { ...off.fleet, server: { ...off.fleet.server, auth_required: false } } },
    broken: 'fleet: [',
    wrong: { fleet: { ...off.fleet, colour: 'red' } },
    empty: undefined,
  });
  writeFileSync(join(dir, 'profiles/README'), '');
  mkdirSync(join(dir, 'profiles/folder/fleet.yaml'), { recursive: true });
  assert.deepEqual(warnings(dir, own, { SHARED: TOKEN }), []);
  assert.deepEqual(warnings(join(dir, 'nowhere'), own, { SHARED: TOKEN }), []);
});

test('a sibling that uses the variable for its own calls does not accept it', (t) => {
  const own = accepting('SHARED');
  const calling = {
    ...accepting('OTHER').fleet,
    agents: { neo: { url: 'http://neo:1', token_env: 'SHARED' } },
  };
  const dir = home(t, { neo: own, morpheus: { fleet: calling } });
  assert.deepEqual(warnings(dir, own, { SHARED: TOKEN }), []);
});
