import { type Agent, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

/** The time after which an idle connection is closed, ms: a server of Node's defaults closes one after five seconds. */
const IDLE_MS = 4_000;
const MAX_IDLE_CONNECTIONS = 64;

export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
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
 * Sends a POST and reads its answer as text, over connections that are kept for the next one. Rejects with network errors and
 * the errors of the options. Follows no redirect. Beside `fetch`, it needs a third of the CPU time, and waits for response
 * headers as long as its caller does.
 */
export type TextExchange = (url: string, post: Post) => Promise<TextAnswer>;

/** Nobody has to close it: idle connections end by themselves, and keep no process alive (Node.js documentation, `http.Agent`). */
export function createTextExchange(): TextExchange {
  const keep = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
  const http = new HttpAgent(keep);
  let https: Agent | undefined;
  return (url, post) => {
    if (!url.startsWith('https:')) return exchange(requestHttp, http, url, post);
    https ??= new HttpsAgent(keep);
    return exchange(requestHttps, https, url, post);
  };
}

function exchange(
  request: typeof requestHttp,
  agent: Agent,
  url: string,
  { headers, body, signal, ...limits }: Post,
): Promise<TextAnswer> {
  return new Promise((resolve, reject) => {
    // Covers closes that emit neither 'response' nor 'error', such as an unsolicited protocol upgrade.
    const unanswered = (): void => reject(new Error('the connection was closed without an answer'));
    const sent = request(url, { method: 'POST', headers, signal, agent }, (answer) => {
      sent.off('close', unanswered);
      read(answer, limits, resolve, reject);
    });
    sent.on('error', reject);
    sent.once('close', unanswered);
    sent.end(body);
  });
}

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
