import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** PKCS #8 of an Ed25519 key up to its 32 bytes (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;

export interface PushSigner {
  /** The public key as targets know it: `whpk_` and base64. */
  readonly publicKey: string;
  /** The headers that sign a notification at this time. */
  sign(id: string, body: string): Readonly<Record<string, string>>;
}

/**
 * Signs notifications as the Standard Webhooks specification says (https://www.standardwebhooks.com), version v1a: with
 * Ed25519, so that a target can verify a signature and cannot make one (docs/push.md#signatures). `key` has 32 bytes.
 */
export function createPushSigner(key: Uint8Array, clock: Clock): PushSigner {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, key]),
    format: 'der',
    type: 'pkcs8',
  });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return {
    publicKey: `whpk_${spki.subarray(-KEY_BYTES).toString('base64')}`,
    sign(id, body) {
      const timestamp = Math.floor(clock.now() / 1000);
      const signature = sign(null, Buffer.from(`${id}.${timestamp}.${body}`), privateKey).toString('base64');
      return { 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1a,${signature}` };
    },
  };
}
