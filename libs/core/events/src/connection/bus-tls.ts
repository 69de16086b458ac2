import { clientOptions, type TlsFault, type TlsSource, tlsFault } from '@hermes-fleet/net/tls';
import type { TlsOptions } from 'nats';

/** The keys of fleet.yaml. */
const KEYS = { ca: 'fleet.nats.tls.ca_file', cert: 'fleet.nats.tls.cert_file' };

export interface TlsServer {
  /** All servers of the configuration: one `tls://` address requires TLS of each. */
  readonly servers: readonly string[];
  /** The host of the server to connect to. */
  readonly host: string;
  /** Its greeting, the INFO line, which every server sends in clear text. */
  readonly greeting: string;
  readonly tls: TlsSource | undefined;
}

/**
 * The TLS options of a connection; empty where no TLS is configured. With them, the client library refuses a server that
 * offers no TLS, so nobody between them can strip it. Throws for a server that cannot be connected to, with the reason: a
 * server that misses a client certificate ends the connection without one.
 */
export function tlsOptions({ servers, host, greeting, tls }: TlsServer): { tls?: TlsOptions } {
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
export function tlsError(error: unknown, { greeting, host }: Pick<TlsServer, 'greeting' | 'host'>): unknown {
  const isCut = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
  if (!isCut || !/"tls_verify":\s*true/.test(greeting)) return error;
  const fault = {
    what: 'refuses the client certificate',
    remedy: `set ${KEYS.cert} to one from an issuer that it trusts`,
  };
  return new Error(`${host} ${words(fault)}`, { cause: error });
}

/** What is wrong with a TLS connection to the bus; undefined for any other error. */
export function busFault(error: unknown): string | undefined {
  const fault = tlsFault(error, KEYS);
  return fault && words(fault);
}

const words = ({ what, remedy }: TlsFault): string => `${what}: ${remedy}`;
