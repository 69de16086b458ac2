import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import type { SentBundle } from '@hermes-fleet/protocol/ports';
import { type Checkout, makeCheckout } from './checkout.ts';

/** A bundle as a caller has it: its bytes, and what it says of them. */
export interface MadeBundle extends SentBundle {
  readonly content: Buffer;
}

/** A bundle of any bytes. */
export const bundleOf = (commit: string, ...content: (string | Buffer)[]): MadeBundle => {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part)));
  return { bundle: createHash('sha256').update(bytes).digest('hex'), commit, content: bytes };
};

/** A checkout whose bundles are at hand. */
export interface SendingCheckout extends Checkout {
  bundle(commit: string, ...prerequisites: string[]): MadeBundle;
}

export function makeSendingCheckout(t: TestContext): SendingCheckout {
  const checkout = makeCheckout(t);
  return {
    ...checkout,
    bundle: (commit, ...prerequisites) =>
      bundleOf(commit, readFileSync(checkout.send(commit, prerequisites))),
  };
}
