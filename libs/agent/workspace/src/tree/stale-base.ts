import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Uncommitted } from '../git/add-all.ts';
import { unlessAbsent } from '../process/system-error.ts';

const fileOf = (context: string): string => join(context, 'stale');

/** Records, in the folder of a context, that it started while its remote could not be reached. `since` says from which commit. */
export const recordStale = (context: string, since: string): Promise<void> =>
  writeFile(fileOf(context), since);

/** What the first result of such a context says. */
export async function readStale(context: string): Promise<Uncommitted[]> {
  const since = await readFile(fileOf(context), 'utf8').catch(unlessAbsent);
  if (since === undefined) return [];
  const todo = `compare with the newest commit of the branch: the work is based on ${since}`;
  return [{ todo, certain: true }];
}

export const forgetStale = (context: string): Promise<void> => rm(fileOf(context), { force: true });
