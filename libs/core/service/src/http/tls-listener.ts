import type { Server as HttpServer, RequestListener, ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { type SecureContextOptions, TLSSocket } from 'node:tls';
import { MIN_TLS_VERSION, type TlsMaterial, type TlsSource } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';

/** TLS of a listener (docs/configuration.md#fleetyaml, `server.tls`). */
export interface ListenerTls {
  /** Its `ca` is the issuers of client certificates. */
  readonly files: TlsSource;
  /** `optional` refuses a certificate that is not valid, and takes a client without one. */
  readonly clientCert: 'none' | 'optional' | 'required';
  /** The time between two looks for renewed files; default: 10 s. */
  readonly lookEveryMs?: number;
}

/** The maximum time of a handshake, ms. */
const HANDSHAKE_MS = 10_000;
const LOOK_EVERY_MS = 10_000;

/** Public certification authorities are no issuers of client certificates: anybody gets a certificate from them. */
const contextOf = ({ ca, cert, key }: TlsMaterial): SecureContextOptions => ({
  minVersion: MIN_TLS_VERSION,
  ...(ca === undefined ? {} : { ca: [ca] }),
  ...(cert === undefined || key === undefined ? {} : { cert, key }),
});

/** An https server that takes over renewed files; connections that are open keep the earlier certificate. */
export function createTlsServer(
  { files, clientCert, lookEveryMs = LOOK_EVERY_MS }: ListenerTls,
  http: ServerOptions,
  handler: RequestListener,
): HttpServer {
  // A client without a valid certificate gets an answer that says so: `clientCertificateError` refuses its requests.
  const asks = { requestCert: clientCert !== 'none', rejectUnauthorized: false };
  let material = files.current();
  const options = { ...http, ...asks, ...contextOf(material), handshakeTimeout: HANDSHAKE_MS };
  const server: Server = createServer(options, handler);
  const look = (): void => {
    if (files.current() === material) return;
    material = files.current();
    server.setSecureContext(contextOf(material));
  };
  server.once('listening', () => {
    const looking = setInterval(look, lookEveryMs).unref();
    server.once('close', () => clearInterval(looking));
  });
  return server;
}

const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  INVALID_PURPOSE: 'it is not for a client: its extended key usage lacks clientAuth',
};

/**
 * Why the client of this connection may send no request; undefined if it may. A resumed session counts as authorized even
 * where the client has never shown a certificate, so the certificate itself is looked for.
 */
export function clientCertificateError(
  name: string,
  clientCert: ListenerTls['clientCert'],
  socket: Socket,
): FleetError | undefined {
  if (clientCert === 'none') return undefined;
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined || !(socket instanceof TLSSocket)) {
    if (clientCert === 'optional') return undefined;
    const message = `${name} requires a client certificate: present one from an issuer that it trusts`;
    return new FleetError('CLIENT_CERTIFICATE_REQUIRED', message);
  }
  if (socket.authorized) return undefined;
  // Typed as an error, and in fact its code.
  const code = String(socket.authorizationError);
  const reason = REASONS[code] ?? `its issuer is unknown, or it does not verify (${code})`;
  return new FleetError('CLIENT_CERTIFICATE_REFUSED', `${name} refuses the client certificate: ${reason}`);
}

/** Finds the TCP connection below a TLS socket, by its addresses; a socket without TLS is its own. */
export function followTlsSockets(server: HttpServer): (socket: Socket) => Socket {
  const raws = new Map<string, Socket>();
  const below = new WeakMap<Socket, Socket>();
  server.on('connection', (raw: Socket) => {
    if (raw instanceof TLSSocket) return;
    const key = addressesOf(raw);
    raws.set(key, raw);
    raw.once('close', () => {
      if (raws.get(key) === raw) raws.delete(key);
    });
  });
  return (socket) => {
    if (!(socket instanceof TLSSocket)) return socket;
    const raw = below.get(socket) ?? raws.get(addressesOf(socket));
    if (raw === undefined) return socket;
    below.set(socket, raw);
    return raw;
  };
}

const addressesOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
