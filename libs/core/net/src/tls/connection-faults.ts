import { type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import { type TlsFault, type TlsKeys, tlsFault } from './faults.ts';

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
