import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { createAuthority, EXPIRED } from '@hermes-fleet/net/testing';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { readCertificates, renewCertificates, timesOf } from './certificates.ts';

const fleet = (server: object, more: object = {}) =>
  FleetConfigSchema.safeParse({
    fleet: { server: { bind_port: 9220, token_env: 'TOKEN', ...server }, ...more },
  });

const configOf = (...given: Parameters<typeof fleet>) => {
  const { data, error } = fleet(...given);
  assert.ok(data, String(error));
  return data;
};

test('all certificates are read, from the folder of fleet.yaml on, with the time of their end', (t) => {
  const { dir, caFile, issue } = createAuthority(t);
  const neo = issue('neo');
  const [cert_file, key_file] = [basename(neo.certFile), basename(neo.keyFile)];
  const client = { ca_file: caFile, cert_file, key_file };
  const config = configOf(
    {
      public_url: 'https://localhost:9220',
      tls: { cert_file, key_file, client_ca_file: caFile, client_cert: 'required' },
    },
    { tls: client, nats: { servers: ['tls://nats:4222'], tls: client } },
  );
  const { certificates, problems, warnings } = readCertificates(config, dir, Date.now());
  assert.deepEqual([problems, warnings], [[], []]);
  const tls = renewCertificates(certificates, { clock: systemClock, log: silentLog });
  assert.deepEqual(
    timesOf(tls).map(([use]) => use),
    ['server', 'client', 'nats'],
  );
  assert.equal(tls.server?.current().cert, readFileSync(neo.certFile, 'utf8'));
});

test('every problem of every certificate is reported at once, with its key and file', (t) => {
  const { dir, issue } = createAuthority(t);
  const [server, old] = [issue('server'), issue('old', { valid: EXPIRED })];
  const config = configOf(
    {
      public_url: 'https://neo.example',
      tls: {
        cert_file: server.certFile,
        key_file: old.keyFile,
        client_ca_file: 'gone.pem',
        client_cert: 'optional',
      },
    },
    {
      tls: { cert_file: old.certFile, key_file: old.keyFile },
      nats: { servers: ['tls://nats:4222'], tls: { ca_file: 'gone.pem' } },
    },
  );
  const said = readCertificates(config, dir, Date.now()).problems.map(
    ({ path, reason }) => `${path}: ${reason}`,
  );
  for (const expected of [
    /^fleet\.server\.tls\.client_ca_file: .*\/gone\.pem cannot be read \(ENOENT\)$/,
    /^fleet\.server\.tls\.cert_file: .*server\.pem is not for neo\.example, the host of fleet\.server\.public_url/,
    /^fleet\.server\.tls\.key_file: .*old\.key is not the key of the certificate in .*server\.pem/,
    /^fleet\.tls\.cert_file: .*old\.pem expired at .*: renew it$/,
    /^fleet\.nats\.tls\.ca_file: .*\/gone\.pem cannot be read/,
  ])
    assert.ok(
      said.some((line) => expected.test(line)),
      `${expected} in\n${said.join('\n')}`,
    );
  assert.equal(said.length, 5);
});

test('settings of TLS that do not fit together are problems of fleet.yaml', () => {
  const tls = { cert_file: 'a.pem', key_file: 'a.key' };
  const said = (...given: Parameters<typeof fleet>): string[] =>
    (fleet(...given).error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}`);
  assert.match(
    said({ tls: { ...tls, client_cert: 'required' } }).join(),
    /^fleet\.server\.tls\.client_ca_file is required/,
  );
  assert.match(
    said({ tls: { ...tls, client_ca_file: 'ca.pem' } }).join(),
    /^fleet\.server\.tls\.client_cert asks for none/,
  );
  assert.match(
    said({ public_url: 'http://neo.example', tls }).join(),
    /^fleet\.server\.public_url is http, and .* serves https/,
  );
  assert.match(
    said({}, { tls: { cert_file: 'a.pem' } }).join(),
    /^fleet\.tls\.key_file is required with cert_file/,
  );
  const nats = { servers: ['tls://nats:4222'], tls: { key_file: 'a.key' } };
  assert.match(said({}, { nats }).join(), /^fleet\.nats\.tls\.cert_file is required with key_file/);
  assert.deepEqual(said({ public_url: 'https://neo.example', tls }), []);
});
