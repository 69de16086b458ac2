import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import { named } from '../git/add-all.ts';
import { firstLine, isThere } from '../process/system-error.ts';
import { MOVE_BACK, MOVE_ON } from './scripts.ts';
import type { TreeRepository } from './tree-repository.ts';

const MOVE_MS = 10 * 60_000;

/**
 * Brings a newer commit of the caller's checkout into the tree of a context, all of whose files are in the result `tip`: as it is
 * where it contains the result; else what it changes since `from`, the last one that came, is merged, whatever became of the caller's
 * history. Resolves with the result that the tree has then, or with why the task cannot begin, and then nothing has changed.
 */
export async function moveOn(
  repository: TreeRepository,
  at: {
    readonly name: string;
    /** The folder of the context. */
    readonly context: string;
    readonly tip: string;
    readonly from: string;
    readonly onto: string;
  },
): Promise<{ readonly tip: string; readonly from: string } | { readonly refused: Unmet }> {
  const { git, place, base, results } = repository;
  const { name, context, tip, from, onto } = at;
  await results.takeShallow();
  if (await results.isAncestor(onto, tip))
    return { tip, from: (await results.isAncestor(from, onto)) ? onto : from };
  const made = (await results.isAncestor(tip, onto))
    ? { commit: onto }
    : await results.merge({ ours: tip, from, theirs: onto, message: 'Merge newer commits of the checkout' });
  if (Array.isArray(made))
    return refused(name, `what was sent conflicts with the result of the context in ${named(made)}`);
  const { commit } = made;
  await using pack = results.passing();
  const hasPack = commit !== onto;
  if (hasPack) await results.give(pack.file, commit, onto);
  await using stdin = hasPack ? await open(pack.file, 'r') : undefined;
  const call = { timeoutMs: MOVE_MS, stdin: stdin?.fd };
  await writeFile(markOf(context), commit);
  const args = [commit, hasPack ? 'pack' : '', ...(await base.shallow())];
  const moved = await git.script(place, MOVE_ON, args, call);
  if (moved.exitCode !== 0) {
    // Git changes nothing where it refuses.
    if (moved.killed === undefined) await rm(markOf(context), { force: true });
    else await mendMove(repository, at);
    const why = firstLine(moved.stderr, 'git says nothing');
    return refused(name, `the tree of the context cannot take what was sent (${why})`);
  }
  await results.moveTo(name, commit, onto);
  await rm(markOf(context), { force: true });
  return { tip: commit, from: onto };
}

/** Undoes, or completes, a move that a crash interrupted: the tree gets the files of the result as it is recorded. */
export async function mendMove(
  { git, place }: Pick<TreeRepository, 'git' | 'place'>,
  { context, tip }: { readonly context: string; readonly tip: string },
): Promise<void> {
  if (!(await isThere(markOf(context)))) return;
  const { exitCode } = await git.script(place, MOVE_BACK, [tip], { timeoutMs: MOVE_MS });
  if (exitCode === 0) await rm(markOf(context), { force: true });
}

/** In the folder of the context, while a move is under way. */
const markOf = (context: string): string => join(context, 'moving');

const refused = (name: string, reason: string): { readonly refused: Unmet } => {
  const detail = `${reason}: take the result (fleet pull), merge it and send again, or start a new context`;
  return { refused: { kind: 'repo', name, detail, transient: false } };
};
