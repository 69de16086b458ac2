import type { FleetConfig } from '@hermes-fleet/fleet';
import { normalizePeerUrl } from '@hermes-fleet/fleet';

/**
 * The address that a card shows: the one that the client used where its host is allow-listed, so that clients inside
 * and outside a container network each get one that works; else the configured one (design 2, fleet.yaml).
 */
export function publicUrl(
  config: FleetConfig,
  request: { readonly host: string; readonly protocol: string },
): string {
  const { server } = config.fleet;
  const configured = server?.public_url ?? `http://${server?.bind_host}:${server?.bind_port}`;
  const asked = `${request.protocol}://${request.host}`;
  const hostname = URL.canParse(asked) ? new URL(asked).hostname : undefined;
  const allowed = hostname !== undefined && (server?.allowed_hosts ?? []).includes(hostname);
  return normalizePeerUrl(allowed ? asked : configured);
}
