const BYTES = 32;
const FORM = /^(?:whsk_)?([A-Za-z0-9+/]{43}=?)$/;

/**
 * The private key of `fleet.push.signing_key_env`: 32 bytes in base64, with or without the prefix `whsk_` of the Standard
 * Webhooks specification. Undefined for another text.
 */
export function readPushKey(text: string): Uint8Array | undefined {
  const [, base64 = ''] = FORM.exec(text.trim()) ?? [];
  const key = Buffer.from(base64, 'base64');
  return key.length === BYTES ? key : undefined;
}
