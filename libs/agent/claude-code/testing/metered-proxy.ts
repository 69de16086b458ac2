import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { AgentConfigSchema, createModel, type MeasuredCall, type ModelCallEnd } from '@hermes-fleet/loop';
import {
  type AnthropicReply,
  anthropicServer,
  type MessagesRequest,
  makeContext,
} from '@hermes-fleet/loop/testing';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { SECRET } from '@hermes-fleet/workspace/testing';
import { type MeteringProxyOptions, openMeteringProxy } from '../src/metering-proxy.ts';

const MODEL = 'claude-sonnet-4-5';
const env = { read: (name: string) => (name === 'ANTHROPIC_API_KEY' ? SECRET : undefined) };

/** The span of the run whose calls the proxy meters. */
export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** A call of the conversation. */
export const REQUEST = {
  model: MODEL,
  max_tokens: 4096,
  stream: true,
  system: 'You are neo.',
  tools: [{ name: 'Read', description: 'Read a file.', input_schema: { type: 'object', properties: {} } }],
  messages: [{ role: 'user', content: 'Write about the sea. '.repeat(100) }],
};

/** A plausible usage for REQUEST. */
export const USAGE = { input_tokens: 600, output_tokens: 40 };

type ProxyOptions = Parameters<typeof makeContext>[0] &
  Pick<MeteringProxyOptions, 'tracing'> & {
    readonly countCache?: boolean;
    /** `model_calls` of config.yaml. */
    readonly modelCalls?: object;
  };

/** A metering proxy in front of a provider at this address. */
export async function proxyTo(
  t: TestContext,
  upstream: string,
  { countCache = false, tracing, modelCalls = {}, ...options }: ProxyOptions = {},
) {
  const context = makeContext(options);
  /** The ends of the calls, as the monitor of the model's health hears of them. */
  const ends: ModelCallEnd[] = [];
  const calls = {
    begin: () => ({ [Symbol.dispose]: () => undefined }),
    ended: (end: ModelCallEnd) => void ends.push(end),
  };
  /** What is booked for each call, as the events of the run hear of it. */
  const used: { readonly inputTokens: number; readonly outputTokens: number; readonly model?: string }[] = [];
  /** How long the calls took, as the metrics hear of them. */
  const measured: MeasuredCall[] = [];
  const clock = manualClock();
  const measurement = { clock, onCall: (call: MeasuredCall) => void measured.push(call) };
  const proxy = await openMeteringProxy({
    upstream,
    apiKey: SECRET,
    modelName: MODEL,
    countCache,
    task: { traceparent: TRACEPARENT },
    tracing,
    log: silentLog,
    model: await createModel(
      AgentConfigSchema.parse({ model: `anthropic/${MODEL}`, model_calls: modelCalls }),
      'sonnet',
      env,
      {
        calls,
        measurement,
      },
    ),
    budget: context.budget,
    signal: context.signal,
    onUsage: (usage) => void used.push(usage),
  });
  t.after(() => proxy[Symbol.asyncDispose]());
  const call = (
    body: object = {},
    headers: Record<string, string> = {},
    path = '/v1/messages?beta=true',
    signal: AbortSignal | null = null,
  ) =>
    fetch(`${proxy.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': proxy.key, ...headers },
      body: JSON.stringify({ ...REQUEST, ...body }),
      signal,
    });
  return { context, proxy, call, ends, used, clock, measured };
}

/** A metering proxy in front of a scripted provider. */
export async function scriptedProxy(
  t: TestContext,
  script: (call: number, request: MessagesRequest) => AnthropicReply,
  options: ProxyOptions = {},
) {
  const server = await anthropicServer(t, script);
  return { server, ...(await proxyTo(t, server.url, options)) };
}

/** A metering proxy in front of a provider whose responses the test writes itself. */
export async function rawProxy(
  t: TestContext,
  respond: (response: ServerResponse) => void,
  options: ProxyOptions = {},
) {
  const server = createServer((request, response) => {
    request.resume();
    respond(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return proxyTo(t, `http://127.0.0.1:${address.port}`, options);
}
