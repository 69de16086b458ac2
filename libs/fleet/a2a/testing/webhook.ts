import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: JsonObject;
}

export interface Webhook {
  readonly url: string;
  readonly received: Received[];
  /** Resolves with the next notification that was not read yet. */
  next(): Promise<Received>;
}

/** A push target on loopback; `answer` gets the number of the notification, from 0. Closed after the test. */
export async function startWebhook(
  t: TestContext,
  answer: (response: ServerResponse, index: number) => void = (response) => response.end(),
): Promise<Webhook> {
  const received: Received[] = [];
  let waiting = Promise.withResolvers<void>();
  let read = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const body: unknown = JSON.parse(text);
    received.push({ headers: request.headers, text, body: isJsonObject(body) ? body : {} });
    waiting.resolve();
    waiting = Promise.withResolvers();
    answer(response, received.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the webhook does not listen');
  return {
    url: `http://127.0.0.1:${address.port}/hook?secret=of-the-url`,
    received,
    async next() {
      while (received.length <= read) await waiting.promise;
      const next = received[read];
      if (next === undefined) throw new TypeError('the webhook lost a notification');
      read += 1;
      return next;
    },
  };
}
