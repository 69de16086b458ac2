import type { RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { type RestartableServer, restartableServer } from '@hermes-fleet/loop/testing';

/** A model's address on loopback that answers every call alike, over the real wire, and counts who comes. */
export interface ModelServer extends RestartableServer {
  /**
   * The calls so far, as method and path, and `connection` for each new connection. Probes of a profile, which GET the list
   * of models and the window, are left out with their connections.
   */
  readonly visits: readonly string[];
  /** The status of the next answers to calls; a probe is always answered with 200. */
  callStatus: number;
}

const LIST = '/v1/models';

/** An OpenAI-compatible server that says `text`, as a stream, and meters it like this. */
export async function startModelServer(
  t: TestContext,
  text: string,
  usage: { readonly input: number; readonly output: number },
): Promise<ModelServer> {
  const visits: string[] = [];
  const known = new WeakSet<object>();
  let calls = 0;
  const model = { callStatus: 200 };
  const answer: RequestListener = (request, response) => {
    if (request.method === 'GET') {
      const isList = request.url === LIST;
      response.writeHead(isList ? 200 : 404, { 'content-type': 'application/json' });
      response.end(isList ? '{"object":"list","data":[]}' : '{}');
      return;
    }
    if (!known.has(request.socket)) visits.push('connection');
    known.add(request.socket);
    visits.push(`${request.method} ${request.url}`);
    calls += 1;
    const chunk = (rest: object): string =>
      `data: ${JSON.stringify({ id: `chatcmpl-${calls}`, object: 'chat.completion.chunk', created: 1, model: 'scripted', ...rest })}\n\n`;
    request.resume().once('end', () => {
      if (model.callStatus !== 200) {
        response.writeHead(model.callStatus).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: text } }] }));
      response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
      const [prompt_tokens, completion_tokens] = [usage.input, usage.output];
      const metered = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
      response.end(`${chunk({ choices: [], usage: metered })}data: [DONE]\n\n`);
    });
  };
  const { url, stop, start } = await restartableServer(t, answer);
  return Object.assign(model, { url: `${url}/v1`, visits, stop, start });
}

/** The address of a server that is there and answers everything with 503. */
export async function startUnwellServer(t: TestContext): Promise<string> {
  return (await restartableServer(t, (_, response) => response.writeHead(503).end())).url;
}
