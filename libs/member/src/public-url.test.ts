import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { publicUrl } from './public-url.ts';

const TABLE: readonly [what: string, server: object, host: string, url: string][] = [
  ['the bind address', {}, 'neo:1', 'http://127.0.0.1:9220/jsonrpc'],
  ['an IPv6 bind address', { bind_host: '::1' }, 'neo:1', 'http://[::1]:9220/jsonrpc'],
  ['the public address', { public_url: 'http://neo:9220/' }, 'evil', 'http://neo:9220/jsonrpc'],
  ['the host asked for, where it is allowed', { allowed_hosts: ['neo'] }, 'neo:81', 'http://neo:81/jsonrpc'],
  ['no host that is none', { allowed_hosts: ['neo'] }, 'neo:x y', 'http://127.0.0.1:9220/jsonrpc'],
];

test('a card shows', async (t) => {
  for (const [what, extra, host, url] of TABLE)
    await t.test(what, () => {
      const { fleet } = FleetConfigSchema.parse({
        fleet: { server: { bind_port: 9220, auth_required: false, ...extra } },
      });
      assert.ok(fleet.server);
      assert.equal(publicUrl(fleet.server, { host, protocol: 'http' }), url);
    });
});
