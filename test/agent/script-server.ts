import { once } from 'node:events';
import { createServer } from 'node:http';
import { z } from 'zod';

type Calls = readonly (readonly [tool: string, input: object])[];

/** The model's steps in a conversation whose first message contains `word`. The step after the last is text. */
export type Script = readonly { readonly word: string; readonly steps: readonly Calls[] }[];

const Chat = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).default([]),
});

/**
 * A stateless model on loopback that follows a script over the chat completions API. The conversation determines the
 * next step, so it continues after a restart like any model.
 */
export async function startScript(
  script: Script,
  onRequest: (offered: readonly string[]) => void,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    // A probe of the model's health, which comes only while a run is slow.
    if (request.method !== 'POST') return void response.writeHead(404).end();
    let body = '';
    for await (const chunk of request) body += chunk;
    const { messages, tools } = Chat.parse(JSON.parse(body));
    onRequest(tools.map((tool) => tool.function.name));
    const task = JSON.stringify(messages.find(({ role }) => role === 'user')?.content);
    const steps = script.find(({ word }) => task.includes(word))?.steps ?? [];
    const taken = messages.filter(({ role }) => role === 'assistant').length;
    const calls = steps[taken];
    const delta = calls
      ? {
          tool_calls: calls.map(([name, input], index) =>
            toolCall(`call-${taken}-${index}`, index, name, input),
          ),
        }
      : { content: 'All of it is done.' };
    const usage = {
      prompt_tokens: body.length >> 2,
      completion_tokens: 20,
      total_tokens: (body.length >> 2) + 20,
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const rest of [
      { choices: [{ index: 0, delta: { role: 'assistant', ...delta } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: calls ? 'tool_calls' : 'stop' }] },
      { choices: [], usage },
    ]) {
      const chunk = {
        id: `chat-${taken}`,
        object: 'chat.completion.chunk',
        created: 1,
        model: 'scripted',
        ...rest,
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the script server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const toolCall = (id: string, index: number, name: string, input: object) => ({
  id,
  index,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});
