import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Identifiers, injected for tests. */
export interface Ids {
  /** A UUIDv7: unique, and later ones sort after earlier ones. */
  uuid(): string;
}

const UUID_BYTES = 16;
/** One call of the system's generator costs about as much for all of these as for one UUID. */
const pool = Buffer.alloc(256 * UUID_BYTES);
let used = pool.length;

/** What each UUID is made of, kept because a task takes several: random bytes, time and sequence, the bytes, and the text. */
const parts = { random: Buffer.alloc(UUID_BYTES), msecs: 0, seq: 0 };
const bytes = Buffer.alloc(UUID_BYTES);
const text = Buffer.alloc(36, '-');

const DIGITS = Buffer.from('0123456789abcdef');
/** Where the two digits of each byte begin in the text. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

function takeRandom(): void {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  pool.copy(parts.random, 0, used, used + UUID_BYTES);
  used += UUID_BYTES;
}

export const systemIds: Ids = {
  uuid() {
    const now = Date.now();
    takeRandom();
    if (now > parts.msecs) {
      parts.msecs = now;
      parts.seq = parts.random.readUInt32BE() >>> 1;
    } else {
      // The clock stands still or was set back: the sequence counts on (RFC 9562, section 6.2).
      parts.seq = (parts.seq + 1) >>> 0;
      if (parts.seq === 0) parts.msecs += 1;
    }
    v7(parts, bytes);
    for (let at = 0; at < UUID_BYTES; at += 1) {
      const byte = bytes.readUInt8(at);
      const place = PLACES[at] ?? 0;
      text.writeUInt8(DIGITS.readUInt8(byte >>> 4), place);
      text.writeUInt8(DIGITS.readUInt8(byte & 0xf), place + 1);
    }
    return text.toString('latin1');
  },
};
