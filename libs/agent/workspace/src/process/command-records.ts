import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { processSpace, processState } from './proc.ts';

export type CommandRecords = ReturnType<typeof createCommandRecords>;

const VARIABLE = 'FLEET_COMMAND_ID';

/** The environment entry that marks the processes of the command with this record. */
export const envMark = (id: string): string => `${VARIABLE}=${id}`;

const ProcessSchema = z.object({ pid: z.int().min(2), start: z.string().regex(/^\d+$/) });
const OpenedSchema = z.object({
  space: z.string(),
  gateway: ProcessSchema,
  gid: z.int().min(1).optional(),
});

type OpenedRecord = z.output<typeof OpenedSchema> & { readonly leader?: z.output<typeof ProcessSchema> };

/**
 * Records commands while they run, so that they can be found after a crash. Keeps each record as a small file in `dir`. Nothing is synced: a crash of the gateway loses no write, and a crash
 * of the machine leaves no process. `byEnv`: commands without a mark group are identified by their environment.
 */
export function createCommandRecords(dir: string, options: { readonly byEnv: boolean }) {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const gateway = { pid: process.pid, start: processState(process.pid)?.start };
  const space = processSpace();
  return {
    /** Records a command that is about to start. The record is disposed of when all its processes are gone. */
    openRecord(markGid: number | undefined) {
      const id = randomUUID();
      const path = join(dir, id);
      const file = openSync(path, 'wx', 0o600);
      const write = (line: object): void => void writeSync(file, `${JSON.stringify(line)}\n`);
      write({ space, gateway, gid: markGid });
      return {
        /** Added to the environment of the command; marks its processes. */
        env: { [VARIABLE]: id },
        /** The same mark as `NAME=value`; undefined when the processes have a better one. */
        mark: options.byEnv && markGid === undefined ? envMark(id) : undefined,
        started: (pid: number) => write({ pid, start: processState(pid)?.start }),
        [Symbol.dispose](): void {
          closeSync(file);
          unlinkSync(path);
        },
      };
    },
  };
}

/** Returns the record, undefined for a truncated or invalid file. */
export function readCommandRecord(path: string): OpenedRecord | undefined {
  const [first, second] = readFileSync(path, 'utf8').split('\n').map(parseJson);
  const opened = OpenedSchema.safeParse(first);
  if (!opened.success) return undefined;
  const leader = ProcessSchema.safeParse(second);
  return { ...opened.data, ...(leader.success && { leader: leader.data }) };
}
