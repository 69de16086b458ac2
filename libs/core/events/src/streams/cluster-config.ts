import { FleetError } from '@hermes-fleet/protocol';
import { quote } from './nats-config.ts';

/** The user of the routes between servers; it is no client and may not log in as one. */
const ROUTE_USER = 'route';
const ROUTE_PORT = 6222;
const CLUSTER_NAME = 'fleet';
const CONNECT_TIMEOUT_S = 5;

export interface ClusterConfigOptions {
  /** The configuration that every server shares, relative to the file of this one; see `renderNatsConfig`. */
  readonly include: string;
  /** The address on which the routes listen. */
  readonly host: string;
  /** `host` or `host:port` of every server; each may name itself. */
  readonly servers: readonly string[];
  /** What a server says to another one. It becomes part of a URL. */
  readonly password: string;
}

/** Splits `host` or `host:port`. Throws CONFIG_INVALID. */
function routeAddress(server: string): string {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(server);
  if (match?.[1] === undefined)
    throw new FleetError(
      'CONFIG_INVALID',
      `a server of the NATS cluster must be a host, or host:port, not ${JSON.stringify(server)}`,
    );
  return `${match[1]}:${match[2] ?? ROUTE_PORT}`;
}

/**
 * Renders the configuration of a server of a cluster. One file serves all of them: a server takes its own name from the
 * variable NATS_SERVER_NAME, and refuses to start without it. Throws CONFIG_INVALID.
 */
export function renderClusterConfig(options: ClusterConfigOptions): string {
  const password = quote(options.password, 'the password of the routes');
  const routes = options.servers.map((server) =>
    quote(
      `nats-route://${ROUTE_USER}:${encodeURIComponent(options.password)}@${routeAddress(server)}`,
      'a route',
    ),
  );
  return `${[
    `include ${options.include}`,
    'server_name: $NATS_SERVER_NAME',
    'cluster {',
    `  name: ${CLUSTER_NAME}`,
    `  host: ${quote(options.host, 'the host')}`,
    `  port: ${ROUTE_PORT}`,
    `  authorization { user: ${ROUTE_USER}, password: ${password}, timeout: ${CONNECT_TIMEOUT_S} }`,
    '  no_advertise: true',
    `  routes: [${routes.join(', ')}]`,
    '}',
  ].join('\n')}\n`;
}
