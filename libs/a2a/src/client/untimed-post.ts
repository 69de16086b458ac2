import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';

/** Longest timeout to use `fetch` for: Node's `fetch` fails when no response headers arrive within five minutes. */
export const FETCH_LIMIT_MS = 240_000;

const WITHOUT_BODY = new Set([204, 205, 304]);

export interface PostInit {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Sends a POST whose only time limit is `signal`. Returns redirects as responses instead of following them. */
export function postWithoutTimeout(url: string, { headers, body, signal }: PostInit): Promise<Response> {
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, signal, agent: false }, (answer) => {
      try {
        resolve(responseOf(answer));
      } catch (error) {
        // `Response` and `Headers` reject some statuses and headers that node:http lets through.
        answer.destroy();
        reject(error);
      }
    });
    sent.once('error', reject);
    // Covers closes that emit neither 'response' nor 'error', such as an unsolicited protocol upgrade.
    sent.once('close', () => reject(new Error('the connection was closed without an answer')));
    sent.end(body);
  });
}

function responseOf(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers))
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  if (!WITHOUT_BODY.has(status)) return new Response(bodyOf(answer), { status, headers });
  answer.resume();
  return new Response(null, { status, headers });
}

function bodyOf(answer: Readable): ReadableStream<Uint8Array> {
  const chunks = answer[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: () => void answer.destroy(),
  });
}
