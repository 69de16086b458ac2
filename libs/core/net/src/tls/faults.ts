import { type ErrorCode, FleetError } from '@hermes-fleet/protocol';

/** The configuration keys that a message tells to set. */
export interface TlsKeys {
  /** Where the issuers are, such as `fleet.tls.ca_file`. */
  readonly ca: string;
  /** Where the client certificate is, such as `fleet.tls.cert_file`. */
  readonly cert: string;
}

const UNKNOWN_ISSUER = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
/** Other results of OpenSSL's verification (Node.js documentation, "X509 certificate error codes"). */
const UNVERIFIED = new Set([
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'INVALID_CA',
  'PATH_LENGTH_EXCEEDED',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
]);
const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** The alerts by which a server refuses a client's certificate (RFC 8446, section 6). */
const REFUSED_CERTIFICATE: Readonly<Record<number, string>> = {
  42: 'bad certificate',
  43: 'unsupported certificate',
  44: 'revoked',
  45: 'expired',
  46: 'unknown certificate',
  48: 'unknown issuer',
  49: 'access denied',
};
const HANDSHAKE_FAILURE = 40;
const PROTOCOL_VERSION = 70;
const CERTIFICATE_REQUIRED = 116;

/** A fault of a connection, and what to do about it. */
export interface TlsFault {
  readonly what: string;
  readonly remedy: string;
}

/**
 * What is wrong with a TLS connection; undefined for any other error. The text holds nothing from the other end but the names
 * on a certificate of a trusted issuer.
 */
export function tlsFault(thrown: unknown, keys: TlsKeys): TlsFault | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const fault = faultOf(error, keys);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOf(error: Error, { ca, cert }: TlsKeys): TlsFault | undefined {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'CERT_HAS_EXPIRED') return { what: 'its certificate has expired', remedy: 'renew it there' };
  if (code === 'CERT_NOT_YET_VALID')
    return { what: 'its certificate is not valid yet', remedy: 'set the clocks of both machines, or wait' };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      what: `its certificate is for another name${otherNames(error)}`,
      remedy: 'use an address that is on it, or get one for this address',
    };
  if (UNKNOWN_ISSUER.has(code))
    return {
      what: 'its certificate is from an unknown issuer',
      remedy: `put the certificate of its CA into ${ca}`,
    };
  if (code === 'INVALID_PURPOSE')
    return {
      what: 'its certificate is not for a server',
      remedy: 'get one there whose extended key usage has serverAuth',
    };
  if (UNVERIFIED.has(code))
    return { what: `its certificate is not valid (${code})`, remedy: 'renew it there' };
  const { message } = error;
  if (NOT_TLS.has(code) || /wrong version number|packet length too long/.test(message))
    return { what: 'it does not speak TLS', remedy: 'use its http:// address, or switch TLS on there' };
  const alert = /SSL alert number (\d+)/.exec(message)?.[1];
  return alert === undefined ? undefined : alertFault(Number(alert), cert);
}

/** Undefined for alerts that may come after the handshake. */
function alertFault(alert: number, cert: string): TlsFault | undefined {
  if (alert === CERTIFICATE_REQUIRED)
    return { what: 'it requires a client certificate', remedy: `set ${cert}` };
  const refused = REFUSED_CERTIFICATE[alert];
  if (refused !== undefined)
    return {
      what: `it refuses the client certificate (${refused})`,
      remedy: `set ${cert} to one from an issuer that it trusts`,
    };
  if (alert === HANDSHAKE_FAILURE)
    return {
      what: 'it refuses the TLS handshake',
      remedy: `it may require a client certificate: set ${cert}`,
    };
  if (alert === PROTOCOL_VERSION)
    return { what: 'it refuses TLS 1.2 and TLS 1.3', remedy: 'switch one of them on there' };
  return undefined;
}

/** The names on the certificate; its chain was verified before its name. */
function otherNames(error: Error): string {
  const certificate: unknown = 'cert' in error ? error.cert : undefined;
  const names =
    typeof certificate === 'object' && certificate !== null && 'subjectaltname' in certificate
      ? certificate.subjectaltname
      : undefined;
  if (typeof names !== 'string' || !/^[A-Za-z0-9*.:_, -]{1,200}$/.test(names)) return '';
  return ` (${names})`;
}

/** The keys of fleet.yaml for connections to peers. */
const FLEET_KEYS: TlsKeys = { ca: 'fleet.tls.ca_file', cert: 'fleet.tls.cert_file' };

/** The codes with which a listener of the fleet refuses a connection, before it reads the request. */
const REFUSALS = {
  CLIENT_CERTIFICATE_REQUIRED: ({ cert }) => ({
    what: 'it requires a client certificate',
    remedy: `set ${cert}`,
  }),
  CLIENT_CERTIFICATE_REFUSED: ({ cert }) => ({
    what: 'it refuses the client certificate',
    remedy: `set ${cert} to one that is valid, for clients, and from an issuer that it trusts`,
  }),
  TLS_REQUIRED: () => ({ what: 'it speaks TLS', remedy: 'change its address to https://' }),
} satisfies Partial<Record<ErrorCode, (keys: TlsKeys) => TlsFault>>;

type Refusal = keyof typeof REFUSALS;

const isRefusal = (code: unknown): code is Refusal =>
  typeof code === 'string' && Object.hasOwn(REFUSALS, code);

/** The error of a listener's refusal of the connection; undefined for any other code. */
export function connectionRefusal(code: unknown): FleetError | undefined {
  return isRefusal(code) ? new FleetError(code, 'the listener refuses the connection') : undefined;
}

/**
 * Why a connection to a peer, and not the peer, failed: TLS, certificates, or plain HTTP to a TLS port. Undefined for any
 * other error. The peer has read no request. `keys` are where the files are configured; default: fleet.yaml.
 */
export function connectionFault(thrown: unknown, keys: TlsKeys = FLEET_KEYS): TlsFault | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if (error instanceof FleetError && isRefusal(error.code)) return REFUSALS[error.code](keys);
  return tlsFault(thrown, keys);
}
