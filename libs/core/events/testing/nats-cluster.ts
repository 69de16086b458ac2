import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderClusterConfig } from '../src/streams/cluster-config.ts';
import { renderNatsConfig } from '../src/streams/nats-config.ts';
import { type NatsProcess, natsProcess } from './nats-process.ts';
import { type RouteLinks, startRouteLinks } from './route-links.ts';

const ROUTE_PORT = 6222;
const CLIENT_PORT = 4222;

/** One server of a cluster. */
export interface ClusterServer {
  readonly name: string;
  readonly url: string;
  pid(): number | undefined;
  kill(): Promise<void>;
  /** Asks the server to stop, and waits until it has. */
  stop(): Promise<void>;
  /** Starts a server that was killed, with its store; resolves when it accepts connections. */
  restart(): Promise<void>;
  /** Removes the store of a server that was killed. */
  loseVolume(): Promise<void>;
}

export interface NatsCluster {
  readonly servers: readonly ClusterServer[];
  readonly urls: readonly string[];
  /** Cuts and heals the routes between servers. */
  readonly links: RouteLinks;
  server(name: string): ClusterServer;
}

/**
 * Real nats-servers on loopback addresses of their own, with the configuration that `fleet keys init` writes for a cluster.
 * Every route leads through a proxy that can cut it. All of them end with the test.
 */
export async function startNatsCluster(
  t: { after(fn: () => Promise<void>): void },
  { size = 3, started = size }: { readonly size?: number; readonly started?: number } = {},
): Promise<NatsCluster> {
  const dir = await mkdtemp(join(tmpdir(), 'fleet-nats-cluster-'));
  const network = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`;
  const names = Array.from({ length: size }, (_, at) => `nats-${at}`);
  const addressOf = (at: number): string => `${network}.${at + 1}`;
  const doorOf = (at: number): string => `${network}.${at + 101}`;
  const links = await startRouteLinks(
    t,
    names.map((name, at) => ({
      name,
      door: { host: doorOf(at), port: ROUTE_PORT },
      target: { host: addressOf(at), port: ROUTE_PORT },
    })),
  );
  const processes: NatsProcess[] = [];
  t.after(async () => {
    await Promise.all(processes.map((process) => process.end('SIGKILL')));
    await rm(dir, { recursive: true, force: true });
  });

  const prepare = async (name: string, at: number): Promise<ClusterServer> => {
    const store = join(dir, name, 'store');
    const folder = await mkdtemp(join(dir, `${name}-`));
    const host = addressOf(at);
    const shared = { storeDir: store, host, port: CLIENT_PORT, syncAlways: false, users: [] };
    await writeFile(join(folder, 'nats.conf'), renderNatsConfig(shared));
    const configFile = join(folder, 'nats-cluster.conf');
    const routes = { include: 'nats.conf', host, servers: names.map((_, to) => doorOf(to)) };
    await writeFile(configFile, renderClusterConfig({ ...routes, password: 'route-password' }));
    const process = natsProcess({ configFile, env: { NATS_SERVER_NAME: name } });
    processes.push(process);
    return {
      name,
      url: `nats://${host}:${CLIENT_PORT}`,
      pid: process.pid,
      kill: () => process.end('SIGKILL'),
      stop: () => process.end('SIGTERM'),
      restart: async () => void (await process.start()),
      loseVolume: () => rm(store, { recursive: true, force: true }),
    };
  };
  const servers = await Promise.all(names.map(prepare));
  await Promise.all(servers.slice(0, started).map((server) => server.restart()));
  return {
    servers,
    urls: servers.map(({ url }) => url),
    links,
    server: (name) => {
      const found = servers.find((server) => server.name === name);
      if (found === undefined) throw new Error(`there is no server ${name}`);
      return found;
    },
  };
}
