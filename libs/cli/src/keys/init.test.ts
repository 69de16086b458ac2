import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { initKeys, type KeysOptions, tokenHash } from './init.ts';
import { readOperatorToken } from './layout.ts';

const SERVICES = ['switch', 'neo'];
const nats = { storeDir: '/data', host: '127.0.0.1', port: 4222, monitorPort: 8222, syncAlways: true };

function keysIn(t: TestContext): {
  dir: string;
  init: (more?: Partial<KeysOptions>) => ReturnType<typeof initKeys>;
} {
  const parent = tempDir(t, { prefix: 'keys-' });
  const dir = join(parent, 'keys');
  return { dir, init: (more = {}) => initKeys({ dir, services: SERVICES, nats, ...more }) };
}

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
const contents = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => [join(entry.parentPath, entry.name), read(entry.parentPath, entry.name)]),
  );
const overwrite = (file: string, text: string): void => {
  chmodSync(file, 0o600);
  writeFileSync(file, text);
  chmodSync(file, 0o400);
};

test('a caller has its token as plain text and the receiver its hash', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const token = read(dir, 'switch', 'A2A_HERMES_TOKEN_SWITCH_TO_NEO');
  assert.match(token, /^[\w-]{43}$/);
  assert.equal(read(dir, 'neo', 'A2A_HERMES_TOKEN_SWITCH_TO_NEO'), tokenHash(token));
  const operator = readOperatorToken(dir) ?? '';
  for (const service of SERVICES) {
    assert.equal(read(dir, service, 'A2A_HERMES_TOKEN_OPERATOR'), tokenHash(operator));
  }
});

test('the monitoring of NATS, which has no authentication, is on loopback alone', (t) => {
  const { dir, init } = keysIn(t);
  init({ nats: { ...nats, host: '0.0.0.0' } });
  assert.deepEqual(read(dir, 'nats', 'nats.conf').match(/^http.*$/gm), ['http: "127.0.0.1:8222"']);
});

test('every token and password is unique', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const plain = Object.entries(contents(dir))
    .filter(([file, text]) => /TOKEN|token|PASSWORD/.test(file) && !text.startsWith('sha256:'))
    .map(([, text]) => text);
  assert.equal(new Set(plain).size, plain.length);
  assert.equal(plain.length, 2 + 1 + 5);
});

test('files are 0400 and folders 0700', (t) => {
  const { dir, init } = keysIn(t);
  init();
  assert.equal(statSync(dir).mode & 0o7777, 0o700);
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const { mode } = statSync(join(entry.parentPath, entry.name));
    assert.equal(mode & 0o7777, entry.isFile() ? 0o400 : 0o700, entry.name);
  }
});

test('a second run changes nothing', (t) => {
  const { dir, init } = keysIn(t);
  const first = init();
  assert.ok(first.created > 0 && first.kept === 0);
  const before = contents(dir);
  assert.deepEqual(init(), { created: 0, repaired: 0, kept: first.created });
  assert.deepEqual(contents(dir), before);
});

test('a wrong hash, a wrong mode, a short token and a changed nats.conf are repaired', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const before = contents(dir);
  overwrite(join(dir, 'neo', 'A2A_HERMES_TOKEN_SWITCH_TO_NEO'), `sha256:${'0'.repeat(64)}`);
  overwrite(join(dir, 'nats', 'nats.conf'), 'port: 1');
  chmodSync(join(dir, 'neo', 'NATS_PASSWORD'), 0o644);
  assert.equal(init().repaired, 3);
  assert.deepEqual(contents(dir), before);

  overwrite(join(dir, 'neo', 'A2A_HERMES_TOKEN_NEO_TO_SWITCH'), 'short');
  assert.equal(init().repaired, 2);
  const token = read(dir, 'neo', 'A2A_HERMES_TOKEN_NEO_TO_SWITCH');
  assert.match(token, /^[\w-]{43}$/);
  assert.equal(read(dir, 'switch', 'A2A_HERMES_TOKEN_NEO_TO_SWITCH'), tokenHash(token));
});

test('an added service gets keys, and the keys of the others stay', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const before = contents(dir);
  init({ services: [...SERVICES, 'trader'] });
  const after = contents(dir);
  for (const [file, text] of Object.entries(before)) {
    if (!file.endsWith('nats.conf')) assert.equal(after[file], text);
  }
  assert.ok(after[join(dir, 'switch', 'A2A_HERMES_TOKEN_SWITCH_TO_TRADER')]);
  assert.ok(after[join(dir, 'trader', 'A2A_HERMES_TOKEN_OPERATOR')]);
  assert.match(after[join(dir, 'nats', 'nats.conf')] ?? '', /user: "trader"/);
});

test('the console has a NATS user and the secret that makes links, and no token of a service', (t) => {
  const { dir, init } = keysIn(t);
  init();
  assert.deepEqual(readdirSync(join(dir, 'console')).sort(), ['CONSOLE_LOGIN', 'NATS_PASSWORD', 'NATS_USER']);
  const login = read(dir, 'console', 'CONSOLE_LOGIN');
  assert.match(login, /^[\w-]{43}$/);
  assert.notEqual(login, read(dir, 'console', 'NATS_PASSWORD'));
  assert.match(read(dir, 'nats', 'nats.conf'), /user: "console"/);
});

