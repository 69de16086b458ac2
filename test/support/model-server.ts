import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { TestContext } from 'node:test';

/** A model's address on loopback that answers every question alike, over the real wire, and counts who comes. */
export interface ModelServer {
  readonly url: string;
  /** The requests so far, as method and path, and `connection` for each new connection. */
  readonly visits: readonly string[];
}

/** An OpenAI-compatible server that says `text`, as a stream, and meters it like this. */
export async function startModelServer(
  t: TestContext,
  text: string,
  usage: { readonly input: number; readonly output: number },
): Promise<ModelServer> {
  const visits: string[] = [];
  let calls = 0;
  const answer: RequestListener = (request, response) => {
    visits.push(`${request.method} ${request.url}`);
    calls += 1;
    const chunk = (rest: object): string =>
      `data: ${JSON.stringify({ id: `chatcmpl-${calls}`, object: 'chat.completion.chunk', created: 1, model: 'scripted', ...rest })}\n\n`;
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: text } }] }));
      response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
      const [prompt_tokens, completion_tokens] = [usage.input, usage.output];
      const metered = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
      response.end(`${chunk({ choices: [], usage: metered })}data: [DONE]\n\n`);
    });
  };
  const url = await listen(t, answer, () => visits.push('connection'));
  return { url: `${url}/v1`, visits };
}

/** The address of a server that is there and answers everything with 503. */
export function startUnwellServer(t: TestContext): Promise<string> {
  return listen(t, (_, response) => response.writeHead(503).end());
}

async function listen(t: TestContext, answer: RequestListener, onConnection = () => {}): Promise<string> {
  const server = createServer(answer);
  server.on('connection', onConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}
