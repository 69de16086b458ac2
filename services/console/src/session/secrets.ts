import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A secret of 256 bits, fit for a URL and a cookie. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** What the console keeps of a secret. Equal digests mean equal secrets, and a digest tells nothing about its secret. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** Compares two secrets in a time that does not depend on where they differ. */
export function isSame(given: string, known: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(known));
}
