import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { FleetError, HANDSHAKE_EXTENSION, PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv } from '@hermes-fleet/service';
import { memberCard, publicUrl } from './card.ts';
import { readMemberEnvironment, traderDir, version } from './environment.ts';

function member(t: TestContext, fleet: unknown, identity?: string) {
  const home = tempDir(t);
  const environment = readMemberEnvironment('trader', traderDir, { HERMES_HOME: home });
  mkdirSync(environment.dir);
  writeFileSync(join(environment.dir, 'fleet.yaml'), JSON.stringify({ fleet }));
  if (identity !== undefined) writeFileSync(join(environment.dir, 'IDENTITY.md'), identity);
  return environment;
}

test('a card is built from fleet.yaml and IDENTITY.md without any token', (t) => {
  const callers = { operator: { token_env: 'NOT_SET', scopes: ['read'] } };
  const environment = member(t, { server: { bind_port: 9223, callers } }, '# trader\n\nTrades on paper.\n');
  const card = memberCard(environment, createSecretEnv({}));
  assert.deepEqual([card.name, card.version], ['trader', version]);
  assert.equal(card.capabilities?.pushNotifications, true);
  assert.equal(card.supportedInterfaces[0]?.url, 'http://127.0.0.1:9223/jsonrpc');
  const [extension] = card.capabilities?.extensions ?? [];
  assert.deepEqual(
    [extension?.uri, extension?.params],
    [HANDSHAKE_EXTENSION, { protocol_versions: [...PROTOCOL_VERSIONS] }],
  );
});

test('without a server or an IDENTITY.md there is no card, and the error says why', (t) => {
  const problem = (fleet: unknown, identity?: string): string => {
    try {
      memberCard(member(t, fleet, identity), createSecretEnv({}));
    } catch (thrown) {
      if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID')
        return thrown.fields[0]?.path ?? '';
      throw thrown;
    }
    return 'none';
  };
  assert.equal(problem({ enabled: false }, '# trader\n'), 'fleet.yaml fleet.server');
  const server = { bind_port: 9223, auth_required: false };
  assert.equal(problem({ server }), 'IDENTITY.md');
  assert.equal(problem({ server }, '# trader\n'), 'none');
});

const URLS: readonly [name: string, server: object, host: string, url: string][] = [
  ['the bind address', {}, 'neo:1', 'http://127.0.0.1:9220/jsonrpc'],
  ['an IPv6 bind address', { bind_host: '::1' }, 'neo:1', 'http://[::1]:9220/jsonrpc'],
  ['the public address', { public_url: 'http://neo:9220/' }, 'evil', 'http://neo:9220/jsonrpc'],
  ['the requested host when it is allowed', { allowed_hosts: ['neo'] }, 'neo:81', 'http://neo:81/jsonrpc'],
  ['not an invalid host', { allowed_hosts: ['neo'] }, 'neo:x y', 'http://127.0.0.1:9220/jsonrpc'],
];

test('a card shows', async (t) => {
  for (const [name, extra, host, url] of URLS)
    await t.test(name, () => {
      const { fleet } = FleetConfigSchema.parse({
        fleet: { server: { bind_port: 9220, auth_required: false, ...extra } },
      });
      assert.ok(fleet.server);
      assert.equal(publicUrl(fleet.server, { host, protocol: 'http' }), url);
    });
});
