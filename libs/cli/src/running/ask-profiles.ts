import type { Writable } from 'node:stream';
import { FleetError } from '@hermes-fleet/protocol';
import type { Target } from '../client/api.ts';
import { printLines } from '../command-line/output.ts';
import type { Reachable } from './reachable.ts';

interface Answer<T> {
  readonly profile: string;
  readonly answer: T;
}

interface Failure {
  readonly profile: string;
  readonly error: FleetError;
}

/** What profiles have answered, and why the others, the silent ones, have not. */
export interface Asked<T> {
  readonly answers: readonly Answer<T>[];
  readonly silent: readonly string[];
  readonly failures: readonly Failure[];
}

/** Asks profiles at the same time. Throws if none answers: what one has refused, else PEER_UNREACHABLE. */
export async function askProfiles<T>(
  profiles: readonly Reachable[],
  ask: (target: Target) => Promise<T>,
): Promise<Asked<T>> {
  const targets = profiles.flatMap(({ target }) => target ?? []);
  const all = await Promise.all(targets.map((target) => askOne(target, ask)));
  const answers = all.filter((each) => 'answer' in each);
  const failures = all.filter((each) => 'error' in each);
  const silent = failures.map(({ profile }) => profile);
  if (answers.length > 0) return { answers, silent, failures };
  const refused = failures.find(({ error }) => error.code !== 'PEER_UNREACHABLE');
  if (refused) throw refused.error;
  throw new FleetError('PEER_UNREACHABLE', `no answer of ${silent.join(', ')}`);
}

async function askOne<T>(target: Target, ask: (target: Target) => Promise<T>): Promise<Answer<T> | Failure> {
  const profile = target.name;
  try {
    return { profile, answer: await ask(target) };
  } catch (error) {
    if (error instanceof FleetError) return { profile, error };
    throw error;
  }
}

/** Says on stderr why each silent profile is not in what was printed. */
export function nameSilent(stderr: Writable, { failures }: Asked<unknown>, not: string): void {
  for (const { error } of failures) printLines(stderr, [`${not}: ${error.message}`]);
}
