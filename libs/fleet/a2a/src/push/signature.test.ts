import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { startPushing } from '../../testing/pushing.ts';
import { startWebhook } from '../../testing/webhook.ts';
import { createPushSigner } from './signature.ts';

const KEY = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');

/** The example of docs/push.md. */
async function verifier(): Promise<(key: string, headers: object, body: string) => boolean> {
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/push.md'), 'utf8');
  const [, code = ''] = /```js\n([\s\S]+?)```/.exec(page) ?? [];
  const { isGenuine } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  return isGenuine;
}

test('the public key is that of RFC 8032, section 7.1, test 1', () => {
  const publicKey = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
  assert.equal(createPushSigner(KEY, systemClock).publicKey, `whpk_${publicKey.toString('base64')}`);
});

test('a target verifies a notification as the documentation shows', async (t) => {
  const isGenuine = await verifier();
  const hook = await startWebhook(t);
  const signer = createPushSigner(KEY, systemClock);
  const pushing = startPushing(t, { signer });
  await pushing.create(await pushing.begin(), hook.url);
  const { headers, text } = await hook.next();
  assert.equal(isGenuine(signer.publicKey, headers, text), true);
  assert.equal(isGenuine(signer.publicKey, headers, `${text} `), false);
  assert.equal(isGenuine(signer.publicKey, { ...headers, 'webhook-id': 'other' }, text), false);
  const other = createPushSigner(Buffer.alloc(32, 1), systemClock).publicKey;
  assert.equal(isGenuine(other, headers, text), false);
});

test('an old notification is not genuine any more', async () => {
  const isGenuine = await verifier();
  const past = { ...systemClock, now: () => Date.now() - 301_000 };
  const signer = createPushSigner(KEY, past);
  const headers = { 'webhook-id': 'id', ...signer.sign('id', '{}') };
  assert.equal(isGenuine(signer.publicKey, headers, '{}'), false);
});
