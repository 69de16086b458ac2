import { createConnection } from 'node:net';
import { clientOptions, type TlsFault, type TlsSource, tlsFault } from '@hermes-fleet/net/tls';
import { connect, type Msg, type NatsConnection, type TlsOptions } from 'nats';

/** The address and credentials of the bus. */
export interface BusConnection {
  /** `host:port` or `nats://host:port`; the first to answer is used. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly pass?: string;
  /** The client name in the server's monitoring, e.g. `fleet/neo`. */
  readonly name: string;
  /** The subject prefix for replies; a restricted user may subscribe below its own prefix only. */
  readonly inboxPrefix?: string;
  /** The certificates of TLS, which one `tls://` address requires of all servers; without it, `tls://` servers get what Node trusts, and no client certificate. */
  readonly tls?: TlsSource;
}

/** The keys of fleet.yaml. */
const KEYS = { ca: 'fleet.nats.tls.ca_file', cert: 'fleet.nats.tls.cert_file' };

const CONNECT_TIMEOUT_MS = 5_000;
const PING_INTERVAL_MS = 2_000;

/** Host and port of a server, without credentials, fit for messages. */
export function serverAddress(server: string): { host: string; port: number } {
  const url = new URL(server.includes('://') ? server : `nats://${server}`);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? 4222 : Number(url.port) };
}

/** A server that answers, and the INFO line that it begins with, in clear text. */
interface Greeting {
  readonly server: string;
  readonly host: string;
  readonly greeting: string;
}

/**
 * Resolves once the server sends its INFO line. The client library leaks its socket when a frozen server accepts the
 * connection and then stays silent, so every attempt first probes with a socket of its own that is always closed.
 */
function greeting(server: string, signal: AbortSignal): Promise<Greeting> {
  return new Promise((resolve, reject) => {
    const { host, port } = serverAddress(server);
    const socket = createConnection({ host, port, signal });
    const fail = (reason: string): void => reject(new Error(`${host}:${port} ${reason}`));
    socket.once('data', (data) => {
      resolve({ server, host, greeting: String(data) });
      socket.destroy();
    });
    socket.once('error', (error: NodeJS.ErrnoException) =>
      fail(signal.aborted ? 'does not answer' : `cannot be reached (${error.code ?? error.message})`),
    );
    socket.once('close', () => fail('closed the connection before its greeting'));
  });
}

async function firstToAnswer(servers: readonly string[], signal: AbortSignal): Promise<Greeting> {
  const found = new AbortController();
  const deadline = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  const stop = AbortSignal.any([signal, deadline, found.signal]);
  try {
    return await Promise.any(servers.map((server) => greeting(server, stop)));
  } catch (error) {
    signal.throwIfAborted();
    const reasons = error instanceof AggregateError ? error.errors.map(reasonOf) : [reasonOf(error)];
    throw new Error(`no NATS server: ${reasons.join('; ') || 'none is configured'}`, { cause: error });
  } finally {
    found.abort();
  }
}

/**
 * Opens a connection that never reconnects by itself: only its owner knows where to resume, so the owner closes it and
 * opens the next one. Three unanswered pings (6 s) close a half-open connection. `onServer` learns which server answered.
 * Rejects with the signal's reason.
 */
export async function openConnection(
  connection: BusConnection,
  signal: AbortSignal,
  onServer: (server: string) => void = () => {},
): Promise<NatsConnection & AsyncDisposable> {
  const { server, ...greeted } = await firstToAnswer(connection.servers, signal);
  onServer(server);
  const opened = connect({
    servers: [server],
    name: connection.name,
    reconnect: false,
    resolve: false,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    noAsyncTraces: true,
    ...(connection.user === undefined ? {} : { user: connection.user, pass: connection.pass ?? '' }),
    ...(connection.inboxPrefix === undefined ? {} : { inboxPrefix: connection.inboxPrefix }),
    ...tlsOptions({ ...greeted, servers: connection.servers, tls: connection.tls }),
  });
  const nc = await opened.catch((error: unknown) => {
    throw tlsError(error, greeted);
  });
  if (signal.aborted) {
    await nc.close();
    signal.throwIfAborted();
  }
  return Object.assign(nc, { [Symbol.asyncDispose]: () => nc.close() });
}

/** Rejects when the connection ends; an end that nobody awaits is no unhandled rejection. */
export function endOf(nc: NatsConnection): Promise<never> {
  const end = nc.closed().then((error) => {
    throw error ?? new Error('the server closed the connection');
  });
  end.catch(() => undefined);
  return end;
}

/**
 * Resolves once the server has received everything sent; rejects when the connection ends first (the client's own flush
 * would then never settle).
 */
export async function flushed(nc: NatsConnection): Promise<void> {
  await Promise.race([nc.flush(), endOf(nc)]);
}

/** A readable reason for a bus error. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const fault = busFault(error);
  if (fault) return fault;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'AUTHORIZATION_VIOLATION') return 'the server refuses this user and password';
  if (code === '503') return 'nothing answers: no such stream, or a server without JetStream';
  if (code === 'TIMEOUT') return 'no acknowledgement in time';
  return error.message;
}

/** Headers that the server adds to a message that it reads from a stream. */
const READ_BACK = /^nats-(?:stream|subject|sequence|time-stamp)$/i;

/**
 * True for a stored message that the server has sent on request. The requester chooses the subject of that reply and may
 * name another profile's, so the subject does not prove the sender.
 */
export function isForwarded(message: Msg): boolean {
  try {
    return (message.headers?.keys() ?? []).some((key) => READ_BACK.test(key));
  } catch {
    return true;
  }
}

/**
 * The TLS options of a connection; empty where no TLS is configured. With them, the client library refuses a server that
 * offers no TLS, so nobody between them can strip it. Throws for a server that cannot be connected to, with the reason: a
 * server that misses a client certificate ends the connection without one.
 */
function tlsOptions({
  servers,
  tls,
  host,
  greeting,
}: Pick<BusConnection, 'servers' | 'tls'> & Omit<Greeting, 'server'>): { tls?: TlsOptions } {
  if (tls === undefined && !servers.some((server) => server.startsWith('tls://'))) return {};
  const material = tls?.current() ?? {};
  const says = (key: string): boolean => new RegExp(`"${key}":\\s*true`).test(greeting);
  if (greeting.startsWith('INFO') && !says('tls_required') && !says('tls_available'))
    throw new Error(
      `${host} ${words({ what: 'does not speak TLS', remedy: 'set tls in its nats.conf, or use its nats:// address' })}`,
    );
  if (says('tls_verify') && material.cert === undefined)
    throw new Error(
      `${host} ${words({ what: 'requires a client certificate', remedy: `set ${KEYS.cert}` })}`,
    );
  // The client library names no host for an IP address, and the certificate would be compared with localhost.
  const options = { ...clientOptions(material), host };
  return { tls: options };
}

/** The error of a failed connection: a server that refuses a client certificate may just cut the connection. */
function tlsError(error: unknown, { greeting, host }: Omit<Greeting, 'server'>): unknown {
  const isCut = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
  if (!isCut || !/"tls_verify":\s*true/.test(greeting)) return error;
  const fault = {
    what: 'refuses the client certificate',
    remedy: `set ${KEYS.cert} to one from an issuer that it trusts`,
  };
  return new Error(`${host} ${words(fault)}`, { cause: error });
}

/** What is wrong with a TLS connection to the bus; undefined for any other error. */
function busFault(error: unknown): string | undefined {
  const fault = tlsFault(error, KEYS);
  return fault && words(fault);
}

const words = ({ what, remedy }: TlsFault): string => `${what}: ${remedy}`;
