import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Identifiers, injected for tests. */
export interface Ids {
  /** A UUIDv7: unique, and later ones sort after earlier ones. */
  uuid(): string;
}

const UUID_BYTES = 16;
/** One call of the system's generator costs about as much for all of these as for one UUID. */
const pool = new Uint8Array(256 * UUID_BYTES);
let used = pool.length;

function randomBytes(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += UUID_BYTES;
  return pool.subarray(used - UUID_BYTES, used);
}

let msecs = 0;
let seq = 0;

export const systemIds: Ids = {
  uuid() {
    const now = Date.now();
    const random = randomBytes();
    if (now > msecs) {
      msecs = now;
      seq = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
    } else {
      // The clock stands still or was set back: the sequence counts on (RFC 9562, section 6.2).
      seq = (seq + 1) >>> 0;
      if (seq === 0) msecs += 1;
    }
    return v7({ random, msecs, seq });
  },
};