test('keys of before the console get its folder, and stay as they are', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const all = contents(dir);
  rmSync(join(dir, 'console'), { recursive: true });
  init();
  const { [join(dir, 'nats', 'nats.conf')]: config = '', ...rest } = contents(dir);
  const others = Object.entries(rest).filter(([file]) => !file.startsWith(join(dir, 'console')));
  assert.deepEqual(
    Object.fromEntries(others),
    Object.fromEntries(Object.entries(all).filter(([file]) => file in rest && !file.includes('/console/'))),
  );
  assert.ok(config.includes(read(dir, 'console', 'NATS_PASSWORD')));
});

test('only switch and the trader have tokens for each other; workers and the trader have none', (t) => {
  const { dir, init } = keysIn(t);
  init({ services: [...SERVICES, 'trader'] });
  const withTrader = Object.keys(contents(dir))
    .filter((file) => /_TRADER|TRADER_TO/.test(file))
    .map((file) => file.slice(dir.length + 1))
    .sort();
  assert.deepEqual(withTrader, [
    'switch/A2A_HERMES_TOKEN_SWITCH_TO_TRADER',
    'switch/A2A_HERMES_TOKEN_TRADER_TO_SWITCH',
    'trader/A2A_HERMES_TOKEN_SWITCH_TO_TRADER',
    'trader/A2A_HERMES_TOKEN_TRADER_TO_SWITCH',
  ]);
});

test('rotation replaces every secret consistently', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const before = contents(dir);
  init({ renew: true });
  for (const [file, text] of Object.entries(contents(dir))) {
    if (!file.endsWith('NATS_USER')) assert.notEqual(text, before[file], file);
  }
  const token = read(dir, 'switch', 'A2A_HERMES_TOKEN_SWITCH_TO_NEO');
  assert.equal(read(dir, 'neo', 'A2A_HERMES_TOKEN_SWITCH_TO_NEO'), tokenHash(token));
});

test('concurrent runs agree and leave no temporary file', async (t) => {
  const { dir, init } = keysIn(t);
  const script = `
    import { initKeys } from ${JSON.stringify(import.meta.resolve('./init.ts'))};
    initKeys(${JSON.stringify({ dir, services: SERVICES, nats })});`;
  const codes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
      const [code] = await once(child, 'exit');
      return code;
    }),
  );
  assert.deepEqual(codes, [0, 0, 0, 0]);
  const token = read(dir, 'switch', 'A2A_HERMES_TOKEN_SWITCH_TO_NEO');
  assert.equal(read(dir, 'neo', 'A2A_HERMES_TOKEN_SWITCH_TO_NEO'), tokenHash(token));
  assert.equal(init().created, 0);
  assert.deepEqual(
    Object.keys(contents(dir)).filter((file) => file.endsWith('.tmp')),
    [],
  );
});

const root = process.getuid?.() === 0;
test('as root, the files get the given owner', { skip: root ? false : 'needs root' }, (t) => {
  const { dir, init } = keysIn(t);
  init({ owner: { uid: 1000, gid: 1000 } });
  const file = join(dir, 'neo', 'NATS_PASSWORD');
  assert.equal(statSync(file).uid, 1000);
  assert.equal(statSync(join(dir, 'neo')).gid, 1000);
  chownSync(file, 0, 0);
  assert.equal(init({ owner: { uid: 1000, gid: 1000 } }).repaired, 1);
  assert.equal(statSync(file).uid, 1000);
});

test('every invalid service name is reported', (t) => {
  const { init } = keysIn(t);
  assert.throws(
    () => init({ services: ['neo', '../neo', 'console', 'neo'] }),
    (error: unknown) =>
      error instanceof FleetError &&
      error.code === 'CONFIG_INVALID' &&
      error.fields.map(({ path }) => path).join(' ') === '../neo console neo',
  );
});

test('a cluster of NATS has a file that a later run and a rotation keep', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const file = join(dir, 'nats', 'nats-cluster.conf');
  assert.equal(existsSync(file), false);
  init({ nats: { ...nats, cluster: ['nats-0.nats', 'nats-1.nats:7222', '[::1]'] } });
  const first = read(file);
  const password = read(dir, 'nats', 'ROUTE_PASSWORD');
  for (const server of ['nats-0.nats:6222', 'nats-1.nats:7222', '[::1]:6222'])
    assert.ok(first.includes(`"nats-route://route:${password}@${server}"`), server);
  assert.equal(init().repaired, 0);
  assert.equal(read(file), first);
  init({ renew: true });
  assert.equal(read(file), first.replaceAll(password, read(dir, 'nats', 'ROUTE_PASSWORD')));
  assert.notEqual(read(file), first);
  init({ nats: { ...nats, cluster: ['nats-9'] } });
  assert.match(read(file), /routes: \["nats-route:\/\/route:[\w-]+@nats-9:6222"\]/);
});

test('a server of a cluster that is no address is refused, and what was there stays', (t) => {
  const { dir, init } = keysIn(t);
  init({ nats: { ...nats, cluster: ['nats-0'] } });
  const before = contents(dir);
  for (const wrong of ['', 'user@host', 'host:port', 'nats://host', 'a b'])
    assert.throws(
      () => init({ nats: { ...nats, cluster: ['nats-0', wrong] } }),
      { code: 'CONFIG_INVALID' },
      wrong,
    );
  assert.deepEqual(contents(dir), before);
});
