import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** All connections of the listener; default: 4,096. */
  readonly maxConnections?: number;
  /** Connections that have not authenticated; default: 256. */
  readonly maxUnauthenticated?: number;
  /** The time without a byte after which a connection that has not authenticated is closed; default: 3 s. */
  readonly unauthenticatedIdleMs?: number;
}

interface Connection {
  authenticated: boolean;
  /** The reply that the client waits for. */
  reply: ServerResponse | undefined;
  bytes: number;
  readonly openedAt: number;
  activeAt: number;
}

const LOG_EVERY_MS = 10_000;
const CHECKS_PER_TIMEOUT = 12;
/** The request of a connection this young may be under way, ms. A caller may open many connections at once. */
const YOUNG_MS = 1_000;

/**
 * Keeps a listener open to its callers while others fill it with connections (docs/peering.md#connections):
 *
 * - Few connections may be unauthenticated for longer than a second, and at most half of all connections. The oldest of
 *   them gives way to a new one, and those that are silent are closed, unless they wait for a reply.
 * - In a full listener, the authenticated connection that has been idle the longest gives way. One with a pending reply
 *   never does.
 *
 * Must be called once, before the server listens.
 */
export function limitConnections(
  server: Server,
  { maxConnections = 4_096, maxUnauthenticated = 256, unauthenticatedIdleMs = 3_000 }: ConnectionLimits,
  onGaveWay: (count: number) => void = () => undefined,
  /** The TCP connection of a request's socket, which TLS may lie on. */
  tcpSocket: (socket: Socket) => Socket = (socket) => socket,
) {
  const open = new Map<Socket, Connection>();
  /** The oldest first. */
  const unauthenticated = new Set<Socket>();
  /** Authenticated and without a pending reply, the longest idle first. */
  const idle = new Set<Socket>();
  const half = Math.floor(maxConnections / 2);
  const limit = Math.min(maxUnauthenticated, half);
  let check: NodeJS.Timeout | undefined;
  let gaveWay = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;

  function forget(socket: Socket): void {
    open.delete(socket);
    unauthenticated.delete(socket);
    idle.delete(socket);
    if (unauthenticated.size > 0) return;
    clearInterval(check);
    check = undefined;
  }

  function close(socket: Socket): void {
    forget(socket);
    socket.destroy();
  }

  function giveWay([socket]: Iterable<Socket>): void {
    if (socket === undefined) return;
    close(socket);
    gaveWay += 1;
    const now = performance.now();
    if (now - reportedAt < LOG_EVERY_MS) return;
    onGaveWay(gaveWay);
    gaveWay = 0;
    reportedAt = now;
  }

  /** Closes the oldest unauthenticated connections beyond the limit, except young ones. */
  function closeExcess(now: number): void {
    for (const socket of unauthenticated) {
      if (unauthenticated.size <= limit) return;
      const isYoung = now - (open.get(socket)?.openedAt ?? 0) < YOUNG_MS;
      if (isYoung && unauthenticated.size <= half) return;
      giveWay([socket]);
    }
  }

  function closeSilent(): void {
    const now = performance.now();
    closeExcess(now);
    for (const socket of unauthenticated) {
      const connection = open.get(socket);
      if (connection === undefined) continue;
      const bytes = socket.bytesRead + socket.bytesWritten;
      if (connection.reply !== undefined || bytes !== connection.bytes) {
        connection.bytes = bytes;
        connection.activeAt = now;
      } else if (now - connection.activeAt >= unauthenticatedIdleMs) close(socket);
    }
  }

  server.maxConnections = maxConnections;
  server.on('connection', (socket: Socket) => {
    const openedAt = performance.now();
    open.set(socket, { authenticated: false, reply: undefined, bytes: 0, openedAt, activeAt: openedAt });
    unauthenticated.add(socket);
    socket.once('close', () => forget(socket));
    closeExcess(openedAt);
    // At the maximum, Node would refuse the next connection.
    if (open.size >= maxConnections) giveWay(idle.size > 0 ? idle : unauthenticated);
    check ??= setInterval(closeSilent, Math.max(1, unauthenticatedIdleMs / CHECKS_PER_TIMEOUT)).unref();
  });
  server.prependListener('request', ({ socket }, reply) => {
    const tcp = tcpSocket(socket);
    const connection = open.get(tcp);
    if (connection === undefined) return;
    connection.reply = reply;
    idle.delete(tcp);
    // Node emits it once for every reply.
    reply.on('close', () => {
      // A client may have sent its next request before this reply ended.
      if (connection.reply !== reply) return;
      connection.reply = undefined;
      if (connection.authenticated && open.has(tcp)) idle.add(tcp);
    });
  });

  return {
    unauthenticatedIdleMs,
    /** A new connection counts as unauthenticated until `authenticated` is called with it. */
    isAuthenticated: (socket: Socket): boolean => !unauthenticated.has(tcpSocket(socket)),
    authenticated(of: Socket): void {
      const socket = tcpSocket(of);
      const connection = open.get(socket);
      if (connection === undefined || connection.authenticated) return;
      connection.authenticated = true;
      unauthenticated.delete(socket);
      if (unauthenticated.size > 0) return;
      clearInterval(check);
      check = undefined;
    },
  };
}
