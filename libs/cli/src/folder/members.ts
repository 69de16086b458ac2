import { join } from 'node:path';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service/config';
import { z } from 'zod';
import { CONSOLE, isName, ORCHESTRATOR, TRADER } from '../keys/layout.ts';
import { MEMBERS_FILE } from './fleet-folder.ts';

/** A member of the fleet, with the port on which it listens. */
export interface Member {
  readonly name: string;
  readonly port: number;
}

export interface Members {
  /** The project of Compose, whose volumes have this name. */
  readonly name: string;
  /** The orchestrator first. */
  readonly profiles: readonly Member[];
  readonly trader?: Member | undefined;
  readonly console: Member;
  /** Variables that the profiles get in containers, beside the usual ones of keys. */
  readonly variables: readonly string[];
}

/** Ports that are not of members. */
export const OTHER_PORTS = { nats: 4222, prometheus: 9090, grafana: 3000 } as const;

/** Names of containers and of variables such as DOCKER_HOST, which a profile would share. */
const TAKEN = new Set([
  ...[TRADER, CONSOLE, ...Object.keys(OTHER_PORTS), 'operator', 'setup', 'keys', 'nats-setup'],
  ...['events', 'backup', 'welcome', 'localhost', 'docker', 'fleet', 'bind', 'health'],
]);

const MAX_NAME = 63;
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MemberSchema = z.strictObject({ port: z.int().min(1).max(65_535) });

const MembersSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, "-" and "_"')
      .default('hermes-fleet'),
    profiles: z.record(z.string(), MemberSchema),
    trader: MemberSchema.optional(),
    console: MemberSchema,
    variables: z.array(z.string().regex(VARIABLE, 'must be the name of a variable')).default([]),
  })
  .check(({ value, issues }) => {
    for (const { path, reason } of problemsOf(value))
      issues.push({ code: 'custom', path: [...path], message: reason, input: value });
  });
type Listed = z.output<typeof MembersSchema>;

interface Problem {
  readonly path: readonly string[];
  readonly reason: string;
}

/** The problems of names and ports, each with the key at which it is. */
function problemsOf({ profiles, trader, console }: Listed): readonly Problem[] {
  const names = Object.keys(profiles);
  const problems = names.flatMap((name) => {
    const reason = problemOfName(
      name,
      names.filter((other) => other !== name),
    );
    return reason === undefined ? [] : [{ path: ['profiles', name], reason }];
  });
  if (profiles[ORCHESTRATOR] === undefined)
    problems.push({ path: ['profiles'], reason: `has no ${ORCHESTRATOR}, which takes the tasks` });
  const seen = new Map<number, string>(Object.entries(OTHER_PORTS).map(([name, port]) => [port, name]));
  const ports = [
    ...Object.entries(profiles).map(([name, { port }]) => ({ path: ['profiles', name, 'port'], name, port })),
    ...(trader ? [{ path: [TRADER, 'port'], name: TRADER, ...trader }] : []),
    { path: [CONSOLE, 'port'], name: CONSOLE, ...console },
  ];
  for (const { path, name, port } of ports) {
    const other = seen.get(port);
    if (other !== undefined) problems.push({ path, reason: `port ${port} is that of ${other}` });
    else seen.set(port, name);
  }
  return problems;
}

/** Why a profile cannot have this name beside the others; undefined when it can. */
export function problemOfName(name: string, others: readonly string[]): string | undefined {
  if (name.length > MAX_NAME) return `is longer than ${MAX_NAME} characters`;
  if (!isName(name)) return 'is not a name of lower-case letters, digits and "-"';
  if (TAKEN.has(name)) return 'is a name that the fleet uses itself';
  if (others.includes(name)) return 'is a profile already';
  // Replicas have such names, and the profile may speak for them.
  const near = others.find((other) => name.startsWith(`${other}-`) || other.startsWith(`${name}-`));
  return near === undefined ? undefined : `would be a replica beside ${near}: choose another beginning`;
}

/** Why a new member cannot listen on this port; undefined when it can. */
export function problemOfPort(port: number, members: Members): string | undefined {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return `cannot listen on port ${port}`;
  const listed = [...workingMembers(members), members.console].map((each) => [each.name, each.port] as const);
  const other = [...Object.entries(OTHER_PORTS), ...listed].find(([, taken]) => taken === port);
  return other === undefined ? undefined : `cannot listen on port ${port}, which is that of ${other[0]}`;
}

/** Reads the list of members below the folder with the configuration. Throws CONFIG_INVALID with every problem and its line. */
export function readMembers(home: string): Members {
  const { value } = loadYamlConfig({
    file: join(home, MEMBERS_FILE),
    schema: MembersSchema,
    env: createSecretEnv({}),
  });
  const { name, profiles, trader, console, variables } = value;
  const listed = Object.entries(profiles).map(([name, { port }]) => ({ name, port }));
  return {
    name,
    profiles: [
      ...listed.filter((each) => each.name === ORCHESTRATOR),
      ...listed.filter((each) => each.name !== ORCHESTRATOR),
    ],
    trader: trader && { name: TRADER, port: trader.port },
    console: { name: CONSOLE, port: console.port },
    variables,
  };
}

/** The members that have keys and do work: the profiles, then the trader. */
export const workingMembers = ({ profiles, trader }: Members): readonly Member[] => [
  ...profiles,
  ...(trader ? [trader] : []),
];

/** The names of `workingMembers`. */
export const servicesOf = (members: Members): readonly string[] =>
  workingMembers(members).map(({ name }) => name);
