import type { Clock } from '@hermes-fleet/protocol/ports';
import { digestOf, newSecret } from './secrets.ts';

/** The time for which a code can be used. */
const VALID_MS = 5 * 60_000;
/** The maximum number of codes that are not used yet: the oldest gives way. */
const MAX_CODES = 20;

/** One-time codes, each of which opens one session (docs/console.md#signing-in). */
export interface Codes {
  make(): { readonly code: string; readonly expiresAt: number };
  /** True once for a code that was made in the last five minutes. */
  use(code: string): boolean;
}

export function createCodes(clock: Pick<Clock, 'now'>): Codes {
  /** The digests, the oldest first. */
  const open = new Map<string, number>();
  const dropOld = (): void => {
    const now = clock.now();
    for (const [digest, expiresAt] of open) if (expiresAt <= now) open.delete(digest);
  };
  return {
    make() {
      dropOld();
      const [oldest] = open.keys();
      if (open.size >= MAX_CODES && oldest !== undefined) open.delete(oldest);
      const code = newSecret();
      const expiresAt = clock.now() + VALID_MS;
      open.set(digestOf(code), expiresAt);
      return { code, expiresAt };
    },
    use(code) {
      dropOld();
      return open.delete(digestOf(code));
    },
  };
}
