import { closeSync, openSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Git, GitCall, GitPlace } from '../git/git.ts';
import type { CommandResult } from '../process/run-command.ts';

/** The longest header line. */
const MAX_HEADER = 4096;
/** Kept of the output for messages; the pack goes to its file. */
const KEEP_BYTES = 8192;

export interface SentPack {
  readonly result: CommandResult;
  /** The first line of the output, undefined when there is none. */
  readonly header: string | undefined;
  /** The size of the pack, 0 when none was sent. */
  readonly bytes: number;
}

/**
 * Runs a script that prints a line and then a pack, and writes the pack to a new file. The script is killed when the pack is
 * larger than `maxBytes`. Throws when the file cannot be written.
 */
export async function receivePack(
  git: Git,
  place: GitPlace,
  script: { readonly text: string; readonly args: readonly string[]; readonly stdin?: number },
  to: {
    readonly file: string;
    readonly maxBytes: number;
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
  },
): Promise<SentPack> {
  const file = openSync(to.file, 'wx', 0o600);
  let header: string | undefined;
  let pending = Buffer.alloc(0);
  let bytes = 0;
  let failure: unknown;
  const write = (chunk: Buffer): void => {
    for (let from = 0; from < chunk.length; from += writeSync(file, chunk, from));
    bytes += chunk.length;
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
    const limits: GitCall = { onStdout, keepBytes: KEEP_BYTES, maxBytes: to.maxBytes };
    const result = await git.exec(place, '/bin/sh', ['-c', script.text, 'sh', ...script.args], {
      ...limits,
      ...(script.stdin !== undefined && { stdin: script.stdin }),
      ...(to.timeoutMs !== undefined && { timeoutMs: to.timeoutMs }),
      ...(to.signal !== undefined && { signal: to.signal }),
    });
    if (failure !== undefined) throw failure;
    return { result, header, bytes };
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
  return git.exec(place, 'git', ['index-pack', '--stdin', ...checks], { ...call, stdin: handle.fd });
}
