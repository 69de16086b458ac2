import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { createPeerHealth } from '@hermes-fleet/peers';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import type { QuestionExchange } from '../src/delegation/question-exchange.ts';
import type { ProseOptions } from '../src/prose/send-once.ts';

/** The answer to one call: a JSON-RPC result or error, a raw body, stream events, silence, or a cut connection. */
export type Answer =
  | { readonly result: JsonObject }
  | { readonly error: JsonObject; readonly status?: number }
  | { readonly body: string; readonly status?: number }
  | { readonly events: readonly JsonObject[] }
  | 'silence'
  | 'cut';

export interface ScriptedPeer {
  readonly options: ProseOptions;
  /** The calls, in order. */
  readonly calls: { readonly method: string; readonly params: JsonObject; readonly body: string }[];
  /** The IDs passed to `onAccepted`. */
  readonly taken: string[];
  readonly announces: JsonObject[];
  /** Resolves when the whole script has been played. */
  readonly over: Promise<void>;
}

/** An agent on loopback that answers each call from a script, and cuts the connection of any other call. */
export async function scriptedPeer(
  t: TestContext,
  script: readonly (readonly [method: string, answer: Answer])[],
): Promise<ScriptedPeer> {
  const left = [...script];
  const calls: ScriptedPeer['calls'] = [];
  const over = Promise.withResolvers<void>();
  const server = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method, params } = JSON.parse(body);
    calls.push({ method, params: isJsonObject(params) ? params : {}, body });
    const [wanted, answer] = left.shift() ?? ['nothing', 'cut'];
    if (left.length === 0) over.resolve();
    if (answer === 'silence' && wanted === method) return;
    if (answer === 'cut' || answer === 'silence' || wanted !== method) {
      request.socket.destroy();
      return;
    }
    const stream = 'events' in answer;
    reply.writeHead('status' in answer ? (answer.status ?? 200) : 200, {
      'content-type': stream ? 'text/event-stream' : 'application/json',
    });
    if (stream) reply.end(answer.events.map((result) => `data: ${envelope({ result })}\n\n`).join(''));
    else if ('body' in answer) reply.end(answer.body);
    else reply.end(envelope('result' in answer ? { result: answer.result } : { error: answer.error }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const taken: string[] = [];
  const announces: JsonObject[] = [];
  const options: ProseOptions = {
    client: createA2AClient({ clock: systemClock, log: silentLog, extensions: [] }),
    endpoint: { name: 'helper', url: `http://127.0.0.1:${address.port}/` },
    health: createPeerHealth(systemClock),
    clock: systemClock,
    log: silentLog,
    random: () => 0,
    signal: new AbortController().signal,
    traceparent: undefined,
    taskId: 't-1',
    parts: [],
    replySchema: 'prose',
    deadlineAt: undefined,
    remainingTokens: () => Number.POSITIVE_INFINITY,
    peerDownAfterMs: 10_000,
    resumed: false,
    onAccepted: async (id) => void taken.push(id),
    onTask: async () => undefined,
    onRetry: () => undefined,
    questions: NOBODY_TO_ASK,
    onAnnounce: async (announce) => void announces.push(announce),
  };
  return { options, calls, taken, announces, over: over.promise };
}

/** A dispatch that the orchestrator has saved and may send. */
export const SAVED_DISPATCH = {
  peer: 'neo',
  messageId: 'm-1',
  contextId: 'c',
  payload: { type: 'TASK_DISPATCH', brief: 'b' },
  startedAt: '2026-05-31T20:00:00Z',
};

/** A caller that answers no questions. */
export const NOBODY_TO_ASK: QuestionExchange = {
  ask: async () => undefined,
  pendingQuestion: () => undefined,
  undeliveredAnswer: async () => undefined,
  markDelivered: async () => undefined,
};

const envelope = (body: JsonObject): string => JSON.stringify({ jsonrpc: '2.0', id: 1, ...body });
