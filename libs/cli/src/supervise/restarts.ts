import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson, systemCode } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** The restarts of a process since the last `up`; times are in milliseconds since the epoch. */
const Restarts = z
  .object({
    count: z.int(),
    lastAt: z.number(),
    failedAt: z.number().optional(),
    /** Why it stays down since `failedAt`: it died too often, or its program has changed since `up`. */
    reason: z.enum(['deaths', 'program']).optional(),
  })
  .readonly();
const Record = z.record(z.string(), Restarts);
/** The restarts by the name of the process. */
export type RestartRecord = Readonly<z.output<typeof Record>>;

/** The supervisor writes it when it begins, and `up` and `down` remove it. Pid files end in `.json`, and this is none. */
export const restartsFile = (runDir: string): string => join(runDir, 'restarts');

export function writeRestarts(runDir: string, record: RestartRecord): void {
  const file = restartsFile(runDir);
  writeFileSync(`${file}.tmp`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

/** Undefined before the first supervisor. Throws ZodError for a file that no supervisor wrote. */
export function readRestarts(runDir: string): RestartRecord | undefined {
  try {
    return Record.parse(parseJson(readFileSync(restartsFile(runDir), 'utf8')));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
