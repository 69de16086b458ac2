import { FleetError } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { LEFT_OUT_ENTRIES, LEFT_OUT_WORDS } from '../git/diff.ts';
import { failureOf, type Git, type GitPlace } from '../git/git.ts';
import { OBJECT_ID } from './store.ts';

/** How the gateway makes the commits of results (docs/configuration.md#commits). */
export interface CommitSettings {
  /** Author and committer; default: the profile. */
  readonly author?: { readonly name: string; readonly email: string } | undefined;
  /** A private key of ssh without a passphrase. Without it, commits are not signed. */
  readonly signingKeyFile?: string | undefined;
}

/** Told to the caller, who learns no path of the gateway. */
const UNSIGNED = 'it could not be signed; the log of the worker has the output of ssh-keygen';
const PACK_MS = 10 * 60_000;

/** A commit of the gateway. */
export interface ResultCommit {
  readonly id: string;
  readonly parent: string;
  /** The object as git stores it; undefined for a commit that was there before. */
  readonly content: string | undefined;
  /** Why a commit that is to be signed is not. */
  readonly unsigned?: string | undefined;
}

/** Variables that name the author and the committer, in place of those of `createGit`. */
export function authorEnv({ author }: CommitSettings): Record<string, string> {
  if (author === undefined) return {};
  const { name, email } = author;
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}

/**
 * Makes one commit of the files of another: on `parent`, with this message, and nothing else of the other, neither its
 * author nor the commits before it. A pack of what it adds to the parent is written into `folder`. Returns the parent, without
 * a pack, where the files are the same. A commit that cannot be signed is made without a signature, so that no work is lost,
 * and says so. Throws INTERNAL.
 */
export async function commitFilesOf(
  git: Git,
  place: GitPlace,
  { files, parent, message, folder }: { readonly [K in 'files' | 'parent' | 'message' | 'folder']: string },
  settings: CommitSettings & { readonly log: Log },
): Promise<ResultCommit> {
  const { signingKeyFile: key = '', log } = settings;
  const here = { ...place, env: { ...place.env, ...authorEnv(settings) } };
  const make = (signedWith: string) =>
    git.script(here, COMMIT, [files, parent, message, signedWith, folder], { timeoutMs: PACK_MS });
  let made = await make(key);
  let unsigned: string | undefined;
  if (made.exitCode !== 0 && key !== '') {
    const signing = failureOf(made);
    made = await make('');
    // Without a key it fails too unless the key was the reason.
    if (made.exitCode === 0) {
      log.error({ key, ...signing }, 'a commit cannot be signed');
      unsigned = UNSIGNED;
    }
  }
  const end = made.stdout.indexOf('\n');
  const id = made.stdout.slice(0, end);
  if (made.exitCode !== 0 || !OBJECT_ID.test(id)) {
    log.error(failureOf(made), 'git cannot make a commit of a result');
    throw new FleetError('INTERNAL', 'the commit of a result cannot be made; the log has git’s output');
  }
  if (id === parent) return { id, parent, content: undefined };
  return { id, parent, content: made.stdout.slice(end + 1), unsigned };
}

/**
 * Prints the id of the commit, and the commit itself if it is new. Files that no result has, which a task committed itself, are as
 * in the parent.
 */
const COMMIT = `tree=$(git rev-parse --verify -q "$1^{tree}") || exit
if ! git diff-tree --quiet "$2" "$1" -- ${LEFT_OUT_WORDS}; then
  tree=$({ git ls-tree -z "$1" | grep -zvE '${LEFT_OUT_ENTRIES}'; git ls-tree -z "$2" | grep -zE '${LEFT_OUT_ENTRIES}'; } |
    git mktree -z) || exit
fi
if [ "$tree" = "$(git rev-parse --verify -q "$2^{tree}")" ]; then echo "$2"; exit; fi
if [ "$4" ]; then
  commit=$(printf %s "$3" | git -c gpg.format=ssh -c user.signingKey="$4" commit-tree -S -p "$2" "$tree") || exit
else
  commit=$(printf %s "$3" | git commit-tree -p "$2" "$tree") || exit
fi
printf '%s\\n^%s\\n' "$commit" "$2" | git pack-objects --revs -q "$5/pack" >/dev/null || exit
echo "$commit"
git cat-file commit "$commit"`;
