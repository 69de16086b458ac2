import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AdmittedTask } from '@hermes-fleet/protocol/ports';

/** A model server on loopback; disposing of it closes every connection. */
export interface ModelServer extends AsyncDisposable {
  readonly url: string;
}

export async function listenAsModel(answer: RequestListener): Promise<ModelServer> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the model has no port');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A server-sent event of a streamed answer, as an OpenAI-compatible server sends it. */
export const chunkOf = (turn: number, rest: object): string =>
  `data: ${JSON.stringify({ id: `c${turn}`, object: 'chat.completion.chunk', created: 1, model: 'instant', ...rest })}\n\n`;

/** The delta of an answer that calls a tool. */
export const toolCall = (turn: number, name: string, args: object): object => ({
  tool_calls: [
    {
      index: 0,
      id: `call-${turn}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    },
  ],
});

/** A task in a new context, as a gateway passes it to an executor. */
export function newTask(brief: string): AdmittedTask {
  const id = randomUUID();
  return {
    id,
    contextId: id,
    deadlineAt: undefined,
    parts: [],
    resumes: 0,
    caller: { name: 'bench', scopes: new Set(['dispatch']) },
    dispatch: { type: 'TASK_DISPATCH', protocolVersion: '2.0', brief, task: { taskId: id } },
  };
}
