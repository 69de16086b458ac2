import { closeSync, openSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Git, GitCall, GitPlace } from '../git/git.ts';
import type { CommandResult } from '../process/run-command.ts';

/** The longest header line. */
const MAX_HEADER = 4096;
/** Kept of the output for messages; the pack goes to its file. */
const KEEP_BYTES = 8192;

/**
 * Runs a script that prints a line and then a pack, and writes the pack to a new file. The script is killed when the pack is
 * larger than `maxBytes`, by default never. Returns how it ended, and the line, if there was one. Throws when the file cannot be
 * written.
 */
export async function receivePack(
  git: Git,
  place: GitPlace,
  script: { readonly text: string; readonly args: readonly string[] },
  { file: path, ...limits }: Pick<GitCall, 'maxBytes' | 'timeoutMs' | 'signal'> & { readonly file: string },
): Promise<{ readonly result: CommandResult; readonly header: string | undefined }> {
  const file = openSync(path, 'wx', 0o600);
  let header: string | undefined;
  let pending = Buffer.alloc(0);
  let failure: unknown;
  const write = (chunk: Buffer): void => {
    for (let from = 0; from < chunk.length; from += writeSync(file, chunk, from));
  };
  const onStdout = (chunk: Buffer): void => {
    if (failure !== undefined) return;
    try {
      if (header !== undefined) {
        write(chunk);
        return;
      }
      pending = Buffer.concat([pending, chunk]);
      const end = pending.indexOf('\n');
      if (end === -1 && pending.length > MAX_HEADER)
        throw new Error('the output does not begin with a short line');
      if (end === -1) return;
      header = pending.subarray(0, end).toString('utf8');
      write(pending.subarray(end + 1));
    } catch (error) {
      // An exception in an event handler would end the gateway.
      failure = error;
    }
  };
  try {
    const call = { onStdout, keepBytes: KEEP_BYTES, maxBytes: Number.MAX_SAFE_INTEGER, ...limits };
    const result = await git.script(place, script.text, script.args, call);
    if (failure !== undefined) throw failure;
    return { result, header };
  } finally {
    closeSync(file);
  }
}

/** Adds the objects of a pack to the object folder of the place. Returns how git ended. */
export async function indexPack(
  git: Git,
  place: GitPlace,
  file: string,
  checks: readonly string[] = [],
  call: GitCall = {},
): Promise<CommandResult> {
  await using handle = await open(file, 'r');
  return await git.exec(place, ['index-pack', '--stdin', ...checks], { ...call, stdin: handle.fd });
}
