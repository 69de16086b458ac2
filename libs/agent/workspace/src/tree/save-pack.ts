import type { Log } from '@hermes-fleet/protocol/ports';
import { notAdded, type Uncommitted } from '../git/add-all.ts';
import { LEFT_OUT } from '../git/diff.ts';
import { failureOf, type Git, type GitPlace } from '../git/git.ts';
import { receivePack } from '../stores/pack-file.ts';
import { MAX_FILE_BYTES, MAX_PACK_BYTES, RefusedPack, type TasksPack } from '../stores/quarantine.ts';
import type { CheckedPack } from '../stores/results.ts';
import { OBJECT_ID } from '../stores/store.ts';
import { SAVE } from './scripts.ts';

const SAVE_MS = 10 * 60_000;

/** The pack that a tree wrote of its work. Nothing of it is checked yet. */
export interface SavedPack {
  /** The commit of the tree. */
  readonly commit: string;
  /** Undefined when the gateway has the commit. */
  readonly pack: TasksPack | undefined;
  /** True when the tree may have repositories of its own. */
  readonly mayEmbed: boolean;
  readonly left: Uncommitted | undefined;
}

/** The work of a tree, which was checked and is no result yet. */
export interface SavedWork {
  /** The commit of the tree. */
  readonly commit: string;
  /** Undefined when the result has the commit, or the work was refused. */
  readonly checked: CheckedPack | undefined;
  readonly left: readonly Uncommitted[];
}

/** Runs SAVE in the tree of a context, as its task, and writes the pack to a new file. Throws RefusedPack. */
export async function savePack(
  { name, git, log }: { readonly name: string; readonly git: Git; readonly log: Log },
  { place, tmp, file }: { readonly place: GitPlace; readonly tmp: string; readonly file: string },
  mode: 'commit' | 'end' | 'snapshot',
  message: string,
  known: { readonly commit: string; readonly base: string; readonly objects: string },
): Promise<SavedPack> {
  const script = {
    text: SAVE,
    args: [mode, message, known.commit, known.base, known.objects, tmp, String(MAX_FILE_BYTES), ...LEFT_OUT],
  };
  const limits = { file, maxBytes: MAX_PACK_BYTES, timeoutMs: SAVE_MS };
  const { result, header = '' } = await receivePack(git, place, script, limits);
  const [added, commit = '', embeds] = header.split(' ');
  if (result.killed === 'output') throw new RefusedPack(`it is larger than ${MAX_PACK_BYTES} bytes`);
  if (result.limit !== undefined) throw new RefusedPack(result.limit);
  if (result.exitCode !== 0 || !OBJECT_ID.test(commit)) {
    log.warn({ context: name, ...failureOf(result) }, 'git failed in a context');
    throw new RefusedPack('git does not work in the repository of the context');
  }
  return {
    commit,
    pack: commit === known.commit ? undefined : { file, commit, base: known.base },
    mayEmbed: embeds === '1',
    left: added === '1' ? await notAdded(git, place) : undefined,
  };
}
