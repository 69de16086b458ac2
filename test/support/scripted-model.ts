import type { RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { restartableServer } from '@hermes-fleet/loop/testing';
import { z } from 'zod';

const Chat = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});

/** The briefs of the tasks in a request to the model, oldest first. */
export type Briefs = readonly string[];

/** The next step: a text, a call of `shell_exec`, or no answer at all. */
export type ModelStep = { readonly say: string } | { readonly run: string } | 'silence';

export interface ScriptedModel {
  readonly url: string;
  /** The briefs in each request so far. */
  readonly asked: readonly Briefs[];
}

/** An OpenAI-compatible server on loopback that answers as `script` says, given the briefs and the steps since the last one. */
export async function startScriptedModel(
  t: TestContext,
  script: (briefs: Briefs, steps: number) => ModelStep,
): Promise<ScriptedModel> {
  const asked: Briefs[] = [];
  const listener: RequestListener = (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
      return;
    }
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    request.once('end', () => {
      const { messages } = Chat.parse(JSON.parse(body));
      const briefs = messages.flatMap(({ role, content }) => (role === 'user' ? briefIn(content) : []));
      const last = messages.findLastIndex(({ role }) => role === 'user');
      const steps = messages.slice(last).filter(({ role }) => role === 'assistant').length;
      asked.push(briefs);
      const step = script(briefs, steps);
      if (step !== 'silence')
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(streamed(step, asked.length));
    });
  };
  const { url } = await restartableServer(t, listener);
  return { url: `${url}/v1`, asked };
}

const briefIn = (content: unknown): string[] => {
  const [, brief] = /<task>\n([\s\S]*?)\n<\/task>/.exec(String(content)) ?? [];
  return brief === undefined ? [] : [brief];
};

function streamed(step: { readonly say: string } | { readonly run: string }, count: number): string {
  const call = (command: string) => ({
    index: 0,
    id: `call-${count}`,
    type: 'function',
    function: { name: 'shell_exec', arguments: JSON.stringify({ command }) },
  });
  const delta = 'say' in step ? { content: step.say } : { tool_calls: [call(step.run)] };
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  return [
    { choices: [{ index: 0, delta: { role: 'assistant', ...delta } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'say' in step ? 'stop' : 'tool_calls' }] },
    { choices: [], usage },
  ]
    .map((rest) => ({
      id: `chatcmpl-${count}`,
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      ...rest,
    }))
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .concat('data: [DONE]\n\n')
    .join('');
}
