import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { agentsFor, type ClientTls, KEPT } from './agents.ts';

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
 * network errors and the errors of the options. Follows no redirect: it is an answer.
 */
export type TextExchange = (url: string, post: Post) => Promise<TextAnswer>;

/** The policy `configured` of `createClient` for texts. Beside a `fetch`, it needs a third of the CPU time. */
export function createTextExchange(tls?: ClientTls): TextExchange {
  const kept = agentsFor(tls, KEPT);
  const single = agentsFor(tls, {});
  return (url, post) => {
    const isTls = url.startsWith('https:');
    const agents = { kept: kept(isTls), single: single(isTls) };
    return exchange(isTls ? requestHttps : requestHttp, agents, url, post);
  };
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
