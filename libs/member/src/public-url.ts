import { type FleetConfig, listenerUrl, normalizePeerUrl } from '@hermes-fleet/fleet-config';

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
