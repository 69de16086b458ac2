import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The headers of the write-ahead log and of a frame, bytes (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;

/** The number of transactions in the write-ahead log of a profile's ledger. A checkpoint starts the count again. */
export function commitsOf({ dir }: { readonly dir: string }): number {
  const log = readFileSync(join(dir, 'ledger.db-wal'));
  if (log.length < LOG_HEADER) return 0;
  const pageSize = log.readUInt32BE(8);
  const salts = log.subarray(16, 24);
  let commits = 0;
  for (let at = LOG_HEADER; at + FRAME_HEADER <= log.length; at += FRAME_HEADER + pageSize) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    // Only the last frame of a transaction has the size of the database.
    if (log.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return commits;
}
