import { randomUUID } from 'node:crypto';
import { lstat, readdir, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { unlessAbsent } from '../process/system-error.ts';
import { contextName } from '../stores/context-name.ts';
import { OBJECT_ID } from '../stores/store.ts';

/** In a context's folder, where commands cannot write: its id. The file's modification time is the last use. */
const CONTEXT = 'context';
/** Prefix of the folder of a context that is being removed; the context's name and a UUID follow. */
const REMOVED = '.removed-';
const UUID_LENGTH = 36;

/** In a context's folder: the commit that it started from, written when the context is set up. */
export const READY = 'ready';

export interface StoredContext {
  readonly name: string;
  /** Undefined when the file with the id is missing or empty, as a crash can leave it. */
  readonly contextId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly usedAt: number;
}

/** Records, at the beginning and the end of a use, whose folder it is and that it is used now. */
export async function markUsed(dir: string, contextId: string, clock: Clock): Promise<void> {
  const file = join(dir, CONTEXT);
  const known = await readFile(file, 'utf8').catch(unlessAbsent);
  if (known !== contextId) await writeFile(file, contextId);
  const now = new Date(clock.now());
  await utimes(file, now, now);
}

/** Reads a context of the folder `contexts`; undefined when it is not there. */
export async function readContext(contexts: string, name: string): Promise<StoredContext | undefined> {
  const dir = join(contexts, name);
  const file = join(dir, CONTEXT);
  const [folder, marked] = [await lstat(dir).catch(unlessAbsent), await lstat(file).catch(unlessAbsent)];
  if (folder === undefined || !folder.isDirectory()) return undefined;
  if (marked === undefined) return { name, contextId: undefined, usedAt: folder.mtimeMs };
  const contextId = await readFile(file, 'utf8').catch(unlessAbsent);
  // A power cut may have emptied the file.
  const isIts = contextId !== undefined && contextName(contextId) === name;
  return { name, contextId: isIts ? contextId : undefined, usedAt: marked.mtimeMs };
}

/** Returns the commit that a context started from, undefined while it is not set up. */
export async function readBase(dir: string): Promise<string | undefined> {
  const text = (await readFile(join(dir, READY), 'utf8').catch(unlessAbsent)) ?? '';
  return OBJECT_ID.test(text) ? text : undefined;
}

/** The names of all contexts. */
export async function contextNames(contexts: string): Promise<string[]> {
  const entries = await readdir(contexts, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() && !entry.name.startsWith('.') ? [entry.name] : []));
}

/** Takes a context away from its name in one step. Its files are removed afterwards, by the next start if need be. */
export async function setAside(contexts: string, name: string): Promise<void> {
  await rename(join(contexts, name), join(contexts, `${REMOVED}${name}-${randomUUID()}`)).catch(unlessAbsent);
}

/** The folders of contexts that were taken away, all of them or those of one name. */
export async function setAsideFolders(contexts: string, name?: string): Promise<string[]> {
  const entries = await readdir(contexts, { withFileTypes: true });
  const found = entries.filter((entry) => entry.isDirectory() && entry.name.startsWith(REMOVED));
  const its = found.filter((entry) => name === undefined || nameOf(entry.name) === name);
  return its.map((entry) => join(contexts, entry.name));
}

const nameOf = (entry: string): string => entry.slice(REMOVED.length, -UUID_LENGTH - 1);
