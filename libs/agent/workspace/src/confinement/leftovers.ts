import { lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type CommandRecords, envMark, readCommandRecord } from '../process/command-records.ts';
import { carriersOf, killMarked, killTree } from '../process/kill-tree.ts';
import { processSpace, processState } from '../process/proc.ts';
import type { Confinement } from './confinement.ts';

const MAX_RECORDS = 10_000;
const MAX_RECORD_BYTES = 4096;
const GONE_MS = 5000;
const STEP_MS = 10;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Wraps a confinement so that its commands are recorded while they run. */
export function recorded(confinement: Confinement, records: CommandRecords): Confinement {
  return {
    ...confinement,
    records,
    wrap: (command, args, reach) => ({ ...confinement.wrap(command, args, reach), records }),
  };
}

/**
 * Kills the commands that a crashed gateway left running, and resolves when they are gone (SECURITY.md#protections). A
 * process is killed only when it is certainly the recorded one: same pid and start time in the same boot and namespace,
 * or a mark that no other process carries. Commands of a gateway that is still running are left alone.
 */
export async function killLeftovers(
  dir: string,
  options: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const space = processSpace();
  for (const name of readdirSync(dir).slice(0, MAX_RECORDS)) {
    const path = join(dir, name);
    const stats = lstatSync(path);
    if (!ID.test(name) || !stats.isFile() || stats.size > MAX_RECORD_BYTES) {
      options.log.warn({ path }, 'not a command record; file ignored');
      continue;
    }
    const record = readCommandRecord(path);
    if (record !== undefined && isSame(record.gateway)) continue;
    if (record === undefined || record.space === space) await end(name, record, options);
    unlinkSync(path);
  }
}

type Record = ReturnType<typeof readCommandRecord>;

async function end(
  id: string,
  record: Record,
  options: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const env = envMark(id);
  const isLater = startedAfter(record?.gateway.pid);
  const left = (): number[] => [
    ...(record?.leader !== undefined && isSame(record.leader) ? [record.leader.pid] : []),
    ...carriersOf({ env }),
    ...carriersOf({ gid: record?.gid }).filter((pid) => !isLater(pid)),
  ];
  const found = left();
  const leader = record?.leader;
  // A zombie keeps its pid, so the process group is still the command's own.
  if (leader !== undefined && processState(leader.pid)?.start === leader.start) killTree(leader.pid, {});
  if (found.length === 0) return;
  killMarked({ env });
  killMarked({ gid: record?.gid }, isLater);
  const until = options.clock.now() + GONE_MS;
  while (left().length > 0 && options.clock.now() < until) await options.clock.sleep(STEP_MS);
  const rest = left();
  if (rest.length === 0) options.log.warn({ pids: found }, 'a command that a crash left running was ended');
  else options.log.error({ pids: rest }, 'a command that a crash left running could not be killed');
}

const isSame = ({ pid, start }: { readonly pid: number; readonly start: string }): boolean => {
  const state = processState(pid);
  return state?.alive === true && state.start === start;
};

/** Mark groups derive from the gateway's pid, so a new process with that pid makes the same ones. */
function startedAfter(pid: number | undefined): (other: number) => boolean {
  const now = pid === undefined ? undefined : processState(pid)?.start;
  if (now === undefined) return () => false;
  return (other) => BigInt(processState(other)?.start ?? 0) >= BigInt(now);
}
