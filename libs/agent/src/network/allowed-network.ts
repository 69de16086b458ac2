import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, open, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Resolve } from '@hermes-fleet/outbound';
import type { Clock, Log } from '@hermes-fleet/protocol';
import { PROXY_FOLDER, type ProxiedCommand } from '@hermes-fleet/workspace';
import type { AllowedHosts } from './allowed-hosts.ts';
import { createHostProxy } from './host-proxy.ts';

/** Commands without a network of their own reach the allowed hosts through it (docs/configuration.md#network-of-commands). */
export interface AllowedNetwork extends AsyncDisposable {
  /** For `createConfinement`. */
  readonly folder: string;
  /** One sentence for the model. */
  readonly description: string;
  /** The way of one command. `who` is logged with what is refused to it. */
  open(who: object): ProxiedCommand;
}

export interface AllowedNetworkOptions {
  /** A folder of it is made anew. */
  readonly stateDir: string;
  readonly resolve?: Resolve | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

interface Client {
  readonly sockets: Set<Socket>;
  refused(target: string, reason: string): void;
}

/** The port of the proxy on the loopback interface of a command. */
export const PROXY_PORT = 3128;
const TOKEN_BYTES = 16;
/** The token and the end of the line. */
const FIRST_LINE = TOKEN_BYTES * 2 + 1;
const FIRST_LINE_MS = 10_000;
/** Connections of one command, and of all. */
const MAX_SOCKETS = 64;
const MAX_ALL_SOCKETS = 1024;
const TOO_MANY = `HTTP/1.1 503 Busy\r\nconnection: close\r\n\r\na command may have ${MAX_SOCKETS} connections at a time\n`;
const MAX_REFUSED = 10;
const MAX_LOGGED = 1000;
const MAX_HOSTS_TOLD = 30;

/** `tools.shell.network`. */
export type ConfiguredNetwork =
  | 'full'
  | 'none'
  | { readonly allow: readonly string[]; readonly allow_internal: readonly string[] };

/** Opens the network that is configured; undefined where no hosts are named. */
export async function openConfiguredNetwork(
  network: ConfiguredNetwork,
  options: AllowedNetworkOptions,
): Promise<AllowedNetwork | undefined> {
  if (typeof network === 'string') return undefined;
  return openAllowedNetwork({ allow: network.allow, allowInternal: network.allow_internal }, options);
}

/**
 * Opens the proxy on a Unix socket, which only confined commands see. A command is known by a token that only its own
 * sandbox has; its connections end with it. Disposal ends all connections.
 */
async function openAllowedNetwork(
  hosts: AllowedHosts,
  { stateDir, resolve, clock, log }: AllowedNetworkOptions,
): Promise<AllowedNetwork> {
  const serve = createHostProxy({ hosts, resolve, clock });
  const clients = new Map<string, Client>();
  const sockets = new Set<Socket>();
  const logged = new Set<string>();

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    if (sockets.size > MAX_ALL_SOCKETS) return void socket.destroy();
    const late = clock.timer(() => socket.destroy(), FIRST_LINE_MS);
    socket.once('close', () => late[Symbol.dispose]());
    const end = (): void => void socket.destroy();
    const read = (): void => {
      const line: Buffer | null = socket.read(FIRST_LINE);
      if (line === null) return;
      socket.removeListener('readable', read);
      socket.removeListener('end', end);
      late[Symbol.dispose]();
      const client = clients.get(line.toString('latin1').slice(0, -1));
      if (client === undefined) return void socket.destroy();
      if (client.sockets.size >= MAX_SOCKETS) return void socket.end(TOO_MANY);
      client.sockets.add(socket);
      socket.once('close', () => client.sockets.delete(socket));
      serve(socket, client.refused);
    };
    socket.on('readable', read);
    socket.once('end', end);
  });

  const folder = join(stateDir, 'network');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await chmod(folder, 0o711);
  const relay = join(folder, 'relay.cjs');
  await copyFile(join(import.meta.dirname, 'relay.cjs'), relay);
  await chmod(relay, 0o644);
  // The path of a socket has a short limit, and that of the folder has none.
  const handle = await open(folder, 'r');
  try {
    server.listen({ path: `/proc/self/fd/${handle.fd}/proxy`, readableAll: true, writableAll: true });
    await once(server, 'listening');
  } catch (error) {
    await handle.close();
    throw error;
  }

  function logOnce(who: object, target: string, reason: string): void {
    const key = JSON.stringify([who, target]);
    if (logged.has(key)) return;
    if (logged.size >= MAX_LOGGED) logged.clear();
    logged.add(key);
    log.warn({ ...who, target, reason }, 'the network of a command refused a connection');
  }

  return {
    folder,
    description: describe(hosts),
    open(who) {
      const token = randomBytes(TOKEN_BYTES).toString('hex');
      const refused = new Map<string, string>();
      let others = 0;
      const client: Client = {
        sockets: new Set(),
        refused(target, reason) {
          if (refused.has(target)) return;
          if (refused.size < MAX_REFUSED) refused.set(target, reason);
          else others += 1;
          if (others <= 1) logOnce(who, target, reason);
        },
      };
      return {
        prefix: ['/bin/sh', '-c', PREFIX, 'sh', process.execPath, token],
        monitor() {
          clients.set(token, client);
          return {
            [Symbol.dispose]() {
              clients.delete(token);
              for (const socket of client.sockets) socket.destroy();
            },
          };
        },
        refused: () => [
          ...[...refused].map(([target, reason]) => `${target}: ${reason}`),
          ...(others > 0 ? [`${others} more refusals`] : []),
        ],
      };
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      await handle.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
const VARIABLES = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'].map(
    (name) => `${name}=${PROXY}`,
  ),
  ...['NO_PROXY', 'no_proxy'].map((name) => `${name}=localhost,127.0.0.1,::1`),
  'NODE_USE_ENV_PROXY=1',
];

/** Node and the token are its arguments. The relay ends with the namespace of the command's processes. */
const PREFIX = `said=$(exec /usr/bin/env -i "$1" --v8-pool-size=0 ${PROXY_FOLDER}/relay.cjs ${PROXY_FOLDER}/proxy ${PROXY_PORT} "$2" </dev/null 2>&1 &)
[ "$said" = ready ] || { echo "the way to the network could not be opened: $said" >&2; exit 125; }
shift 2
export ${VARIABLES.join(' ')}
exec "$@"`;

function describe({ allow, allowInternal }: AllowedHosts): string {
  const all = [...new Set([...allow, ...allowInternal])];
  const told = all.slice(0, MAX_HOSTS_TOLD).join(', ');
  const rest = all.length > MAX_HOSTS_TOLD ? ` and ${all.length - MAX_HOSTS_TOLD} more` : '';
  return `It reaches these hosts only, by HTTP and HTTPS, through the proxy of HTTPS_PROXY: ${told}${rest}.`;
}
