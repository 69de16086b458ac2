import { open } from 'node:fs/promises';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import { named } from '../git/add-all.ts';
import { firstLine } from '../process/system-error.ts';
import { MOVE_ON } from './scripts.ts';
import type { TreeRepository } from './tree-repository.ts';

const MOVE_MS = 10 * 60_000;

/**
 * Brings a newer commit of the caller's checkout into the tree of a context, all of whose files are in the result `tip`: as it is
 * where it contains the result; else what it changes since `from`, the last one that came, is merged, whatever became of the caller's
 * history. Resolves with the result that the tree has then, or with why the task cannot begin, and then nothing has changed.
 */
export async function moveOn(
  repository: TreeRepository,
  at: { readonly name: string; readonly tip: string; readonly from: string; readonly onto: string },
): Promise<{ readonly tip: string } | { readonly refused: Unmet }> {
  const { git, place, results } = repository;
  const { name, tip, from, onto } = at;
  if (await results.isAncestor(onto, tip)) return { tip };
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
  const moved = await git.script(place, MOVE_ON, [commit, hasPack ? 'pack' : ''], call);
  if (moved.exitCode !== 0) {
    const why = firstLine(moved.stderr, 'git says nothing');
    return refused(name, `the tree of the context cannot take what was sent (${why})`);
  }
  // A tree that has the commit before the branch does is found so by the next task.
  await results.moveTo(name, commit, onto);
  return { tip: commit };
}

const refused = (name: string, reason: string): { readonly refused: Unmet } => {
  const detail = `${reason}: take the result (fleet pull), merge it and send again, or start a new context`;
  return { refused: { kind: 'repo', name, detail, transient: false } };
};
