import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import {
  AgentCard,
  Extensions,
  formatSSEEvent,
  type Message,
  type Part,
  Role,
  SSE_HEADERS,
  TaskState,
  type TaskStatus,
} from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  defaultServerCallContextBuilder,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
} from '@a2a-js/sdk/server';

/** An agent's answer to the text of a message; `nth` counts its messages, from 1. */
export type Behaviour = (text: string, nth: number) => Promise<string | { readonly ask: string }>;

/** An agent on the A2A SDK's own server parts, which has never heard of the handshake. */
export interface StockAgent {
  /** Where its JSON-RPC is; its card says so too. */
  readonly rpcUrl: string;
  readonly cardUrl: string;
  /** The messages that reached its executor, in order. */
  readonly messages: Message[];
  /** The JSON-RPC methods that it was called with, in order. */
  readonly methods: string[];
  /** The number of times its card was read. */
  cardReads(): number;
  /** As a crash does it: the port is closed, every connection cut, and nothing is known any more. */
  kill(): Promise<void>;
}

export interface StockOptions {
  readonly behaviour: Behaviour;
  /** True: it answers with a Task; false: with a Message alone, once it has finished. */
  readonly answers?: 'task' | 'message';
  readonly streaming?: boolean;
  /** True: the answer to its first SendMessage is lost. */
  readonly losesFirstAnswer?: boolean;
  /** Where its JSON-RPC is served. */
  readonly path?: string;
  /** `0.3` for an agent that speaks nothing newer. */
  readonly speaks?: '0.3' | '1.0';
}

export async function startStockAgent(t: TestContext, o: StockOptions): Promise<StockAgent> {
  const path = o.path ?? '/jsonrpc';
  const messages: Message[] = [];
  const methods: string[] = [];
  let cardReads = 0;
  const server = createServer((request, response) => {
    void handle(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the agent does not listen');
  const base = `http://127.0.0.1:${address.port}`;
  const card = cardOf(`${base}${path}`, o.streaming ?? true);
  const executor = executorOf(o, messages);
  const isLegacy = o.speaks === '0.3';
  const Handler = isLegacy ? LegacyJsonRpcTransportHandler : JsonRpcTransportHandler;
  const rpc = new Handler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor));
  t.after(() => close(server));

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/.well-known/agent-card.json') {
      cardReads += 1;
      const { name, description, version, capabilities } = card;
      const legacy = {
        name,
        description,
        version,
        capabilities,
        url: `${base}${path}`,
        protocolVersion: '0.3.0',
      };
      response.end(JSON.stringify(isLegacy ? legacy : AgentCard.toJSON(card)));
      return;
    }
    if (request.url !== path) {
      response.writeHead(404).end();
      return;
    }
    let text = '';
    for await (const chunk of request) text += chunk;
    const body: Record<string, unknown> = JSON.parse(text);
    methods.push(String(body.method));
    const context = defaultServerCallContextBuilder({
      extensions: Extensions.parseServiceParameter(header(request, 'a2a-extensions')),
      user: undefined,
      headers: request.headers,
      requestedVersion: header(request, 'a2a-version') ?? '0.3',
    });
    const answer = await rpc.handle(body, context);
    const isFirst = methods.filter((method) => method === 'SendMessage').length === 1;
    if (o.losesFirstAnswer && isFirst && body.method === 'SendMessage') {
      request.socket.destroy();
      return;
    }
    if (!(Symbol.asyncIterator in answer)) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      return;
    }
    response.writeHead(200, SSE_HEADERS);
    for await (const event of answer) response.write(formatSSEEvent(event));
    response.end();
  }

  return {
    rpcUrl: `${base}${path}`,
    cardUrl: `${base}/.well-known/agent-card.json`,
    messages,
    methods,
    cardReads: () => cardReads,
    kill: () => close(server),
  };
}

/** The text of a message. */
export function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('\n');
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
}

function executorOf({ behaviour, answers = 'task' }: StockOptions, messages: Message[]): AgentExecutor {
  return {
    async execute({ userMessage, taskId, contextId, task }, bus) {
      messages.push(userMessage);
      const nth = messages.length;
      if (answers === 'message') {
        const answer = await behaviour(textOf(userMessage), nth);
        bus.publish(AgentEvent.message(said(typeof answer === 'string' ? answer : answer.ask, contextId)));
        bus.finished();
        return;
      }
      const update = (status: TaskStatus): void =>
        bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
      const isNew = task === undefined;
      if (isNew)
        bus.publish(
          AgentEvent.task({
            id: taskId,
            contextId,
            history: [userMessage],
            artifacts: [],
            metadata: undefined,
            status: statusOf(TaskState.TASK_STATE_SUBMITTED),
          }),
        );
      update(statusOf(TaskState.TASK_STATE_WORKING));
      const answer = await behaviour(textOf(userMessage), nth);
      if (typeof answer === 'string') {
        const artifact = {
          artifactId: randomUUID(),
          name: 'reply',
          description: '',
          parts: [textPart(answer)],
        };
        bus.publish(
          AgentEvent.artifactUpdate({
            taskId,
            contextId,
            append: false,
            lastChunk: true,
            metadata: undefined,
            artifact: { ...artifact, metadata: undefined, extensions: [] },
          }),
        );
        update(statusOf(TaskState.TASK_STATE_COMPLETED));
      } else update(statusOf(TaskState.TASK_STATE_INPUT_REQUIRED, said(answer.ask, contextId)));
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      const status = statusOf(TaskState.TASK_STATE_CANCELED);
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status, metadata: undefined }));
      bus.finished();
    },
  };
}

function statusOf(state: TaskState, message?: Message): TaskStatus {
  return { state, message, timestamp: new Date().toISOString() };
}

function said(text: string, contextId: string): Message {
  return {
    messageId: randomUUID(),
    contextId,
    taskId: '',
    role: Role.ROLE_AGENT,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' };
}

function cardOf(url: string, streaming: boolean): AgentCard {
  const capabilities = { streaming, pushNotifications: false, extendedAgentCard: false, extensions: [] };
  return {
    name: 'Helper',
    description: 'Helps.',
    version: '1.0.0',
    provider: undefined,
    capabilities,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
    securitySchemes: {},
    securityRequirements: [],
    signatures: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 'help',
        name: 'Help',
        description: 'Helps.',
        tags: ['help'],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
  };
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}
