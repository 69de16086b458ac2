import type { TlsSource } from '@hermes-fleet/net/tls';
import type { FieldError } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { PEER_SCOPES } from '@hermes-fleet/service';
import type { FleetConfig } from './config.ts';
import { type JoinPolicy, joinPolicy } from './join-policy.ts';
import { normalizePeerUrl } from './peer-url.ts';
import { readPushKey } from './push-key.ts';
import { readVariable, type TokenUse, tokenDigest, tokenProblem } from './token.ts';

/** The caller with the shared token, or without a token on loopback (docs/peering.md#tokens). */
export const SHARED_CALLER: Caller = {
  name: 'peer',
  scopes: new Set(PEER_SCOPES),
};

export interface ConfiguredPeer {
  readonly url: string;
  readonly token?: string;
  /** `agent_card_url` of fleet.yaml. */
  readonly cardUrl?: string;
  /** `max_tasks` of fleet.yaml. */
  readonly maxTasks?: number;
}

export interface Credentials {
  /** The callers that the authenticator accepts; empty if `auth_required` is false. */
  readonly callers: readonly { name: string; scopes: readonly string[]; secret: string }[];
  readonly peers: Readonly<Record<string, ConfiguredPeer>>;
  readonly join: JoinPolicy;
  /** The login at the broker; empty if fleet.yaml has none. Whoever reads the certificates adds `tls`. */
  readonly bus: { readonly user?: string; readonly pass?: string; readonly tls?: TlsSource };
  /** The key that signs push notifications, 32 bytes. */
  readonly pushKey?: Uint8Array;
  /** Every missing variable, and every token that is too short or not distinct; `path` is the key in fleet.yaml. */
  readonly problems: readonly FieldError[];
  readonly warnings: readonly string[];
}

interface Use {
  readonly path: string;
  readonly variable: string;
  readonly owner: string;
}

/** Reads every token that fleet.yaml names, and reports all problems at once. */
export function resolveTokens(
  config: FleetConfig,
  env: { read(name: string): string | undefined },
): Credentials {
  const problems: FieldError[] = [];
  const uses: Use[] = [];
  const read = (path: string, variable: string): string | undefined => {
    const found = readVariable(env, variable);
    if ('value' in found) return found.value;
    problems.push({ path, reason: found.problem });
    return undefined;
  };
  const token = (path: string, variable: string, owner: string, use: TokenUse): string | undefined => {
    uses.push({ path, variable, owner });
    const value = read(path, variable);
    const problem = value === undefined ? undefined : tokenProblem(value, use);
    if (problem === undefined) return value;
    problems.push({ path, reason: `${variable} ${problem}` });
    return undefined;
  };

  const callers = ownCallers(config, token);
  problems.push(...indistinct(callers));
  const peers: Record<string, ConfiguredPeer> = {};
  for (const [name, agent] of Object.entries(config.fleet.agents)) {
    const secret =
      agent.token_env === undefined
        ? undefined
        : token(`fleet.agents.${name}.token_env`, agent.token_env, name, 'shown');
    peers[name] = {
      url: normalizePeerUrl(agent.url),
      ...(secret === undefined ? {} : { token: secret }),
      ...(agent.agent_card_url === undefined ? {} : { cardUrl: agent.agent_card_url }),
      ...(agent.max_tasks === undefined ? {} : { maxTasks: agent.max_tasks }),
    };
  }
  const joinEnv = config.fleet.join?.token_env;
  const joinToken =
    joinEnv === undefined
      ? undefined
      : token('fleet.join.token_env', joinEnv, 'workers that joined', 'shown');
  const { user_env: userEnv, password_env: passwordEnv } = config.fleet.nats ?? {};
  const user = userEnv === undefined ? undefined : read('fleet.nats.user_env', userEnv);
  const pass = passwordEnv === undefined ? undefined : read('fleet.nats.password_env', passwordEnv);
  const bus = { ...(user === undefined ? {} : { user }), ...(pass === undefined ? {} : { pass }) };
  const join = joinPolicy(config, joinToken);
  const pushKey = pushKeyOf(config, read, problems);
  return {
    callers,
    peers,
    join,
    bus,
    ...(pushKey ? { pushKey } : {}),
    problems,
    warnings: sharedNames(uses),
  };
}

function pushKeyOf(
  { fleet: { push } }: FleetConfig,
  read: (path: string, variable: string) => string | undefined,
  problems: FieldError[],
): Uint8Array | undefined {
  const path = 'fleet.push.signing_key_env';
  const { enabled, signing_key_env: variable } = push;
  const text = variable === undefined || !enabled ? undefined : read(path, variable);
  const key = text === undefined ? undefined : readPushKey(text);
  if (text !== undefined && key === undefined)
    problems.push({
      path,
      reason: `${variable} is not a key: use 32 bytes in base64, from openssl rand -base64 32`,
    });
  return key;
}

/** The variables with the tokens that a profile with this fleet.yaml accepts, and their keys. */
export function acceptedVariables(
  config: FleetConfig,
): { readonly path: string; readonly variable: string }[] {
  const { enabled, server } = config.fleet;
  if (!enabled || !server?.auth_required) return [];
  return [
    ...(server.token_env === undefined
      ? []
      : [{ path: 'fleet.server.token_env', variable: server.token_env }]),
    ...Object.entries(server.callers ?? {}).map(([name, { token_env: variable }]) => ({
      path: `fleet.server.callers.${name}.token_env`,
      variable,
    })),
  ];
}

/** The caller with this name and its current scopes; for tasks that continue after a restart. */
export function callerNamed(config: FleetConfig, name: string): Caller {
  const entry = config.fleet.server?.callers?.[name];
  if (entry) return { name, scopes: new Set(scopesOf(entry)) };
  return name === SHARED_CALLER.name ? SHARED_CALLER : { name, scopes: new Set() };
}

/** A caller that may join may announce itself. */
function scopesOf({ scopes }: { readonly scopes: readonly string[] }): readonly string[] {
  return scopes.includes('join') && !scopes.includes('announce') ? [...scopes, 'announce'] : scopes;
}

function ownCallers(
  config: FleetConfig,
  token: (path: string, variable: string, owner: string, use: TokenUse) => string | undefined,
): Credentials['callers'][number][] {
  const { server } = config.fleet;
  if (!server?.auth_required) return [];
  const callers: Credentials['callers'][number][] = [];
  if (server.token_env !== undefined) {
    const secret = token('fleet.server.token_env', server.token_env, 'this profile', 'accepted');
    if (secret) callers.push({ name: SHARED_CALLER.name, scopes: [...SHARED_CALLER.scopes], secret });
  }
  for (const [name, entry] of Object.entries(server.callers ?? {})) {
    const path = `fleet.server.callers.${name}.token_env`;
    const secret = token(path, entry.token_env, `caller ${name}`, 'accepted');
    if (secret) callers.push({ name, scopes: scopesOf(entry), secret });
  }
  return callers;
}

function indistinct(callers: Credentials['callers']): FieldError[] {
  const bySecret = new Map<string, string>();
  const problems: FieldError[] = [];
  for (const { name, secret } of callers) {
    const digest = tokenDigest(secret);
    const other = bySecret.get(digest);
    if (other === undefined) bySecret.set(digest, name);
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
