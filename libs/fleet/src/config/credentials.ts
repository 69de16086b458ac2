import type { Caller, FieldError } from '@hermes-fleet/protocol';
import { PEER_SCOPES } from '@hermes-fleet/service';
import type { FleetConfig } from './config.ts';
import { normalizePeerUrl } from './peer-url.ts';

/** The shortest token that is accepted, in characters. */
export const MIN_TOKEN_LENGTH = 16;

/** The caller behind one shared token, or behind none on loopback (design 2, fleet.yaml). */
export const SHARED_CALLER: Caller = {
  name: 'peer',
  scopes: new Set(PEER_SCOPES),
};

export interface ConfiguredPeer {
  readonly url: string;
  readonly token?: string;
}

export interface Credentials {
  /** What the authenticator accepts; empty when `auth_required` is false. */
  readonly callers: readonly { name: string; scopes: readonly string[]; secret: string }[];
  readonly peers: Readonly<Record<string, ConfiguredPeer>>;
  /** The login at the broker; empty where fleet.yaml names none. */
  readonly bus: { readonly user?: string; readonly pass?: string };
  /** Every variable that is missing, and every token that is too short or not distinct; `path` is the key in fleet.yaml. */
  readonly problems: readonly FieldError[];
  readonly warnings: readonly string[];
}

interface Use {
  readonly path: string;
  readonly variable: string;
  readonly owner: string;
}

/** Reads every token that fleet.yaml names, and reports all problems at once instead of throwing at the first. */
export function resolveTokens(
  config: FleetConfig,
  env: { read(name: string): string | undefined },
): Credentials {
  const problems: FieldError[] = [];
  const uses: Use[] = [];
  const read = (path: string, variable: string): string | undefined => {
    const value = env.read(variable);
    if (value !== undefined && value !== '') return value;
    problems.push({
      path,
      reason: `${variable} is not set: export it, or put its value in the file that ${variable}_FILE names`,
    });
    return undefined;
  };
  const token = (path: string, variable: string, owner: string): string | undefined => {
    uses.push({ path, variable, owner });
    const value = read(path, variable);
    if (value === undefined || value.length >= MIN_TOKEN_LENGTH) return value;
    problems.push({
      path,
      reason: `${variable} is shorter than ${MIN_TOKEN_LENGTH} characters: use a longer token`,
    });
    return undefined;
  };

  const callers = ownCallers(config, token);
  problems.push(...indistinct(callers));
  const peers: Record<string, ConfiguredPeer> = {};
  for (const [name, agent] of Object.entries(config.fleet.agents)) {
    const secret =
      agent.token_env === undefined
        ? undefined
        : token(`fleet.agents.${name}.token_env`, agent.token_env, name);
    peers[name] = { url: normalizePeerUrl(agent.url), ...(secret === undefined ? {} : { token: secret }) };
  }
  const { user_env: userEnv, password_env: passwordEnv } = config.fleet.nats ?? {};
  const user = userEnv === undefined ? undefined : read('fleet.nats.user_env', userEnv);
  const pass = passwordEnv === undefined ? undefined : read('fleet.nats.password_env', passwordEnv);
  const bus = { ...(user === undefined ? {} : { user }), ...(pass === undefined ? {} : { pass }) };
  return { callers, peers, bus, problems, warnings: sharedNames(uses) };
}

/** The caller of this name as fleet.yaml has it now; for tasks that outlived a restart. */
export function callerNamed(config: FleetConfig, name: string): Caller {
  const entry = config.fleet.server?.callers?.[name];
  if (entry) return { name, scopes: new Set(entry.scopes) };
  return name === SHARED_CALLER.name ? SHARED_CALLER : { name, scopes: new Set() };
}

function ownCallers(
  config: FleetConfig,
  token: (path: string, variable: string, owner: string) => string | undefined,
): Credentials['callers'][number][] {
  const { server } = config.fleet;
  if (!server?.auth_required) return [];
  const callers: Credentials['callers'][number][] = [];
  if (server.token_env !== undefined) {
    const secret = token('fleet.server.token_env', server.token_env, 'this profile');
    if (secret) callers.push({ name: SHARED_CALLER.name, scopes: [...SHARED_CALLER.scopes], secret });
  }
  for (const [name, entry] of Object.entries(server.callers ?? {})) {
    const secret = token(`fleet.server.callers.${name}.token_env`, entry.token_env, `caller ${name}`);
    if (secret) callers.push({ name, scopes: entry.scopes, secret });
  }
  return callers;
}

function indistinct(callers: Credentials['callers']): FieldError[] {
  const bySecret = new Map<string, string>();
  const problems: FieldError[] = [];
  for (const { name, secret } of callers) {
    const other = bySecret.get(secret);
    if (other === undefined) bySecret.set(secret, name);
    else
      problems.push({
        path: `fleet.server.callers.${name}.token_env`,
        reason: `holds the same token as ${other}: callers are told apart by their token, give each its own`,
      });
  }
  return problems;
}

function sharedNames(uses: readonly Use[]): string[] {
  const byVariable = new Map<string, Use[]>();
  for (const use of uses) byVariable.set(use.variable, [...(byVariable.get(use.variable) ?? []), use]);
  return [...byVariable]
    .filter(([, users]) => users.length > 1)
    .map(
      ([variable, users]) =>
        `${variable} is shared by ${users.map(({ owner }) => owner).join(', ')}: use one name per profile, ` +
        "such as A2A_HERMES_TOKEN_NEO, so that profiles on one host cannot pick up each other's token",
    );
}
