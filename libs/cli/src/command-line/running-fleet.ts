import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Caller, Named } from '../client/http.ts';
import { readOperatorToken } from '../keys/init.ts';
import { ORCHESTRATOR } from '../keys/layout.ts';
import { type FleetPlan, planFleet } from '../local/plan.ts';
import { recordedOffset } from '../local/up.ts';
import { namedAddress, repositoryRoot, UsageError, wholeNumber } from './options.ts';

/** How a command finds the fleet that runs: the processes of `--dir`, or by address, with the token on stdin. */
export const FLEET_OPTIONS = {
  profile: { type: 'string' },
  reach: { type: 'string', multiple: true },
  'token-stdin': { type: 'boolean' },
  dir: { type: 'string' },
  'port-offset': { type: 'string' },
  json: { type: 'boolean' },
} as const;

export interface FleetValues {
  readonly profile?: string | undefined;
  readonly reach?: readonly string[] | undefined;
  readonly 'token-stdin'?: boolean | undefined;
  readonly dir?: string | undefined;
  readonly 'port-offset'?: string | undefined;
}

export interface Found {
  readonly caller: Caller;
  /** What stdin held after the token; undefined when it was not read. */
  readonly input: string | undefined;
}

/** The fleet of plain processes that the options name. */
export function plannedFleet(values: Pick<FleetValues, 'dir' | 'port-offset'>): FleetPlan {
  const root = repositoryRoot();
  const dir = values.dir ?? join(root, '.fleet');
  return planFleet({
    root,
    dir,
    portOffset: wholeNumber('port-offset', values['port-offset'], recordedOffset(dir) ?? 0),
  });
}

/** The profile to ask (`--profile`, switch when absent), as the operator. Throws UsageError for one that is not there. */
export function findProfile(values: FleetValues): Found {
  const plan = plannedFleet(values);
  const name = values.profile ?? ORCHESTRATOR;
  return find(values, plan, plan.profiles, { name, what: `profile ${name}` });
}

/** The trader, as the operator. Throws UsageError where `--reach` leaves it out. */
export function findTrader(values: Omit<FleetValues, 'profile'>): Found {
  const plan = plannedFleet(values);
  const { name } = plan.trader;
  return find(values, plan, [plan.trader], { name, what: name });
}

function find(
  values: FleetValues,
  plan: FleetPlan,
  planned: readonly Named[],
  { name, what }: { readonly name: string; readonly what: string },
): Found {
  const reach = (values.reach ?? []).map((text) => namedAddress('reach', text));
  const members = reach.length > 0 ? reach : planned;
  const member = members.find((each) => each.name === name);
  if (!member)
    throw new UsageError(`there is no ${what}, only ${members.map((each) => each.name).join(', ')}`);
  const [first = '', ...rest] = values['token-stdin'] ? readFileSync(0, 'utf8').split('\n') : [];
  const token = values['token-stdin'] ? first.trim() : readOperatorToken(plan.keysDir);
  if (!token) throw new FleetError('PEER_UNREACHABLE', `there are no keys in ${plan.keysDir}`);
  return {
    caller: { name, url: member.url, token },
    input: values['token-stdin'] ? rest.join('\n') : undefined,
  };
}

/** Runs work that asks the fleet; where none runs, says so and what to do. */
export async function orNoFleet(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'PEER_UNREACHABLE')) throw error;
    console.error(`no fleet runs (${error.message}): make up first`);
    return 1;
  }
}

/** What a file holds; `-` is stdin, after the token where that comes first. Throws INVALID_PARAMS. */
export function readInput(file: string, input: string | undefined, wanted: string): string {
  try {
    return file === '-' ? (input ?? readFileSync(0, 'utf8')) : readFileSync(file, 'utf8');
  } catch (cause) {
    throw new FleetError('INVALID_PARAMS', `${file} cannot be read: name a file with ${wanted}`, { cause });
  }
}
