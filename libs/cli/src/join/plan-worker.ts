import { once } from 'node:events';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { isLoopback, matchesName } from '@hermes-fleet/fleet-config';
import type { Read } from '@hermes-fleet/net/api';
import { FleetError, negotiate, PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import { JOINING } from '@hermes-fleet/protocol/api';
import { fleetApi, serviceAt } from '../client/api.ts';
import type { Values } from '../command-line/command.ts';
import { httpUrl, UsageError } from '../command-line/option-values.ts';
import type { joinUsage } from '../command-specs/workers.ts';
import { findFolder } from '../folder/fleet-folder.ts';
import { tokenHash } from '../keys/init.ts';
import { PROFILE_NAME, type WorkerState } from './worker-home.ts';

/** The port of a worker that names none. */
const DEFAULT_PORT = 9230;
const CONNECT_MS = 10_000;

/** The options of `fleet join` that describe the worker. */
export interface JoinWishes
  extends Pick<Values<typeof joinUsage.options>, 'name' | 'endpoint' | 'bind' | 'tier' | 'dir'> {
  readonly workspaceDir: string | undefined;
  readonly allowHttp: boolean;
  readonly tls: WorkerState['tls'];
  readonly serverTls: WorkerState['serverTls'];
}

export interface PlannedWorker {
  readonly folder: string;
  readonly tier: string;
  readonly state: WorkerState;
}

/** The folder of a worker without `--dir`. */
export const defaultFolder = (name: string): string =>
  join(findFolder(process.env, process.cwd())?.dir ?? resolve('.fleet'), 'workers', name);

/**
 * The base URL of an orchestrator, without `/jsonrpc`. Throws UsageError for one that is no HTTP address, and for `http` to
 * another machine without `--allow-http`: tokens could be read on the way.
 */
export function orchestratorUrl(text: string, allowHttp: boolean): string {
  const url = httpUrl('the orchestrator', text);
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    throw new UsageError('the address of the orchestrator has no user, no query and no fragment');
  checkScheme(url, allowHttp);
  return `${url.origin}${url.pathname.replace(/\/(jsonrpc\/?)?$/, '')}`;
}

function checkScheme({ protocol, hostname: host }: URL, allowHttp: boolean): void {
  if (protocol === 'https:' || allowHttp || isLoopback(host)) return;
  throw new UsageError(
    `tokens and tasks could be read on the way to http://${host}: use https, or --allow-http where only the fleet can listen`,
  );
}

/** Reads what the join token offers, and decides name, tier, addresses and folder. Throws UsageError and FleetErrors. */
export async function planWorker(url: string, joinToken: string, wishes: JoinWishes): Promise<PlannedWorker> {
  const offer = await readOffer(url, joinToken);
  const name = chooseName(offer.name, wishes.name);
  if (name === offer.orchestrator) throw new UsageError(`--name ${name} is the name of the orchestrator`);
  const tier = wishes.tier ?? offer.tier ?? middleOf(offer.tiers);
  if (!offer.tiers.includes(tier)) throw new UsageError(`--tier must be one of ${offer.tiers.join(', ')}`);
  const endpoint = await chooseEndpoint(url, wishes);
  const folder = wishes.dir ?? defaultFolder(name);
  return {
    folder,
    tier,
    state: {
      phase: 'joining',
      name,
      orchestrator: { name: offer.orchestrator, url },
      joinToken: tokenHash(joinToken),
      endpoint,
      bind: chooseBind(wishes, new URL(endpoint)),
      workspaceDir: wishes.workspaceDir ?? join(folder, 'workspace'),
      ...(wishes.tls && { tls: wishes.tls }),
      ...(wishes.serverTls && { serverTls: wishes.serverTls }),
    },
  };
}

async function readOffer(url: string, joinToken: string): Promise<Read<typeof JOINING.offer>> {
  const offer = await fleetApi().call(serviceAt(url, joinToken), JOINING.offer);
  if (!PROFILE_NAME.test(offer.orchestrator))
    throw new FleetError('PEER_REFUSED', 'the orchestrator has a name that this version does not understand');
  const theirs = offer.protocol_versions;
  if (negotiate(PROTOCOL_VERSIONS, theirs) === undefined)
    throw new FleetError(
      'PEER_REFUSED',
      `the orchestrator speaks handshake ${theirs.join(', ')}, and this worker ${PROTOCOL_VERSIONS.join(', ')}: upgrade one of the two`,
    );
  return offer;
}

const middleOf = (tiers: readonly string[]): string => tiers[Math.floor((tiers.length - 1) / 2)] ?? '';

function chooseName(offered: string, wished: string | undefined): string {
  const isFixed = !offered.includes('*');
  const fromHost =
    hostname()
      .toLowerCase()
      .split('.')[0]
      ?.replace(/[^a-z0-9-]/g, '-') ?? '';
  const name = wished ?? (isFixed ? offered : fromHost);
  if (PROFILE_NAME.test(name) && matchesName(offered, name)) return name;
  const source = wished === undefined ? 'the name of this host' : '--name';
  throw new UsageError(
    `this join token is for the name ${offered}, and ${source} is "${name}": choose with --name (lower-case letters, digits and "-")`,
  );
}

async function chooseEndpoint(
  url: string,
  { endpoint, bind, allowHttp, serverTls }: JoinWishes,
): Promise<string> {
  if (endpoint !== undefined) {
    checkScheme(httpUrl('--endpoint', endpoint), allowHttp);
    if (serverTls && !endpoint.startsWith('https:'))
      throw new UsageError('--cert-file makes the worker serve https: --endpoint must be an https address');
    return endpoint;
  }
  const host = isLoopback(new URL(url).hostname) ? '127.0.0.1' : await localAddress(new URL(url));
  const own = new URL(
    `http://${host.includes(':') ? `[${host}]` : host}:${placeIn(bind)?.port ?? DEFAULT_PORT}`,
  );
  if (serverTls || (!allowHttp && !isLoopback(own.hostname)))
    throw new UsageError(
      '--endpoint is missing: the https address at which the orchestrator reaches this worker, with --cert-file or a reverse proxy',
    );
  return own.origin;
}

/** The address of this machine on the way to the orchestrator. */
async function localAddress({ hostname: host, protocol, port }: URL): Promise<string> {
  const socket = connect({
    host: host.replace(/[[\]]/g, ''),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return socket.localAddress ?? '127.0.0.1';
  } finally {
    socket.destroy();
  }
}

function chooseBind({ bind, serverTls }: JoinWishes, endpoint: URL): WorkerState['bind'] {
  const given = placeIn(bind);
  if (given) return given;
  if (serverTls)
    return {
      host: isLoopback(endpoint.hostname) ? '127.0.0.1' : '0.0.0.0',
      port: Number(endpoint.port || 443),
    };
  const own = endpoint.protocol === 'http:' && endpoint.port !== '' ? Number(endpoint.port) : DEFAULT_PORT;
  // A reverse proxy for https runs on this machine unless --bind says otherwise.
  const isLocal = isLoopback(endpoint.hostname) || endpoint.protocol === 'https:';
  return { host: isLocal ? '127.0.0.1' : '0.0.0.0', port: own };
}

function placeIn(text: string | undefined): WorkerState['bind'] | undefined {
  if (text === undefined) return undefined;
  const match = /^(\[[0-9a-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[2]);
  if (!match?.[1] || port < 1 || port > 65_535)
    throw new UsageError(`--bind must be <host>:<port>, e.g. 0.0.0.0:9230, not "${text}"`);
  return { host: match[1].replace(/[[\]]/g, ''), port };
}
