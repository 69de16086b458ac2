import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { unlessAbsent } from '../process/system-error.ts';

const RecordSchema = z.object({
  commit: z.string(),
  repository: z.string().optional(),
  bytes: z.number(),
  /** Bundles of the same caller that have its prerequisites. */
  buildsOn: z.array(z.string()),
  /** Prerequisites that no bundle has. */
  fromRepository: z.array(z.string()).optional(),
  /** When it was sent, last; 0 when it is needed by others only. */
  takenAt: z.number(),
  /** The contexts that use it, and since when, or again. */
  contexts: z.record(z.string(), z.number()),
});

/** A bundle that is kept. Times are in milliseconds since the epoch. */
export interface StoredBundle extends Readonly<z.output<typeof RecordSchema>> {
  /** The folder of its caller. */
  readonly folder: string;
  /** Its SHA-256, and the name of its file. */
  readonly bundle: string;
}

export const bundleFile = ({ folder, bundle }: StoredBundle): string => join(folder, `${bundle}.bundle`);
const recordFile = ({ folder, bundle }: StoredBundle): string => join(folder, `${bundle}.json`);
const RECORD = /^([0-9a-f]{64})\.json$/;
const FOLDER = /^[0-9a-f]{40}$/;

/** Writes the record of a bundle, which counts from then on. It is durable when this resolves. */
export async function writeRecord(stored: StoredBundle): Promise<void> {
  const file = recordFile(stored);
  const { folder, bundle: _name, ...record } = stored;
  await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  await syncPath(folder);
}

/** Takes a file over as that of a bundle. The bundle counts when its record is written. */
export async function keepFile(file: string, stored: StoredBundle): Promise<void> {
  await mkdir(stored.folder, { recursive: true, mode: 0o700 });
  await syncPath(file);
  await rename(file, bundleFile(stored));
  await syncPath(join(stored.folder, '..'));
}

/** Removes a bundle, which counts no more before its file goes. */
export async function removeStored(stored: StoredBundle): Promise<void> {
  await rm(recordFile(stored), { force: true });
  await rm(bundleFile(stored), { force: true });
}

/** Reads the bundles of all callers, and removes what a crash left of others: files without a record, and records without their file. */
export async function readStored(dir: string, log: Log): Promise<StoredBundle[]> {
  const names = (await readdir(dir)).filter((name) => FOLDER.test(name));
  return (await Promise.all(names.map((name) => readFolder(join(dir, name), log)))).flat();
}

async function readFolder(folder: string, log: Log): Promise<StoredBundle[]> {
  const names = await readdir(folder);
  const found: StoredBundle[] = [];
  for (const bundle of names.flatMap((name) => RECORD.exec(name)?.[1] ?? [])) {
    const record = RecordSchema.safeParse(parseJson(await readFile(join(folder, `${bundle}.json`), 'utf8')));
    const stored = record.success ? { ...record.data, folder, bundle } : undefined;
    const size = stored && (await stat(bundleFile(stored)).catch(unlessAbsent))?.size;
    if (stored !== undefined && size === stored.bytes) found.push(stored);
  }
  const known = new Set(found.flatMap(({ bundle }) => [`${bundle}.json`, `${bundle}.bundle`]));
  for (const file of names.filter((name) => !known.has(name))) {
    log.warn({ folder, file }, 'an incomplete bundle was removed');
    await rm(join(folder, file), { force: true });
  }
  return found;
}

async function syncPath(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
