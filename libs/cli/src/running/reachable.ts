import { type A2AClient, createA2AClient, type PeerEndpoint } from '@hermes-fleet/a2a/client';
import { HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import type { Target } from '../client/api.ts';
import { ownTls, TLS_KEYS } from '../client/tls.ts';
import type { Values } from '../command-line/command.ts';
import { agentOptions, httpUrl, UsageError } from '../command-line/option-values.ts';
import type { REACH_OPTIONS } from '../command-line/shared-options.ts';
import { ORCHESTRATOR } from '../keys/layout.ts';
import { askedFleet, memberNamed, profilesOf } from './running-fleet.ts';

export type ReachValues = Values<typeof REACH_OPTIONS>;

/** An agent that can be asked by A2A, and, if it is a profile, by its HTTP API too. */
export interface Reachable {
  readonly name: string;
  readonly endpoint: PeerEndpoint;
  /** Undefined for an agent that is not of the fleet. */
  readonly target: Target | undefined;
  /** False if its card offers no streams. */
  readonly streams: boolean;
  /** What the command line of another command for the same agent needs: options after a space, or nothing. */
  readonly again: string;
}

const DISCOVER_MS = 15_000;

export const fleetClient = (): A2AClient =>
  createA2AClient({
    clock: systemClock,
    log: silentLog,
    extensions: [HANDSHAKE_EXTENSION],
    tls: ownTls(),
    tlsKeys: TLS_KEYS,
  });

/**
 * The profiles to ask, the orchestrator first, or the one that `--profile` names; or the agent at `--url`. The operator's
 * token comes from FLEET_TOKEN, or else from the keys. Throws UsageError, and PEER_UNREACHABLE without keys or without an
 * answer of the agent.
 */
export async function reachable(
  client: A2AClient,
  values: ReachValues,
  env: NodeJS.ProcessEnv,
): Promise<readonly Reachable[]> {
  if (values.url !== undefined) return [await agentAt(client, values.url, values, env)];
  if (values['token-env'] !== undefined) throw new UsageError('--token-env needs --url');
  const fleet = await askedFleet(values, env);
  const profiles = profilesOf(fleet);
  const chosen =
    values.profile === undefined ? profiles : [memberNamed(profiles, values.profile, 'profile ')];
  const token = env.FLEET_TOKEN || (await fleet.token());
  return chosen
    .toSorted((a, b) => Number(b.name === ORCHESTRATOR) - Number(a.name === ORCHESTRATOR))
    .map(({ name, url }) => ({
      name,
      endpoint: { name, url: `${url}/jsonrpc`, token },
      target: { name, url, token },
      streams: true,
      again: '',
    }));
}

async function agentAt(
  client: A2AClient,
  url: string,
  values: ReachValues,
  env: NodeJS.ProcessEnv,
): Promise<Reachable> {
  if (values.profile !== undefined || values.reach !== undefined)
    throw new UsageError('--url names the agent: leave out --profile and --reach');
  const { host: name, origin } = httpUrl('--url', url);
  const variable = values['token-env'];
  const token = variable === undefined ? undefined : env[variable];
  if (variable !== undefined && !token)
    throw new UsageError(`--token-env: the variable ${variable} is not set`);
  const found = await client.discover(url, { timeoutMs: DISCOVER_MS });
  // A card may name any address, and a token is for the one that the user has named.
  if (token !== undefined && new URL(found.url).origin !== origin)
    throw new UsageError(
      `the card at ${name} names ${new URL(found.url).origin}: to send the token there, give that address with --url`,
    );
  return {
    name,
    endpoint: { name, url: found.url, version: found.version, token },
    target: undefined,
    streams: found.card.capabilities?.streaming === true,
    again: agentOptions(values) ?? '',
  };
}
