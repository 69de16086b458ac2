import { lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Log } from '@hermes-fleet/protocol';
import { type CommandRecords, envMark, readCommandRecord } from '../process/command-records.ts';
import { carriersOf, killMarked, killTree } from '../process/kill-tree.ts';
import { processSpace, processState } from '../process/proc.ts';
import type { Confinement } from './confinement.ts';

const MAX_RECORDS = 10_000;
const MAX_RECORD_BYTES = 4096;
const GONE_MS = 5000;
const STEP_MS = 10;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Confinement whose commands are written down while they run. */
export function recorded(confinement: Confinement, records: CommandRecords): Confinement {
  return {
    ...confinement,
    wrap: (command, args, reach) => ({ ...confinement.wrap(command, args, reach), records }),
  };
}

/**
 * Ends what a gateway that crashed left running, and resolves when it is gone (design 3, Tools). A process is killed
 * only when it is surely the recorded one: by number and start in the same boot and namespace, or by a mark that nobody
 * else carries. What belongs to a gateway that lives is left alone.
 */
export async function killLeftovers(
  dir: string,
  o: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const space = processSpace();
  for (const name of readdirSync(dir).slice(0, MAX_RECORDS)) {
    const path = join(dir, name);
    const stats = lstatSync(path);
    if (!ID.test(name) || !stats.isFile() || stats.size > MAX_RECORD_BYTES) {
      o.log.warn({ path }, 'not the record of a command; it is left alone');
      continue;
    }
    const record = readCommandRecord(path);
    if (record !== undefined && isSame(record.gateway)) continue;
    if (record === undefined || record.space === space) await end(name, record, o);
    unlinkSync(path);
  }
}

type Record = ReturnType<typeof readCommandRecord>;

async function end(
  id: string,
  record: Record,
  o: { readonly clock: Clock; readonly log: Log },
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
  // One that is dead but not reaped keeps its number, so that the group is its own still.
  if (leader !== undefined && processState(leader.pid)?.start === leader.start) killTree(leader.pid, {});
  if (found.length === 0) return;
  killMarked({ env });
  killMarked({ gid: record?.gid }, isLater);
  const until = o.clock.now() + GONE_MS;
  while (left().length > 0 && o.clock.now() < until) await o.clock.sleep(STEP_MS);
  const rest = left();
  if (rest.length === 0) o.log.warn({ pids: found }, 'a command that a crash left running was ended');
  else o.log.error({ pids: rest }, 'a command that a crash left running does not end');
}

const isSame = ({ pid, start }: { readonly pid: number; readonly start: string }): boolean => {
  const state = processState(pid);
  return state?.alive === true && state.start === start;
};

/** A group that marks commands is made of the gateway's process id: whoever has that id now makes the same ones. */
function startedAfter(pid: number | undefined): (other: number) => boolean {
  const now = pid === undefined ? undefined : processState(pid)?.start;
  if (now === undefined) return () => false;
  return (other) => BigInt(processState(other)?.start ?? 0) >= BigInt(now);
}
