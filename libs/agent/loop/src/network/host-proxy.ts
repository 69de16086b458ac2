import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { BlockList, connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { type Address, addressesOf, pinnedLookup, type Resolve } from '@hermes-fleet/net';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { type AllowedHosts, isAddress, matchHosts, parseTarget, type Target } from './allowed-hosts.ts';

/** Told of each refusal to one client, with the reason. */
export type OnRefused = (target: string, reason: string) => void;

export interface HostProxyOptions {
  readonly hosts: AllowedHosts;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve | undefined;
  /** Addresses of this machine, public ones too; default: those of its interfaces. */
  readonly own?: () => readonly string[];
  readonly clock: Clock;
}

/** Look-up and connection together. */
const DIAL_MS = 30_000;
/** A connection on which nothing arrives for so long is closed. */
const IDLE_MS = 600_000;
const STATUS: Readonly<Record<string, number>> = { INVALID_PARAMS: 400, FORBIDDEN: 403 };
/** Headers that belong to one connection (RFC 9110, section 7.6.1), and those that Node sets itself. */
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'expect'],
]);

/**
 * An HTTP proxy (`CONNECT`, `http://`) that reaches the named hosts at addresses that it looks up and checks itself; all
 * else gets 403 with the reason. The function serves a connection until either side closes it.
 */
export function createHostProxy({
  hosts,
  resolve,
  own = ownAddresses,
  clock,
}: HostProxyOptions): (socket: Socket, onRefused: OnRefused) => void {
  const match = matchHosts(hosts);
  const clients = new WeakMap<Duplex, OnRefused>();
  const server = createServer();
  server.timeout = IDLE_MS;
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void tunnel(request.url ?? '', socket, head);
  });
  server.on('request', (request, response) => void forward(request, response));

  async function tunnel(authority: string, socket: Duplex, head: Buffer): Promise<void> {
    // Its end is its `close`.
    socket.on('error', () => {});
    try {
      const target = parseTarget(authority);
      if (target === undefined) throw new FleetError('INVALID_PARAMS', 'CONNECT takes host:port');
      const upstream = await dial(target, socket);
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
      endTogether(socket, upstream);
    } catch (error) {
      const { status, text } = refusalOf(error);
      const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: text/plain\r\n`;
      socket.end(`${head}content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`);
    }
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fail = (error: unknown): void => {
      if (response.headersSent) return void response.destroy();
      const { status, text } = refusalOf(error);
      response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(text);
    };
    try {
      const url = URL.parse(request.url ?? '');
      const target = url?.protocol === 'http:' ? parseTarget(`${url.hostname}:${url.port || 80}`) : undefined;
      if (url === null || target === undefined)
        throw new FleetError('INVALID_PARAMS', 'this is a proxy for CONNECT and http:// addresses');
      const upstream = await dial(target, request.socket);
      response.on('close', () => upstream.destroy());
      const sent = requestHttp({
        createConnection: () => upstream,
        method: request.method,
        path: url.pathname + url.search,
        headers: {
          ...endToEnd(request.headers),
          // Node frames the body of a GET, HEAD, DELETE or OPTIONS only if it is told to.
          ...(request.headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }),
          host: url.host,
          connection: 'close',
        },
      });
      sent.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
        pipeline(answer, response, () => {});
      });
      sent.on('error', () => fail(unreachable(target, 'the connection broke')));
      pipeline(request, sent, () => {});
    } catch (error) {
      fail(error);
    }
  }

  /** Connects to a target that is allowed. Throws FORBIDDEN and tells the client, or PEER_UNREACHABLE. */
  async function dial(target: Target, client: Duplex): Promise<Socket> {
    const ending = new AbortController();
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const end = (why: string) => (): void => {
      ending.abort();
      reject(unreachable(target, why));
    };
    const gone = end('the client is gone');
    using _deadline = clock.timer(end(`no answer within ${DIAL_MS / 1000} s`), DIAL_MS);
    client.once('close', gone);
    try {
      if (client.destroyed) gone();
      return await Promise.race([
        ended,
        addressesFor(target, client).then((found) => openSocket(target, found, ending)),
      ]);
    } finally {
      client.removeListener('close', gone);
    }
  }

  async function addressesFor(target: Target, client: Duplex): Promise<readonly Address[]> {
    const refuse = (reason: string): never => {
      const name = nameOf(target);
      clients.get(client)?.(name, reason);
      throw new FleetError('FORBIDDEN', `the network of this task refused ${name}: ${reason}`);
    };
    const named = match(target);
    if (named === undefined) return refuse(isAddress(target.host) ? AN_ADDRESS : NOT_NAMED);
    const allowInternal = named === 'internal' ? [target.host] : [];
    const found = await addressesOf(new URL(`http://${nameOf(target)}/`), { allowInternal, resolve }).catch(
      (error: unknown) => {
        if (error instanceof FleetError && error.code === 'FORBIDDEN') return [];
        throw error;
      },
    );
    const isOwn = named === 'public' && isOneOf(own(), found);
    return found.length === 0 || isOwn ? refuse(NOT_PUBLIC) : found;
  }

  return (socket, onRefused) => {
    clients.set(socket, onRefused);
    server.emit('connection', socket);
  };
}

const NOT_NAMED = 'it is not in tools.shell.network.allow';
const AN_ADDRESS = 'it is an address, and tools.shell.network.allow does not have it';
const NOT_PUBLIC = 'it has no public address, and tools.shell.network.allow_internal does not have it';

const nameOf = ({ host, port }: Target): string => `${host}:${port}`;

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address));

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** In every notation, IPv4 within IPv6 too. */
function isOneOf(own: readonly string[], found: readonly Address[]): boolean {
  const all = new BlockList();
  for (const address of own) all.addAddress(address, familyOf(address));
  return found.some(({ address }) => all.check(address, familyOf(address)));
}

const unreachable = (target: Target, why: string): FleetError =>
  new FleetError('PEER_UNREACHABLE', `${nameOf(target)} cannot be reached: ${why}`);

function refusalOf(error: unknown): { status: number; text: string } {
  const known = error instanceof FleetError;
  return {
    status: known ? (STATUS[error.code] ?? 502) : 502,
    text: `${known ? error.message : 'the request failed'}\n`,
  };
}

function openSocket(target: Target, addresses: readonly Address[], ending: AbortController): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { signal } = ending;
  if (signal.aborted) return promise;
  const socket = connect({
    host: target.host.replace(/^\[|\]$/g, ''),
    port: target.port,
    lookup: pinnedLookup(addresses),
    allowHalfOpen: true,
  });
  const end = (): void => void socket.destroy();
  signal.addEventListener('abort', end, { once: true });
  socket.setTimeout(IDLE_MS, end);
  socket.once('connect', () => {
    signal.removeEventListener('abort', end);
    resolve(socket);
  });
  socket.on('error', (error) => reject(unreachable(target, codeOf(error))));
  return promise;
}

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : 'the connection failed');

function endTogether(one: Duplex, other: Duplex): void {
  one.once('close', () => other.destroy());
  other.once('close', () => one.destroy());
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.includes(name)),
  );
}
