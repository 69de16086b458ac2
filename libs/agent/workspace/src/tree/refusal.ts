import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { named, type Uncommitted } from '../git/add-all.ts';
import { LEFT_OUT, NAMES, pathsOf } from '../git/diff.ts';
import type { Git, GitPlace } from '../git/git.ts';
import { unlessAbsent } from '../process/system-error.ts';

/** Why the last result of a context was not taken, and the files that it had. They are still in the tree. */
export type Refusal = z.output<typeof RefusalSchema>;

const RefusalSchema = z.object({ reason: z.string(), paths: z.array(z.string()) });
/** More files are not recorded. */
const MAX_PATHS = 1000;

const fileOf = (context: string): string => join(context, 'refused');

/** Records a refusal in the folder of the context, which commands cannot write to. */
export const recordRefusal = (context: string, { reason, paths }: Refusal): Promise<void> =>
  writeFile(fileOf(context), JSON.stringify({ reason, paths: paths.slice(0, MAX_PATHS) }));

/**
 * Records the refusal of the work of a tree, with the paths that the task's own git shows as changed since a commit. Where this
 * fails, as on a full disk, later tasks are not told of the refusal.
 */
export async function recordRefused(
  {
    name,
    dir,
    git,
    log,
  }: { readonly name: string; readonly dir: string; readonly git: Git; readonly log: Log },
  place: GitPlace,
  { reason, since }: { readonly reason: string; readonly since: string },
): Promise<void> {
  try {
    const { exitCode, stdout } = await git.exec(place, ['diff', ...NAMES, since, ...LEFT_OUT]);
    await recordRefusal(dir, { reason, paths: exitCode === 0 ? pathsOf(stdout) : [] });
  } catch (err) {
    log.error({ context: name, err }, 'the refusal of a result cannot be recorded');
  }
}

export const forgetRefusal = (context: string): Promise<void> => rm(fileOf(context), { force: true });

/** The refusal that the last task ended with, undefined when its result was taken. */
export async function readRefusal(context: string): Promise<Refusal | undefined> {
  const text = await readFile(fileOf(context), 'utf8').catch(unlessAbsent);
  if (!text) return undefined;
  // A power cut may have cut the file.
  return RefusalSchema.catch({ reason: 'the record of the reason is damaged', paths: [] }).parse(
    parseJson(text),
  );
}

/** Tells the caller of a task what an earlier task of its context left. `taken`: it is part of the results now. */
export function toldOf({ reason, paths }: Refusal, taken: boolean): Uncommitted {
  const files = paths.length === 0 ? 'the files of the tree' : named(paths);
  const earlier = `left by an earlier task of this context, whose result was refused (${reason})`;
  const todo = taken
    ? `review ${files}: ${earlier}, and part of the branch now`
    : `remove or mend ${files}: ${earlier}; no result of this context is taken before that`;
  return { todo, certain: true };
}
