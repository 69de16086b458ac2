import { join } from 'node:path';
import { type AgentCard, buildAgentCard } from '@hermes-fleet/a2a';
import {
  type FleetConfig,
  FleetConfigSchema,
  listenerUrl,
  normalizePeerUrl,
} from '@hermes-fleet/fleet-config';
import { FleetError, HANDSHAKE_EXTENSION, type JsonObject, PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import { loadYamlConfig, type SecretEnv } from '@hermes-fleet/service';
import { readIdentity } from './configuration.ts';
import type { MemberEnvironment } from './environment.ts';
import { version } from './version.ts';

/** What every card declares: the handshake, with the versions that this build speaks. */
export const EXTENSIONS: readonly { readonly uri: string; readonly params: JsonObject }[] = [
  { uri: HANDSHAKE_EXTENSION, params: { protocol_versions: [...PROTOCOL_VERSIONS] } },
];

/** A member's agent card, as a client that came to this host is shown it (design 3, Agent card). */
export function cardOf(
  server: NonNullable<FleetConfig['fleet']['server']>,
  identity: string,
  request: Parameters<typeof publicUrl>[1],
): AgentCard {
  return buildAgentCard({
    identity,
    url: publicUrl(server, request),
    version,
    extensions: EXTENSIONS,
    streaming: true,
    authRequired: server.auth_required,
  });
}

/**
 * The card that a start of this member would serve, made from fleet.yaml and IDENTITY.md alone: no token is read, none
 * has to be there. Throws CONFIG_INVALID.
 */
export function memberCard({ name, dir }: MemberEnvironment, env: SecretEnv): AgentCard {
  const file = join(dir, 'fleet.yaml');
  const { server } = loadYamlConfig({ file, schema: FleetConfigSchema, env }).value.fleet;
  const identity = readIdentity(dir);
  if (server === undefined)
    throw new FleetError('CONFIG_INVALID', `${name} serves nothing, so it has no agent card`, {
      fields: [{ path: 'fleet.yaml fleet.server', reason: 'is missing; say where it is reached' }],
    });
  const url = server.public_url ?? listenerUrl(server.bind_host, server.bind_port);
  const { host, protocol } = new URL(url);
  return cardOf(server, identity, { host, protocol: protocol.replace(':', '') });
}

/**
 * The address that a card shows: the one that the client used where its host is allow-listed, so that clients inside
 * and outside a container network each get one that works; else the configured one (design 2, fleet.yaml).
 */
export function publicUrl(
  server: NonNullable<FleetConfig['fleet']['server']>,
  request: { readonly host: string; readonly protocol: string },
): string {
  const configured = server.public_url ?? listenerUrl(server.bind_host, server.bind_port);
  const asked = `${request.protocol}://${request.host}`;
  const hostname = URL.canParse(asked) ? new URL(asked).hostname : undefined;
  const allowed = hostname !== undefined && server.allowed_hosts.includes(hostname);
  return normalizePeerUrl(allowed ? asked : configured);
}
