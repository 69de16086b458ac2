import { chmod, copyFile, mkdir, open, rm } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { asset } from '@hermes-fleet/installation';
import type { Resolve } from '@hermes-fleet/net';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { PROXY_PLACES, type ProxiedCommand } from '@hermes-fleet/workspace';
import type { AllowedHosts } from './allowed-hosts.ts';
import { createHostProxy, type OnRefused } from './host-proxy.ts';

/** Commands without a network of their own reach the allowed hosts through it (docs/configuration.md#network-of-commands). */
export interface AllowedNetwork extends AsyncDisposable {
  readonly description: string;
  /** The way of one command. `who` is logged with what is refused to it. */
  openProxy(who: object): ProxiedCommand;
}

interface AllowedNetworkOptions {
  /** A folder of it is made anew. */
  readonly stateDir: string;
  readonly resolve?: Resolve | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** The port of the proxy on the loopback interface of a command. */
const PROXY_PORT = 3128;
/** Connections of one command, and of all. */
const MAX_SOCKETS = 64;
const MAX_ALL_SOCKETS = 1024;
/** Connections of one command that are told that it has too many, and how long they may stay silent then. */
const MAX_TOLD = 16;
const TOLD_MS = 1000;
const TOO_MANY = `HTTP/1.1 503 ${STATUS_CODES[503]}\r\nconnection: close\r\n\r\na command may have ${MAX_SOCKETS} connections at a time\n`;
/** A way that no command has taken by then is closed. */
const UNUSED_MS = 60_000;
const MAX_REFUSED = 10;
const MAX_LOGGED = 1000;
const MAX_HOSTS_TOLD = 30;

/** `tools.shell.network`. */
type ConfiguredNetwork =
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

/** Each command has a socket of its own, which no other sees: its connections end with it. Disposal ends all. */
async function openAllowedNetwork(
  hosts: AllowedHosts,
  { stateDir, resolve, clock, log }: AllowedNetworkOptions,
): Promise<AllowedNetwork> {
  const serve = createHostProxy({ hosts, resolve, clock });
  const ways = new Set<Disposable>();
  const logged = new Set<string>();
  let opened = 0;
  let connected = 0;

  const folder = join(stateDir, 'network');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const relay = join(folder, 'relay.cjs');
  await copyFile(asset('network-relay.cjs'), relay);
  await chmod(relay, 0o644);
  // The path of a socket has a short limit, and that of the folder has none.
  const handle = await open(folder, 'r');

  function logOnce(who: object, target: string, reason: string): void {
    const key = JSON.stringify([who, target]);
    if (logged.has(key)) return;
    if (logged.size >= MAX_LOGGED) logged.clear();
    logged.add(key);
    log.warn({ ...who, target, reason }, 'the network of a command refused a connection');
  }

  /** Listens on a socket of this name. Disposal removes it and ends its connections. */
  function listen(name: string, refused: OnRefused): Disposable {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.add(socket);
      connected += 1;
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        connected -= 1;
      });
      if (connected > MAX_ALL_SOCKETS || sockets.size > MAX_SOCKETS + MAX_TOLD) socket.destroy();
      else if (sockets.size <= MAX_SOCKETS) serve(socket, refused);
      else {
        socket.setTimeout(TOLD_MS, () => socket.destroy());
        // It closes when the other side has ended, and that is read to its end only.
        socket.resume().end(TOO_MANY);
      }
    });
    // The command, without its socket, does not start.
    server.on('error', (error) =>
      log.error({ error }, 'the way of a command to the network cannot be opened'),
    );
    // It is there on return.
    server.listen({ path: `/proc/self/fd/${handle.fd}/${name}`, readableAll: true, writableAll: true });
    return {
      [Symbol.dispose]() {
        server.close();
        for (const socket of sockets) socket.destroy();
      },
    };
  }

  return {
    description: describe(hosts),
    openProxy(who) {
      const refused = new Map<string, string>();
      let others = 0;
      opened += 1;
      const name = `proxy-${opened}`;
      const way = new DisposableStack();
      way.defer(() => ways.delete(way));
      way.use(
        listen(name, (target, reason) => {
          if (refused.has(target)) return;
          if (refused.size < MAX_REFUSED) refused.set(target, reason);
          else others += 1;
          if (others <= 1) logOnce(who, target, reason);
        }),
      );
      const unused = way.use(clock.timer(() => way.dispose(), UNUSED_MS));
      ways.add(way);
      return {
        files: { relay, socket: join(folder, name) },
        prefix: ['/bin/sh', '-c', PREFIX, 'sh', process.execPath],
        monitor() {
          unused[Symbol.dispose]();
          return way;
        },
        refused: () => [
          ...[...refused].map(([target, reason]) => `${target}: ${reason}`),
          ...(others > 0 ? [`${others} more refusals`] : []),
        ],
      };
    },
    async [Symbol.asyncDispose]() {
      for (const way of ways) way[Symbol.dispose]();
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

/** Node is its argument. The relay ends with the namespace of the command's processes. */
const PREFIX = `said=$(exec /usr/bin/env -i "$1" --v8-pool-size=0 ${PROXY_PLACES.relay} ${PROXY_PLACES.socket} ${PROXY_PORT} </dev/null 2>&1 &)
[ "$said" = ready ] || { echo "the way to the network could not be opened: $said" >&2; exit 125; }
shift
export ${VARIABLES.join(' ')}
exec "$@"`;

function describe({ allow, allowInternal }: AllowedHosts): string {
  const all = [...new Set([...allow, ...allowInternal])];
  const told = all.slice(0, MAX_HOSTS_TOLD).join(', ');
  const rest = all.length > MAX_HOSTS_TOLD ? ` and ${all.length - MAX_HOSTS_TOLD} more` : '';
  return `It reaches these hosts only, by HTTP and HTTPS, through the proxy of HTTPS_PROXY: ${told}${rest}.`;
}
