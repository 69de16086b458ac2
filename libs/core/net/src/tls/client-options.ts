import { connect, getCACertificates } from 'node:tls';
import { z } from 'zod';
import type { TlsMaterial } from './certificates.ts';

/** The oldest version of TLS that any connection of the fleet uses. */
export const MIN_TLS_VERSION = 'TLSv1.2' as const;

const path = z.string().min(1).max(4_096);

/** The keys of a configuration for the certificates of a client: docs/configuration.md#fleetyaml. */
export const ClientTlsSchema = z
  .strictObject({
    ca_file: path.optional().describe('issuers that are trusted, beside those that Node trusts'),
    cert_file: path.optional().describe('the client certificate that is shown where one is asked for'),
    key_file: path.optional().describe('its key; required with `cert_file`'),
  })
  .superRefine(({ cert_file: cert, key_file: key }, ctx) => {
    if ((cert === undefined) === (key === undefined)) return;
    const [missing, given] = cert === undefined ? ['cert_file', 'key_file'] : ['key_file', 'cert_file'];
    const message = `is required with ${given}: a certificate is of use with its key only`;
    ctx.addIssue({ code: 'custom', path: [missing], message });
  });

/** The options of a client's connection: own issuers are trusted beside those that Node trusts. */
export function clientOptions({ ca, cert, key }: TlsMaterial) {
  return {
    minVersion: MIN_TLS_VERSION,
    ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca].join('\n') }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  } as const;
}

/** True when the port of this address completes a TLS handshake, with whatever certificate. Sends no request. */
export function speaksTls(url: string, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  const at = Number(port || (protocol === 'https:' ? 443 : 80));
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: at, rejectUnauthorized: false });
    const end = (spoke: boolean): void => {
      signal.removeEventListener('abort', expire);
      socket.destroy();
      resolve(spoke);
    };
    const expire = (): void => end(false);
    if (signal.aborted) expire();
    signal.addEventListener('abort', expire, { once: true });
    socket.once('secureConnect', () => end(true));
    socket.on('error', () => end(false));
    socket.once('close', () => end(false));
  });
}
