import {
  type Agent,
  type AgentOptions,
  globalAgent,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { agentFor, type TlsSource } from '@hermes-fleet/tls';

/** The time after which an idle connection is closed, ms: a server of Node's defaults closes one after five seconds. */
const IDLE_MS = 4_000;
const MAX_IDLE_CONNECTIONS = 64;

export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The peer must not get the request twice. It has a connection of its own, because the peer may have closed a kept one. */
  readonly isOnce?: boolean | undefined;
  /** Is called before a request that a kept connection has lost is sent again. */
  readonly onResend?: (() => void) | undefined;
  /** The only time limit. */
  readonly signal: AbortSignal;
  /** The largest answer that is read, bytes. */
  readonly maxBytes: number;
  /** Returns the error of an answer whose body is not read, by its status. */
  readonly errorOf: (status: number) => Error | undefined;
  /** The error of an answer that is too large. */
  readonly tooLarge: () => Error;
}

export interface TextAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/**
 * Sends a POST and reads its answer as text, over connections that are kept for the next one. A request that a kept connection
 * has lost is sent again at once, over a new one: whatever becomes of that copy, the lost one may have arrived. Rejects with
 * network errors and the errors of the options. Follows no redirect. Beside `fetch`, it needs a third of the CPU time, and waits for response headers as long as its caller does.
 */
export type TextExchange = (url: string, post: Post) => Promise<TextAnswer>;

/**
 * Nobody has to close it: idle connections end by themselves, and keep no process alive (Node.js documentation, `http.Agent`).
 * Uses a proxy where `fetch` does (Node.js documentation, "Built-in Proxy Support").
 */
export function createTextExchange(tls?: TlsSource): TextExchange {
  // Set where NODE_USE_ENV_PROXY or --use-env-proxy is; the types do not have it.
  const { options } = globalAgent as Agent & { readonly options?: AgentOptions };
  const proxied = { proxyEnv: options?.proxyEnv };
  const keep = { ...proxied, keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
  const http: Agents = { kept: new HttpAgent(keep), single: new HttpAgent(proxied) };
  let https: HttpsAgents | undefined;
  return (url, post) => {
    if (!url.startsWith('https:')) return exchange(requestHttp, http, url, post);
    https ??= httpsAgents(tls, keep, proxied);
    return exchange(requestHttps, { kept: https.kept(), single: https.single() }, url, post);
  };
}

interface HttpsAgents {
  readonly kept: () => Agent;
  readonly single: () => Agent;
}

function httpsAgents(tls: TlsSource | undefined, keep: AgentOptions, single: AgentOptions): HttpsAgents {
  if (tls !== undefined) return { kept: agentFor(tls, keep), single: agentFor(tls, single) };
  const [kept, once] = [new HttpsAgent(keep), new HttpsAgent(single)];
  return { kept: () => kept, single: () => once };
}

interface Agents {
  readonly kept: Agent;
  /** Opens a connection for each request. */
  readonly single: Agent;
}

function exchange(request: typeof requestHttp, agents: Agents, url: string, post: Post): Promise<TextAnswer> {
  const { body, signal, isOnce = false, onResend: _, ...limits } = post;
  const headers = { ...post.headers, 'accept-encoding': 'identity' };
  const agent = isOnce ? agents.single : agents.kept;
  return new Promise((resolve, reject) => {
    // Covers closes that emit neither 'response' nor 'error', such as an unsolicited protocol upgrade.
    const unanswered = (): void => reject(new Error('the connection was closed without an answer'));
    const sent = request(url, { method: 'POST', headers, signal, agent }, (answer) => {
      sent.off('close', unanswered);
      isAnswered = true;
      read(answer, limits, resolve, reject);
    });
    let isAnswered = false;
    sent.on('error', (error) => {
      if (isAnswered || !sent.reusedSocket || !isLost(error)) {
        reject(error);
        return;
      }
      post.onResend?.();
      resolve(exchange(request, agents, url, { ...post, isOnce: true }));
    });
    sent.once('close', unanswered);
    sent.end(body);
  });
}

/** True for a connection that its other end has closed. */
const isLost = (error: Error): boolean =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

function read(
  answer: IncomingMessage,
  { maxBytes, errorOf, tooLarge }: Pick<Post, 'maxBytes' | 'errorOf' | 'tooLarge'>,
  resolve: (answer: TextAnswer) => void,
  reject: (error: unknown) => void,
): void {
  const status = answer.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const fail = (error: unknown): void => {
    reject(error);
    answer.destroy();
  };
  answer.on('error', reject);
  const refused = errorOf(status);
  if (refused) {
    fail(refused);
    return;
  }
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) fail(tooLarge());
    else chunks.push(chunk);
  });
  answer.once('end', () => {
    const text = new TextDecoder().decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    resolve({ status, retryAfter: answer.headers['retry-after'] ?? null, text });
  });
}
