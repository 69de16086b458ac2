import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { FleetError } from '@hermes-fleet/protocol';
import { COMMAND_UID } from './command-user.ts';

/** Numbers of users that nobody else on the machine has; each is a user and a group. */
export interface UserRange {
  readonly first: number;
  readonly last: number;
}

/** Numbers that no distribution and no container runtime assigns, and no mark of a command (`createMarks`) reaches. */
const UNASSIGNED = 1_879_048_192;
const BLOCK = 32_768;
const BLOCKS = 8192;
const MAX_ID = 2 ** 31 - 1;

/**
 * The range for a workspace when none is configured: one of 8,192, chosen by its path, so that the gateways of a machine
 * have different ones and each finds its own again.
 */
export function defaultUsers(workspaceRoot: string): UserRange {
  const block = createHash('sha256').update(workspaceRoot).digest().readUInt32BE() % BLOCKS;
  const first = UNASSIGNED + block * BLOCK;
  return { first, last: first + BLOCK - 1 };
}

/**
 * Reads `first-last`, as in HERMES_COMMAND_USERS. Throws CONFIG_INVALID for anything else, and for a range with root,
 * this process's user or the user of the profile's own commands: all processes of a user are ended.
 */
export function parseUserRange(text: string): UserRange {
  const match = /^(\d{1,10})-(\d{1,10})$/.exec(text);
  const [first, last] = [Number(match?.[1]), Number(match?.[2])];
  const reserved = [0, COMMAND_UID, process.getuid?.() ?? 0];
  let reason: string | undefined;
  if (!match || first > last || last > MAX_ID) reason = 'it is not a range like 20000-39999';
  else if (reserved.some((uid) => uid >= first && uid <= last)) {
    reason = `it must not contain any of ${[...new Set(reserved)].join(', ')}`;
  }
  if (reason === undefined) return { first, last };
  throw FleetError.ofKey('HERMES_COMMAND_USERS', `${text} cannot be used: ${reason}`);
}

/** True when this user namespace has all users and groups of the range. */
export function isMapped({ first, last }: UserRange): boolean {
  return ['/proc/self/uid_map', '/proc/self/gid_map'].every((map) =>
    readFileSync(map, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .some(([start = 0, , count = 0]) => start <= first && last < start + count),
  );
}
