import type { RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { type RestartableServer, restartableServer } from './restartable-server.ts';

/** A model's provider on loopback that can stop and come back at the same address; `url` is without `/v1`. */
export interface Provider extends RestartableServer {
  /** The requests so far, as method and path. */
  readonly requests: readonly string[];
  /** The status of the next answers, by method and path; undefined never answers. */
  answers: (request: string) => number | undefined;
  /** The body of the next answers, by method and path. */
  body: (request: string) => unknown;
  /** The headers of the last request. */
  readonly headers: () => Readonly<Record<string, unknown>>;
}

/** Starts a provider that answers everything with an empty JSON object, and with 200 unless the test says otherwise. */
export async function startProvider(t: TestContext): Promise<Provider> {
  const requests: string[] = [];
  let headers: Record<string, unknown> = {};
  const provider = {
    answers: (_request: string): number | undefined => 200,
    body: (_request: string): unknown => ({}),
  };
  const answer: RequestListener = (request, response) => {
    const name = `${request.method} ${request.url}`;
    requests.push(name);
    headers = request.headers;
    request.resume().once('end', () => {
      const status = provider.answers(name);
      if (status === undefined) return;
      const body = JSON.stringify(provider.body(name));
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
  };
  const server = await restartableServer(t, answer);
  return Object.assign(provider, { ...server, requests, headers: () => headers });
}
