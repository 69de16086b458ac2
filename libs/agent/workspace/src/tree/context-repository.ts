import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { unlessAbsent } from '../process/system-error.ts';

const RecordSchema = z.union([
  z.object({ name: z.string(), branch: z.string() }),
  z.object({ isCheckout: z.literal(true), name: z.string().optional() }),
]);

/**
 * What a context works on: a configured repository, with the branch that it started from; or a checkout of its caller, with the
 * configured repository that has the rest of its history, if one has.
 */
export type ContextRepository = z.output<typeof RecordSchema>;

const fileOf = (context: string): string => join(context, 'repository');

/** Records, in the folder of the context, which commands cannot write to, what it works on. */
export const recordRepository = (context: string, repository: ContextRepository): Promise<void> =>
  writeFile(fileOf(context), JSON.stringify(repository));

/** Undefined for a context that works on the repository of the profile; `unknown` when a power cut has emptied the file. */
export async function readRepository(context: string): Promise<ContextRepository | 'unknown' | undefined> {
  const text = await readFile(fileOf(context), 'utf8').catch(unlessAbsent);
  if (text === undefined) return undefined;
  return RecordSchema.safeParse(parseJson(text)).data ?? 'unknown';
}
