import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { FleetError } from '@hermes-fleet/protocol';
import type { Endpoint, Target } from '../client/api.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { ORCHESTRATOR, readOperatorToken, TRADER } from '../keys/layout.ts';
import type { EntryPoint } from '../local/entry-point.ts';
import { commandOf, type FleetPlan, planFleet, serviceEnv } from '../local/plan.ts';
import { recordedOffset } from '../local/port-offset.ts';
import type { Streams, Values } from './command.ts';
import { namedAddress, UsageError, wholeNumber } from './option-values.ts';
import type { ENTRY_POINT_OPTIONS, FLEET_OPTIONS, PLAN_OPTIONS } from './shared-options.ts';

type FleetValues = Values<typeof FLEET_OPTIONS>;

export interface FoundTarget {
  readonly target: Target;
  /** The rest of stdin after the token; undefined when the token came from the keys. */
  readonly input: string | undefined;
}

/** The fleet of plain processes that the options name. Throws UsageError and CONFIG_INVALID. */
export function plannedFleet(values: Values<typeof PLAN_OPTIONS>): FleetPlan {
  const { root, ...folder } = currentFolder();
  const dir = values.dir ?? folder.dir;
  const portOffset = wholeNumber('port-offset', values['port-offset'], recordedOffset(dir) ?? 0);
  return planFleet({ root, dir, portOffset });
}

/** The services that `--reach` names, else those of the plan. Throws UsageError. */
export function membersOf({ reach = [] }: FleetValues, planned: readonly Endpoint[]): readonly Endpoint[] {
  const given = reach.map((text) => namedAddress('reach', text));
  return given.length > 0 ? given : planned.map(({ name, url }) => ({ name, url }));
}

/** The member of this name. Throws UsageError that names the others, with `kind` before the name. */
export function memberNamed(members: readonly Endpoint[], name: string, kind = ''): Endpoint {
  const found = members.find((each) => each.name === name);
  if (found) return found;
  throw new UsageError(`there is no ${kind}${name}, only ${members.map((each) => each.name).join(', ')}`);
}

/** The profile that `--profile` names, switch by default, to call as the operator. Throws UsageError when it is unknown. */
export function findProfile(values: FleetValues, stdin: Streams['stdin']): Promise<FoundTarget> {
  const plan = plannedFleet(values);
  const members = membersOf(values, plan.profiles);
  return asOperator(memberNamed(members, values.profile ?? ORCHESTRATOR, 'profile '), values, plan, stdin);
}

/** The trader, to call as the operator. Throws UsageError when `--reach` does not include it. */
export function findTrader(
  values: Omit<FleetValues, 'profile'>,
  stdin: Streams['stdin'],
): Promise<FoundTarget> {
  const plan = plannedFleet(values);
  return asOperator(memberNamed(membersOf(values, [plan.trader]), TRADER), values, plan, stdin);
}

async function asOperator(
  { name, url }: Endpoint,
  values: FleetValues,
  plan: FleetPlan,
  stdin: Streams['stdin'],
): Promise<FoundTarget> {
  const { token, input } = await operatorToken(values, plan, stdin);
  return { target: { name, url, token }, input };
}

/** The operator's token, from the first line of stdin or from the keys. Throws PEER_UNREACHABLE without keys. */
export async function operatorToken(
  values: FleetValues,
  plan: FleetPlan,
  stdin: Streams['stdin'],
): Promise<{ readonly token: string; readonly input: string | undefined }> {
  const [first = '', ...rest] = values['token-stdin'] ? (await text(stdin())).split('\n') : [];
  const token = values['token-stdin'] ? first.trim() : readOperatorToken(plan.keysDir);
  if (!token) throw new FleetError('PEER_UNREACHABLE', `there are no keys in ${plan.keysDir}`);
  return { token, input: values['token-stdin'] ? rest.join('\n') : undefined };
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
  const plan = plannedFleet(values);
  const entryPoint = { command: commandOf(name), cwd: plan.home };
  if (values['as-is']) return { ...entryPoint, env };
  const member = [...plan.members, plan.console].find((each) => each.name === name);
  if (member) return { ...entryPoint, env: serviceEnv(plan, member, env) };
  const names = plan.members.map((each) => each.name).join(', ');
  throw new UsageError(`there is no profile ${name}, only ${names}; --as-is looks below HERMES_HOME`);
}

/** The content of a file; `-` is stdin, without the token if that came first (`input`). Throws UsageError. */
export async function readInput(
  file: string,
  input: string | undefined,
  stdin: Streams['stdin'],
  wanted: string,
): Promise<string> {
  try {
    return file === '-' ? (input ?? (await text(stdin()))) : readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: name a file with ${wanted}`, { cause });
  }
}
