import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAuthority, EXPIRED, NOT_YET_VALID } from '../../testing/certificates.ts';
import { readTls, type TlsCheck, type TlsFiles } from './certificates.ts';

const DAY_MS = 86_400_000;
const server: TlsCheck = { use: 'server', now: Date.now() };
const said = (files: TlsFiles, check = server): string[] =>
  readTls(files, check).problems.map(({ key, reason }) => `${key}: ${reason}`);

test('a valid pair is read, with the time when it expires', (t) => {
  const authority = createAuthority(t);
  const { certFile, keyFile, cert, key } = authority.issue('neo');
  const { material, problems, warnings } = readTls({ certFile, keyFile, caFile: authority.caFile }, server);
  assert.deepEqual([problems, warnings], [[], []]);
  assert.deepEqual([material?.cert, material?.key, material?.ca], [cert, key, authority.ca]);
  const days = ((material?.times?.expiresAt ?? 0) - Date.now()) / DAY_MS;
  assert.ok(days > 29 && days < 31, `${days} days`);
});

test('every fault of a certificate is named with its file', (t) => {
  const authority = createAuthority(t);
  const neo = authority.issue('neo');
  const expired = authority.issue('expired', { valid: EXPIRED });
  const early = authority.issue('early', { valid: NOT_YET_VALID });
  const client = authority.issue('client', { purposes: 'clientAuth' });
  assert.match(said({ ...expired }).join(), /^cert_file: \/.*expired\.pem expired at \d{4}-.*Z: renew it$/);
  assert.match(
    said({ ...early }).join(),
    /^cert_file: .*early\.pem is not valid before .*: is this machine's clock right/,
  );
  assert.match(
    said({ ...client }).join(),
    /client\.pem is not for a server: its extended key usage lacks serverAuth/,
  );
  assert.deepEqual(said({ ...client }, { ...server, use: 'client' }), []);
  assert.match(
    said({ ...neo, keyFile: early.keyFile }).join(),
    /^key_file: .*early\.key is not the key of the certificate in .*neo\.pem: they must be from one request$/,
  );
  const host = { name: 'switch.example', key: 'fleet.server.public_url' };
  assert.match(
    said({ ...neo }, { ...server, host }).join(),
    /neo\.pem is not for switch\.example, the host of fleet\.server\.public_url, but for DNS:localhost, IP Address:127\.0\.0\.1: get a certificate for it/,
  );
  for (const name of ['localhost', '127.0.0.1'])
    assert.deepEqual(said({ ...neo }, { ...server, host: { name, key: 'x' } }), []);
});

test('a wildcard and an IPv6 address are names as any other', (t) => {
  const { certFile, keyFile } = createAuthority(t).issue('any', { names: 'DNS:*.fleet.example,IP:::1' });
  const check = (name: string) => said({ certFile, keyFile }, { ...server, host: { name, key: 'x' } });
  assert.deepEqual([...check('neo.fleet.example'), ...check('[::1]')], []);
  assert.equal(check('a.neo.fleet.example').length, 1);
});

test('all problems of all files are reported at once', (t) => {
  const { dir } = createAuthority(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const keyFile = join(dir, 'locked.key');
  const locked = ['genpkey', '-algorithm', 'ed25519', '-aes256', '-pass', 'pass:1234', '-out', keyFile];
  execFileSync('openssl', locked, { stdio: 'ignore' });
  const found = said({ caFile: join(dir, 'nowhere.pem'), certFile: file('no.pem', 'hello'), keyFile });
  assert.equal(found.length, 3);
  assert.match(found[0] ?? '', /ca_file: .*nowhere\.pem cannot be read \(ENOENT\)/);
  assert.match(found[1] ?? '', /cert_file: .*no\.pem holds no certificate/);
  assert.match(found[2] ?? '', /key_file: .*locked\.key is encrypted: store the key without a passphrase/);
  assert.match(said({ keyFile: file('no.key', 'hello') }).join(), /no\.key holds no private key in PEM/);
  assert.match(said({ caFile: file('no-ca.pem', 'hello') }).join(), /ca_file: .*holds no certificate/);
});

test('a certificate that expires within two weeks is a warning', (t) => {
  const { certFile, keyFile } = createAuthority(t).issue('neo', { valid: [0, 100 * DAY_MS] });
  const check = (days: number) =>
    readTls({ certFile, keyFile }, { ...server, now: Date.now() + days * DAY_MS });
  assert.deepEqual(check(85).warnings, []);
  const { warnings, problems } = check(87);
  assert.match(warnings.map(({ reason }) => reason).join(), /neo\.pem expires at .*: renew it before/);
  assert.deepEqual(problems, []);
});

test('a certificate that is valid for a day is due in its last fifth, and no earlier', (t) => {
  const { certFile, keyFile } = createAuthority(t).issue('brief', { valid: [0, DAY_MS] });
  const at = (share: number) =>
    readTls({ certFile, keyFile }, { ...server, now: Date.now() + share * DAY_MS });
  const { material, warnings } = at(0.75);
  assert.deepEqual(warnings, []);
  const { expiresAt = 0, renewBy = 0 } = material?.times ?? {};
  assert.equal(expiresAt - renewBy, DAY_MS / 5);
  assert.equal(at(0.85).warnings.length, 1);
});
