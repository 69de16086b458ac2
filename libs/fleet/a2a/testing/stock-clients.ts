import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  type Artifact,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  taskStateToJSON,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { parseLegacyAgentCard } from '@a2a-js/sdk/compat/v0_3/client';
import { isJsonObject } from '@hermes-fleet/protocol';
import { type Served, TOKEN } from './serve.ts';

/** A task as a stock client shows it; `state` as A2A 0.3 writes it. */
export interface SeenTask {
  readonly id: string;
  readonly state: string | undefined;
  readonly artifacts: readonly SeenArtifact[];
}

export interface SeenArtifact {
  readonly name: string | undefined;
  /** The text of its first part; undefined for another part. */
  readonly text: string | undefined;
  /** Its first part, where that is a file. */
  readonly file?: SeenFile;
}

export interface SeenFile {
  readonly name: string | undefined;
  readonly mediaType: string | undefined;
  readonly base64: string;
}

export type SeenEvent =
  | { readonly kind: 'task'; readonly task: SeenTask }
  | { readonly kind: 'status'; readonly state: string | undefined }
  | { readonly kind: 'artifact'; readonly artifact: SeenArtifact; readonly append: boolean };

/** One published client, as its users use it. Every call throws what the client throws. */
export interface StockClient {
  /** Waits for the end of the task, unless `isWaiting` is false. */
  send(text: string, isWaiting?: boolean, file?: SeenFile): Promise<SeenTask>;
  stream(text: string): AsyncIterator<SeenEvent>;
  resubscribe(id: string): AsyncIterator<SeenEvent>;
  get(id: string): Promise<SeenTask>;
  cancel(id: string): Promise<SeenTask>;
  /** The ids of the tasks; absent for a version without a list. */
  readonly list?: () => Promise<string[]>;
  /** The URIs of the extensions on the extended card. */
  extensions(): Promise<string[]>;
}

/** A client, and a way to cut every connection that it has open. */
export interface Connected {
  readonly client: StockClient;
  drop(): void;
}

/** Connects a client, which `create` makes with a fetch that sends the token and whose connections can be cut. */
export async function connect(create: (fetchImpl: typeof fetch) => Promise<StockClient>): Promise<Connected> {
  let connection = new AbortController();
  const droppable: typeof fetch = (input, init) => {
    const signals = [connection.signal, ...(init?.signal ? [init.signal] : [])];
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };
  const fetchImpl = createAuthenticatingFetchWithRetry(droppable, {
    headers: async () => ({ Authorization: `Bearer ${TOKEN}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  return {
    client: await create(fetchImpl),
    drop() {
      connection.abort();
      connection = new AbortController();
    },
  };
}

/** The SDK's own client of 1.x, which finds everything by the card. */
export function sdkClient({ url }: Served, fetchImpl: typeof fetch): Promise<Client> {
  return factory(new JsonRpcTransportFactory({ fetchImpl })).createFromUrl(url);
}

/** The client of A2A 1.x. */
export async function newClient(served: Served, fetchImpl: typeof fetch): Promise<StockClient> {
  const client = await sdkClient(served, fetchImpl);
  const list = async () => {
    const page = await client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
    });
    return page.tasks.map(({ id }) => id);
  };
  return { ...ofClient(client), list };
}

/** A client of 1.x that reads the card as one of A2A 0.3. */
export async function modeClient(served: Served, fetchImpl: typeof fetch): Promise<StockClient> {
  return ofClient(await sdkModeClient(served, fetchImpl));
}

/** The SDK's own client of 1.x, in the mode that it takes where a card has nothing newer than A2A 0.3. */
export async function sdkModeClient({ url }: Served, fetchImpl: typeof fetch): Promise<Client> {
  const card: unknown = await (await fetch(`${url}/.well-known/agent-card.json`)).json();
  assert.ok(isJsonObject(card));
  const { supportedInterfaces: _, ...legacy } = card;
  const transport = new JsonRpcTransportFactory({ fetchImpl, legacyCompat: { enabled: true } });
  return await factory(transport).createFromAgentCard(parseLegacyAgentCard(legacy));
}

function factory(transport: JsonRpcTransportFactory): ClientFactory {
  const transports = [transport];
  return new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }));
}

function ofClient(client: Client): Omit<StockClient, 'list'> {
  const request = (text: string, returnImmediately: boolean, file?: SeenFile) => ({
    tenant: '',
    message: {
      messageId: randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [
        {
          content: { $case: 'text' as const, value: text },
          metadata: undefined,
          filename: '',
          mediaType: '',
        },
        ...(file ? [filePart(file)] : []),
      ],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    metadata: undefined,
  });
  return {
    async send(text, isWaiting = true, file) {
      const sent = await client.sendMessage(request(text, !isWaiting, file));
      if (!('status' in sent)) throw new TypeError('it was answered with a message');
      return seenTask(sent);
    },
    stream: (text) => mapped(client.sendMessageStream(request(text, false)), seenEvent),
    resubscribe: (id) => mapped(client.resubscribeTask({ tenant: '', id }), seenEvent),
    get: async (id) => seenTask(await client.getTask({ tenant: '', id })),
    cancel: async (id) => seenTask(await client.cancelTask({ tenant: '', id, metadata: undefined })),
    async extensions() {
      const { capabilities } = await client.getAgentCard();
      return capabilities?.extensions.map(({ uri }) => uri) ?? [];
    },
  };
}

function seenTask({ id, status, artifacts }: Task): SeenTask {
  return { id, state: seenState(status?.state), artifacts: artifacts.map(seenArtifact) };
}

const filePart = ({ name = '', mediaType = '', base64 }: SeenFile): Part => ({
  content: { $case: 'raw', value: Buffer.from(base64, 'base64') },
  metadata: undefined,
  filename: name,
  mediaType,
});

function seenArtifact({ name, parts }: Artifact): SeenArtifact {
  const [{ content, filename, mediaType } = filePart({ name, mediaType: '', base64: '' })] = parts;
  if (content?.$case === 'raw')
    return {
      name,
      text: undefined,
      file: { name: filename, mediaType, base64: content.value.toString('base64') },
    };
  return { name, text: content?.$case === 'text' ? content.value : undefined };
}

function seenState(state: TaskState | undefined): string | undefined {
  if (state === undefined) return undefined;
  return taskStateToJSON(state).replace('TASK_STATE_', '').toLowerCase().replace('_', '-');
}

function seenEvent({ payload }: StreamResponse): SeenEvent {
  if (payload?.$case === 'task') return { kind: 'task', task: seenTask(payload.value) };
  if (payload?.$case === 'statusUpdate') {
    return { kind: 'status', state: seenState(payload.value.status?.state) };
  }
  if (payload?.$case !== 'artifactUpdate' || payload.value.artifact === undefined)
    throw new TypeError(`an event that is none of a task: ${payload?.$case}`);
  return { kind: 'artifact', artifact: seenArtifact(payload.value.artifact), append: payload.value.append };
}

export async function* mapped<T, S>(items: AsyncIterable<T>, map: (item: T) => S): AsyncGenerator<S, void> {
  for await (const item of items) yield map(item);
}
