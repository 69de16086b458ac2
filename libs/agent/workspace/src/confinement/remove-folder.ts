import { existsSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type CommandLine, type CommandResult, runCommand } from '../process/run-command.ts';

/** Runs a shell script on folders as the user whose commands wrote there. */
export type RunAsOwner = (
  script: string,
  folders: readonly string[],
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
) => Promise<CommandResult>;

/** For a context of very many files; what is left is removed by the next try. */
const REMOVE_MS = 5 * 60_000;

/**
 * Removes a folder of the gateway's in which commands wrote to the folders: first what is in those, as their user, who may
 * have closed it to the gateway, then the rest. No command may run there. Links are removed, not followed. Throws the
 * signal's reason, and INTERNAL when something is left.
 */
export async function removeFolder(
  dir: string,
  owner: RunAsOwner,
  {
    clock,
    log,
    signal,
  }: { readonly clock: Clock; readonly log: Log; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const folders: string[] = [];
  for (const name of await readdir(dir)) {
    const path = join(dir, name);
    if ((await lstat(path)).isDirectory()) folders.push(path);
  }
  const limits = { timeoutMs: REMOVE_MS, signal };
  const emptied = folders.length === 0 ? undefined : await owner(EMPTY, folders, limits);
  signal?.throwIfAborted();
  const line: CommandLine = { command: 'rm', args: ['-rf', '--', dir] };
  const removed = await runCommand(line, { clock, ...limits });
  signal?.throwIfAborted();
  if (!existsSync(dir)) return;
  const reports = [emptied, removed].map((report) => ({
    exitCode: report?.exitCode,
    killed: report?.killed,
    stderr: report?.stderr.slice(0, 500),
  }));
  log.error({ folder: basename(dir), reports }, 'the files of a removed context cannot be removed yet');
  throw new FleetError('INTERNAL', 'some files of a removed context are left; the log has the reason');
}

/**
 * `chmod` opens folders that their user closed; the gateway removes the folders, and what is its own in them. Very many
 * messages would end the script before its work is done.
 */
const EMPTY = '{ chmod -R ug+rwX -- "$@"; find "$@" -mindepth 1 -delete; } 2>/dev/null';
