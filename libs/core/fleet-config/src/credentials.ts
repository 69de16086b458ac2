import type { TlsSource } from '@hermes-fleet/net/tls';
import type { FieldError } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { PEER_SCOPES } from '@hermes-fleet/service';
import type { FleetConfig } from './fleet-yaml.ts';
import { type JoinPolicy, joinPolicy } from './join-policy.ts';
import { normalizePeerUrl } from './peer-url.ts';
import { type Env, readVariable, type TokenUse, tokenDigest, tokenProblems } from './token.ts';

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

/** Reads every token that fleet.yaml names, and reports all problems at once. */
export function resolveTokens(config: FleetConfig, env: Env): Credentials {
  const value = (variable: string | undefined, use?: TokenUse): string | undefined => {
    const found = variable === undefined ? undefined : readVariable(env, variable, use);
    return found && 'value' in found ? found.value : undefined;
  };
  const { agents, join, nats, push } = config.fleet;
  const accepted = acceptedVariables(config);
  const callers = accepted.flatMap(({ caller: name, variable }) => {
    const secret = value(variable, 'accepted');
    return secret ? [{ name, scopes: [...callerNamed(config, name).scopes], secret }] : [];
  });
  const peers = Object.entries(agents).map(([name, agent]): [string, ConfiguredPeer] => {
    const token = value(agent.token_env, 'shown');
    return [
      name,
      {
        url: normalizePeerUrl(agent.url),
        ...(token === undefined ? {} : { token }),
        ...(agent.agent_card_url === undefined ? {} : { cardUrl: agent.agent_card_url }),
        ...(agent.max_tasks === undefined ? {} : { maxTasks: agent.max_tasks }),
      },
    ];
  });
  const [user, pass] = [value(nats?.user_env), value(nats?.password_env)];
  const keyText = push.enabled ? value(push.signing_key_env) : undefined;
  const pushKey = keyText === undefined ? undefined : readPushKey(keyText);
  const problems = [...indistinct(callers), ...tokenProblems(config, env)];
  if (keyText !== undefined && pushKey === undefined)
    problems.push({
      path: 'fleet.push.signing_key_env',
      reason: `${push.signing_key_env} is not a key: use 32 bytes in base64, from openssl rand -base64 32`,
    });
  return {
    callers,
    peers: Object.fromEntries(peers),
    join: joinPolicy(config, value(join?.token_env, 'shown')),
    bus: { ...(user === undefined ? {} : { user }), ...(pass === undefined ? {} : { pass }) },
    ...(pushKey ? { pushKey } : {}),
    problems,
    warnings: sharedNames([
      ...accepted.map(({ caller, variable }) => ({
        variable,
        owner: caller === SHARED_CALLER.name ? 'this profile' : `caller ${caller}`,
      })),
      ...Object.entries(agents).map(([owner, { token_env: variable }]) => ({ variable, owner })),
      { variable: join?.token_env, owner: 'workers that joined' },
    ]),
  };
}

const KEY_BYTES = 32;
const KEY_FORM = /^(?:whsk_)?([A-Za-z0-9+/]{43}=?)$/;

/**
 * The private key of `fleet.push.signing_key_env`: 32 bytes in base64, with or without the prefix `whsk_` of the Standard
 * Webhooks specification. Undefined for another text.
 */
function readPushKey(text: string): Uint8Array | undefined {
  const [, base64 = ''] = KEY_FORM.exec(text.trim()) ?? [];
  const key = Buffer.from(base64, 'base64');
  return key.length === KEY_BYTES ? key : undefined;
}

/** The variables with the tokens that a profile with this fleet.yaml accepts, and their keys. */
export function acceptedVariables({ fleet: { enabled, server } }: FleetConfig) {
  if (!enabled || !server?.auth_required) return [];
  const named = Object.entries(server.callers ?? {}).map(([caller, { token_env: variable }]) => ({
    path: `fleet.server.callers.${caller}.token_env`,
    variable,
    caller,
  }));
  if (server.token_env === undefined) return named;
  return [
    { path: 'fleet.server.token_env', variable: server.token_env, caller: SHARED_CALLER.name },
    ...named,
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

function sharedNames(
  uses: readonly { readonly variable: string | undefined; readonly owner: string }[],
): string[] {
  return [...Map.groupBy(uses, ({ variable }) => variable)]
    .filter(([variable, users]) => variable !== undefined && users.length > 1)
    .map(
      ([variable, users]) =>
        `${variable} is shared by ${users.map(({ owner }) => owner).join(', ')}: use one name per profile, ` +
        "such as A2A_HERMES_TOKEN_NEO, so that profiles on one host cannot pick up each other's token",
    );
}
