import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { FleetError } from '@hermes-fleet/protocol';
import type { Endpoint, Target } from '../client/api.ts';
import type { Streams, Values } from '../command-line/command.ts';
import { namedAddress, UsageError, wholeNumber } from '../command-line/option-values.ts';
import type { ENTRY_POINT_OPTIONS, FLEET_OPTIONS, PLAN_OPTIONS } from '../command-line/shared-options.ts';
import { tokenOfContainers } from '../containers/inside.ts';
import {
  type Member,
  membersInContainers,
  requireSome,
  watchersInContainers,
} from '../containers/members.ts';
import { modeOf } from '../containers/mode.ts';
import { currentFolder, type FleetFolder } from '../folder/fleet-folder.ts';
import { ORCHESTRATOR, readOperatorToken, TRADER } from '../keys/layout.ts';
import type { EntryPoint } from '../local/entry-point.ts';
import { commandOf, type FleetPlan, planFleet, serviceEnv } from '../local/plan.ts';
import { recordedOffset } from '../local/port-offset.ts';
import { prometheusStatus } from '../local/prometheus.ts';

type FleetValues = Values<typeof FLEET_OPTIONS>;

/** The fleet of plain processes that the options name. Throws UsageError and CONFIG_INVALID. */
export function plannedFleet(values: Values<typeof PLAN_OPTIONS>): FleetPlan {
  const { root, ...folder } = currentFolder();
  const dir = values.dir ?? folder.dir;
  const portOffset = wholeNumber('port-offset', values['port-offset'], recordedOffset(dir) ?? 0);
  return planFleet({ root, dir, portOffset });
}

/** True for options that name processes, addresses or the environment of this process, whatever else runs. */
export const namesProcesses = (
  values: Partial<FleetValues> & { readonly 'as-is'?: boolean | undefined },
): boolean =>
  [values.dir, values['port-offset'], values.reach, values['as-is']].some((value) => value !== undefined);

/** The folder of the fleet that a command is about, if that is in containers. Throws UsageError. */
export async function fleetInContainers(
  values: Partial<FleetValues> & { readonly 'as-is'?: boolean | undefined },
  env: NodeJS.ProcessEnv,
): Promise<FleetFolder | undefined> {
  if (namesProcesses(values)) return undefined;
  const folder = currentFolder();
  return (await modeOf(folder, env)) === 'docker' ? folder : undefined;
}

/** The fleet that a command asks, as processes or in containers. */
export interface AskedFleet {
  /** The profiles and the trader. */
  readonly members: readonly Member[];
  /** The operator's token. Throws PEER_UNREACHABLE without keys, and where no container of the fleet runs. */
  readonly token: () => Promise<string>;
  /** Prometheus and Grafana, where they run. */
  readonly watchers: () => Promise<readonly Endpoint[]>;
}

/** The fleet that the options name. Throws UsageError. */
export async function askedFleet(values: Partial<FleetValues>, env: NodeJS.ProcessEnv): Promise<AskedFleet> {
  const folder = await fleetInContainers(values, env);
  if (folder) {
    const { members: planned } = planFleet({ root: folder.root });
    const members = await membersInContainers(folder, env, planned);
    return {
      members,
      token: async () => {
        requireSome(folder, members);
        return await tokenOfContainers(folder, env);
      },
      watchers: () => watchersInContainers(folder, env),
    };
  }
  const plan = plannedFleet(values);
  return {
    members: membersOf(values, plan.members),
    token: async () => {
      const token = readOperatorToken(plan.keysDir);
      if (token) return token;
      throw new FleetError('PEER_UNREACHABLE', `there are no keys in ${plan.keysDir}`);
    },
    watchers: async () => {
      const seen = values.reach === undefined ? await prometheusStatus(plan) : undefined;
      return seen?.state === 'ready' ? [seen] : [];
    },
  };
}

/** The services that `--reach` names, else those of the plan. Throws UsageError. */
function membersOf({ reach = [] }: Partial<FleetValues>, planned: readonly Endpoint[]): readonly Member[] {
  const given = reach.map((text) => namedAddress('reach', text));
  const members = given.length > 0 ? given : planned;
  return members.map(({ name, url }) => ({ name, url, shown: url }));
}

export const profilesOf = ({ members }: AskedFleet): readonly Member[] =>
  members.filter(({ name }) => name !== TRADER);

/** The member of this name. Throws UsageError that names the others, with `kind` before the name. */
export function memberNamed(members: readonly Member[], name: string, kind = ''): Member {
  const found = members.find((each) => each.name === name);
  if (found) return found;
  throw new UsageError(`there is no ${kind}${name}, only ${members.map((each) => each.name).join(', ')}`);
}

/** The profile that `--profile` names, switch by default, to call as the operator. Throws UsageError when it is unknown. */
export async function findProfile(values: FleetValues, env: NodeJS.ProcessEnv): Promise<Target & Member> {
  const fleet = await askedFleet(values, env);
  const found = memberNamed(profilesOf(fleet), values.profile ?? ORCHESTRATOR, 'profile ');
  return { ...found, token: await fleet.token() };
}

/** The trader, to call as the operator. Throws UsageError when `--reach` does not include it. */
export async function findTrader(
  values: Omit<FleetValues, 'profile'>,
  env: NodeJS.ProcessEnv,
): Promise<Target> {
  const fleet = await askedFleet(values, env);
  return { ...memberNamed(fleet.members, TRADER), token: await fleet.token() };
}

/**
 * The entry point of a service of the planned fleet. With `--as-is` it gets this process's environment, and `name` may
 * be any profile below HERMES_HOME. Throws UsageError for an unknown name.
 */
export function findEntryPoint(
  values: Values<typeof ENTRY_POINT_OPTIONS>,
  name: string,
  env: NodeJS.ProcessEnv,
): EntryPoint {
  const command = commandOf(name);
  if (values['as-is']) return { command, cwd: process.cwd(), env };
  const plan = plannedFleet(values);
  const member = [...plan.members, plan.console].find((each) => each.name === name);
  if (member) return { command, cwd: plan.home, env: serviceEnv(plan, member, env) };
  const names = plan.members.map((each) => each.name).join(', ');
  throw new UsageError(`there is no profile ${name}, only ${names}; --as-is looks below HERMES_HOME`);
}

/** The content of a file; `-` is stdin. Throws UsageError. */
export async function readInput(file: string, stdin: Streams['stdin'], wanted: string): Promise<string> {
  try {
    return file === '-' ? await text(stdin()) : readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: name a file with ${wanted}`, { cause });
  }
}
