import { globalAgent, type Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent, type AgentOptions, request } from 'node:https';
import { connect, createSecureContext, getCACertificates } from 'node:tls';
import type { TlsMaterial } from './certificates.ts';
import type { TlsSource } from './renewed.ts';

/** The oldest version of TLS that any connection of the fleet uses. */
export const MIN_TLS_VERSION = 'TLSv1.2' as const;

/** A request whose redirects are not followed; a part of `fetch`. */
export type TlsFetch = (
  url: string,
  init: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

/** The options of a client's connection: own issuers are trusted beside those that Node trusts. */
export function clientOptions({ ca, cert, key }: TlsMaterial) {
  return {
    minVersion: MIN_TLS_VERSION,
    ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca].join('\n') }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  } as const;
}

/**
 * Returns the agent for the newest files. After a renewal it is another one: connections of the earlier one end with their
 * requests.
 */
export function agentFor(source: TlsSource, options: AgentOptions): () => Agent {
  let made: { readonly of: TlsMaterial; readonly agent: Agent } | undefined;
  return () => {
    const material = source.current();
    if (made?.of !== material) {
      // One context for all connections: to read every issuer anew takes milliseconds.
      const secureContext = createSecureContext(clientOptions(material));
      const agent = new Agent({ ...proxied(), ...options, secureContext });
      made = { of: material, agent };
    }
    return made.agent;
  };
}

/** The proxy of the environment, where `fetch` uses it too; the types do not have it. */
function proxied(): AgentOptions {
  const { options } = globalAgent as HttpAgent & { readonly options?: AgentOptions };
  return options?.proxyEnv === undefined ? {} : { proxyEnv: options.proxyEnv };
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

const NULL_BODY = new Set([101, 204, 205, 304]);

/**
 * A `fetch` for peers: https goes over connections with these files, and http as with `fetch`. Node's own `fetch` takes no
 * certificates without another HTTP library.
 */
export function createTlsFetch(source: TlsSource): TlsFetch {
  const agent = agentFor(source, { keepAlive: true, timeout: 4_000, maxFreeSockets: 64 });
  return (url, init) =>
    new URL(url).protocol === 'https:'
      ? overTls(agent(), url, init)
      : fetch(url, { ...init, redirect: 'manual' });
}

function overTls(
  agent: Agent,
  url: string,
  { method = 'GET', headers = {}, body, signal }: Parameters<TlsFetch>[1],
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const own = { 'accept-encoding': 'identity', ...headers };
    const sent = request(url, { method, headers: own, signal, agent }, (answer) => {
      // A Response has no status above 599 or below 200. What a listener throws would end the process.
      try {
        resolve(responseOf(answer));
      } catch (error) {
        reject(error);
        answer.destroy();
      }
    });
    sent.on('error', reject);
    // An unrequested protocol upgrade closes the connection without an error or a response.
    sent.once('close', () => reject(new Error('the connection was closed without an answer')));
    sent.end(body);
  });
}

function responseOf(answer: IncomingMessage): Response {
  const headers = new Headers();
  for (let index = 0; index + 1 < answer.rawHeaders.length; index += 2)
    headers.append(answer.rawHeaders[index] ?? '', answer.rawHeaders[index + 1] ?? '');
  const status = answer.statusCode ?? 0;
  if (NULL_BODY.has(status)) {
    answer.resume();
    return new Response(null, { status, headers });
  }
  return new Response(bodyOf(answer), { status, headers });
}

/** Reads on demand; a consumer that cancels closes the connection. */
function bodyOf(answer: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = answer[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void answer.destroy(),
  });
}
