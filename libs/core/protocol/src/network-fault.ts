/** The reasons of network faults, by the code of Node. */
const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: nothing listens there, or a firewall rejects it',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be resolved',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to its network',
  ECONNRESET: 'the connection was closed before an answer',
  CERT_HAS_EXPIRED: 'TLS: its certificate has expired',
  CERT_NOT_YET_VALID: 'TLS: its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: its certificate is self-signed, and not trusted here',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the issuer of its certificate is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the issuer of its certificate is not known here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: the issuer of its certificate is not known here',
  ERR_SSL_WRONG_VERSION_NUMBER: 'TLS: what listens there does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'TLS: what listens there does not speak TLS',
};

/** What went wrong with a request that got no answer, in words. */
export function networkFault(thrown: unknown, timeoutMs: number): string {
  let cause: unknown = thrown;
  let last = String(thrown);
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    if (cause.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`;
    if ('code' in cause && typeof cause.code === 'string')
      return FAULTS[cause.code] ?? `${cause.message} (${cause.code})`;
    if (cause.message.startsWith('HTTP') || cause.name === 'HTTPParserError')
      return 'what listens there does not speak HTTP';
    last = cause.message || cause.name;
    cause = cause.cause ?? (cause instanceof AggregateError ? cause.errors[0] : undefined);
  }
  return last;
}
