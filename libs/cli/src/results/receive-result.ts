import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { failure, saidBy } from '../git/git.ts';
import { hasWhole, type Repository, short } from '../git/repository.ts';
import { inScratch } from '../git/scratch.ts';
import { type BundleHeader, readHeader } from './bundle.ts';
import type { KeptResult } from './kept-result.ts';
import { readPart } from './read-part.ts';

/**
 * Brings the commits of a result into the object store of a repository, where nothing refers to them yet; those that are there
 * are not asked for. They are checked apart from the store, as `git fetch` with `fetch.fsckObjects`, which git before 2.46
 * ignores for bundles. `judge` may refuse them there, with `env` for git: nothing of what is refused is in the store.
 * Throws as `readPart` and `Git`, INVALID_PARAMS where the repository does not have the commit that the work started from, and PEER_REFUSED
 * for a bundle that is damaged or is not that of the result.
 */
export async function receiveResult(
  repository: Repository,
  kept: KeptResult,
  judge: (env?: Readonly<Record<string, string>>) => Promise<void>,
): Promise<void> {
  const { git, objects, isEmpty } = repository;
  if (await hasWhole(repository, kept.commit)) return judge();
  await inScratch(async (folder) => {
    const file = join(folder, 'bundle');
    const content = readPart(kept, { kind: 'bundle', whole: isEmpty }, git.signal);
    await pipeline(content, createWriteStream(file, { mode: 0o600 }));
    const header = await readHeader(file, kept.target.name);
    await checkHeader(repository, kept, header);
    const apart = join(folder, 'objects');
    await mkdir(apart);
    const before = git.env.GIT_ALTERNATE_OBJECT_DIRECTORIES;
    const env = {
      GIT_OBJECT_DIRECTORY: apart,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: [inList(objects), ...(before ? [before] : [])].join(':'),
    };
    const input = { file, start: header.packAt };
    // Without the links of objects, as `--strict` checks them: in a partial clone, those that did not change may be at its remote.
    const indexed = await git.exec(['index-pack', '--fsck-objects', '--fix-thin', '--stdin'], { env, input });
    if (indexed.code !== 0) throw refused(kept, `with a bundle that git refuses (${saidBy(indexed.stderr)})`);
    if (!(await hasWhole(repository, kept.commit, env)))
      throw refused(kept, `with a bundle in which parts of ${short(kept.commit)} are missing`);
    await judge(env);
    // Without the variable, git would make a store in a subfolder that it is run in.
    await git.read(['index-pack', '--fix-thin', '--stdin'], 'the commits cannot be stored', {
      env: { GIT_OBJECT_DIRECTORY: objects },
      input,
    });
  });
}

async function checkHeader(
  { git, isEmpty }: Repository,
  kept: KeptResult,
  { refs, prerequisites }: BundleHeader,
): Promise<void> {
  const [ref, ...more] = refs;
  if (ref === undefined || more.length > 0 || ref.name !== `refs/heads/${kept.branch}`)
    throw refused(kept, `with a bundle that is not one of the branch ${kept.branch}`);
  if (ref.commit !== kept.commit)
    throw refused(kept, `with the commit ${short(ref.commit)}: the result has ${short(kept.commit)}`);
  for (const commit of prerequisites) {
    if (await git.ask(['cat-file', '-e', `${commit}^{commit}`])) continue;
    if (isEmpty) throw refused(kept, 'with a bundle that does not have all of the history');
    const isShallow = await git.read(['rev-parse', '--is-shallow-repository'], 'git does not answer');
    const fetched = isShallow === 'true' ? 'git fetch --unshallow here gets it' : 'fetch it first';
    throw failure(
      `this repository does not have the commit ${commit}, which the work started from: run this in the repository that the task worked on, or ${fetched}`,
    );
  }
}

const refused = ({ target, taskId }: KeptResult, how: string): FleetError =>
  new FleetError('PEER_REFUSED', `${target.name} answers for task ${taskId} ${how}: nothing was changed`);

/** A path in a list whose separator it may contain, as git reads it. */
const inList = (path: string): string => `"${path.replaceAll(/["\\]/g, '\\$&')}"`;
