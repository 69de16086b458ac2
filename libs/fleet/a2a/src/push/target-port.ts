import { type DestinationRules, namesPort, parseDestination, portOf } from '@hermes-fleet/net';
import { FleetError } from '@hermes-fleet/protocol';

/** The ports of mail, remote shells, databases and the like begin below this one. */
const FIRST_FREE_PORT = 1024;
const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);

/**
 * Throws INVALID_PARAMS for a target at a port below 1024 that is neither 80 nor 443, unless `allowInternal` names the port with
 * its host (docs/push.md#configs), and for what is no address.
 */
export function checkPort(address: string, { allowInternal = [] }: DestinationRules): void {
  const url = parseDestination(address);
  const port = portOf(url);
  if (port >= FIRST_FREE_PORT || WEB_PORTS.has(port) || namesPort(url, allowInternal)) return;
  const remedy = 'have the operator name the host with this port in fleet.push.allow_internal';
  throw new FleetError(
    'INVALID_PARAMS',
    `port ${port} is below ${FIRST_FREE_PORT} and neither 80 nor 443: use another port, or ${remedy}`,
  );
}
