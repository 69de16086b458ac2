import { type AgentCard, buildAgentCard } from '@hermes-fleet/a2a';
import { type FleetConfig, listenerUrl, normalizePeerUrl } from '@hermes-fleet/fleet-config';
import { FleetError, HANDSHAKE_EXTENSION, type JsonObject, PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import type { SecretEnv } from '@hermes-fleet/service';
import { readFleetYaml, readIdentity } from './configuration.ts';
import { type MemberEnvironment, version } from './environment.ts';

/** The extensions on every card: the handshake, with the versions that this build supports. */
export const EXTENSIONS: readonly { readonly uri: string; readonly params: JsonObject }[] = [
  { uri: HANDSHAKE_EXTENSION, params: { protocol_versions: [...PROTOCOL_VERSIONS] } },
];

/** A member's agent card for a request to this host (docs/configuration.md#identitymd). */
export function cardOf(
  fleet: FleetConfig['fleet'],
  server: NonNullable<FleetConfig['fleet']['server']>,
  identity: string,
  request: NonNullable<Parameters<typeof publicUrl>[1]>,
): AgentCard {
  return buildAgentCard({
    identity,
    url: publicUrl(server, request),
    version,
    extensions: EXTENSIONS,
    streaming: true,
    pushNotifications: fleet.push.enabled,
    authRequired: server.auth_required,
    inputModes: takesFiles(fleet) ? fleet.files.media_types : [],
  });
}

/** Files need an agent with tools to read them, here or at a peer. */
const takesFiles = ({ response_handler: handler, orchestrate }: FleetConfig['fleet']): boolean =>
  handler === 'agent' || orchestrate;

/**
 * The card that this member would serve, from fleet.yaml and IDENTITY.md alone: it reads no token and needs none. Throws
 * CONFIG_INVALID.
 */
export function memberCard({ name, dir }: MemberEnvironment, env: SecretEnv): AgentCard {
  const { fleet } = readFleetYaml(dir, env).value;
  const { server } = fleet;
  const identity = readIdentity(dir, env);
  if (server === undefined)
    throw new FleetError('CONFIG_INVALID', `${name} serves nothing, so it has no agent card`, {
      fields: [
        { path: 'fleet.yaml fleet.server', reason: 'is missing; set the address at which it is reached' },
      ],
    });
  const url = server.public_url ?? listenerUrl(server, server.bind_host);
  const { host, protocol } = new URL(url);
  return cardOf(fleet, server, identity, { host, protocol: protocol.replace(':', '') });
}

/**
 * The JSON-RPC URL on the card: the requested host when it is in `allowed_hosts`, so that clients inside and outside a
 * container network each get a URL that works; otherwise, and without a request, the configured one (docs/configuration.md#fleetyaml).
 */
export function publicUrl(
  server: NonNullable<FleetConfig['fleet']['server']>,
  request?: { readonly host: string; readonly protocol: string },
): string {
  const configured = server.public_url ?? listenerUrl(server, server.bind_host);
  if (request === undefined) return normalizePeerUrl(configured);
  const requested = `${request.protocol}://${request.host}`;
  const hostname = URL.canParse(requested) ? new URL(requested).hostname : undefined;
  // Behind a proxy that ends TLS the request is http, and the public address is https.
  const isPublic = new URL(configured).hostname === hostname;
  const allowed = hostname !== undefined && !isPublic && server.allowed_hosts.includes(hostname);
  return normalizePeerUrl(allowed ? requested : configured);
}

/** The hosts at which this member is reached, beside loopback and the address of a connection. */
export function ownHosts(server: NonNullable<FleetConfig['fleet']['server']>): string[] {
  const { bind_host, public_url, allowed_hosts } = server;
  return [bind_host, ...(public_url === undefined ? [] : [new URL(public_url).hostname]), ...allowed_hosts];
}
