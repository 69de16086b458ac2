import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { type Git, type GitPlace, isFull } from '../git/git.ts';
import { limited } from '../git/limited.ts';
import { firstLine } from '../process/system-error.ts';
import { readBundleHeader } from '../stores/bundle-header.ts';
import { MAX_PACK_BYTES } from '../stores/quarantine.ts';

/** A check says nothing, so that it has to end before the connection of its sender counts as silent. */
const CHECK_MS = 240_000;
const LIMITS = { dataKib: 2 * 1024 * 1024, cpuS: 600 };
const REF = 'refs/heads/fleet';
const LIMIT_MET = 'git was stopped by a limit of memory or time';

/** Says why a bundle is not taken. */
export const refusedBundle = (reason: string): FleetError =>
  new FleetError('BUNDLE_REFUSED', `the bundle is refused: ${reason}`);

/** The SHA-256 of a file, as 64 digits of hex. Throws the reason of the signal. */
export async function sha256Of(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  signal.throwIfAborted();
  for await (const chunk of createReadStream(file)) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}

/** A bundle whose header names one ref, and this commit as its. It is read from its pack on, until it is disposed of. */
export interface OpenBundle extends AsyncDisposable {
  readonly handle: FileHandle;
  readonly commit: string;
  /** The commits that it builds on. */
  readonly prerequisites: readonly string[];
}

/** Opens a bundle with the one ref `refs/heads/fleet`. Throws BUNDLE_REFUSED for any other file. */
export async function openBundle(file: string, commit: string): Promise<OpenBundle> {
  await using opening = new AsyncDisposableStack();
  const handle = opening.use(await open(file, 'r'));
  const header = await readBundleHeader(handle);
  if (header === undefined)
    throw refusedBundle('it is no git bundle of version 2 with a header of at most 64 KiB');
  const [ref, ...others] = header.refs;
  if (ref?.name !== REF || ref.commit !== commit || others.length > 0)
    throw refusedBundle(`it must have ${REF} alone, with commit ${commit}`);
  const { prerequisites } = header;
  const opened = opening.move();
  return { handle, commit, prerequisites, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/**
 * Checks the pack of a bundle in a new folder, which sees no other objects: each object by its hash, and that the commit is among
 * them. A worker, which has the prerequisites, checks that no object is missing. Git's rules for new objects are not applied: old
 * histories break them. Throws BUNDLE_REFUSED, and the reason of the signal.
 */
export async function checkPack(
  git: Git,
  { handle, commit }: OpenBundle,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  await using opening = new AsyncDisposableStack();
  opening.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(folder, { mode: 0o700 });
  const place: GitPlace = { cwd: folder, gitDir: folder, workTree: undefined, wrap: limited(LIMITS) };
  await git.run({ ...place, gitDir: undefined }, ['init', '-q', '--bare', '-b', 'main', '--template=']);
  const args = ['index-pack', '--stdin', `--max-input-size=${MAX_PACK_BYTES}`];
  const indexed = await git.exec(place, args, { stdin: handle.fd, timeoutMs: CHECK_MS, signal });
  if (isFull(indexed)) throw new FleetError('CAPACITY', 'the disk has no room for the bundle');
  if (indexed.exitCode !== 0)
    throw refusedBundle(`git refuses its objects: ${firstLine(indexed.stderr, LIMIT_MET)}`);
  if (!(await git.ask(place, ['cat-file', '-e', `${commit}^{commit}`])))
    throw refusedBundle(`its pack has no commit ${commit}`);
}
