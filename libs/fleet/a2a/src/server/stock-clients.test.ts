import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { contentParts } from '@hermes-fleet/protocol/ports';
import type * as old from 'a2a-sdk-0.3';
import {
  ClientFactory as OldFactory,
  ClientFactoryOptions as OldFactoryOptions,
  JsonRpcTransportFactory as OldTransportFactory,
} from 'a2a-sdk-0.3/client';
import { finish } from '../../testing/script.ts';
import { type Served, serve } from '../../testing/serve.ts';
import {
  type Connected,
  connect,
  mapped,
  modeClient,
  newClient,
  type SeenArtifact,
  type SeenEvent,
  type SeenFile,
  type SeenTask,
  type StockClient,
} from '../../testing/stock-clients.ts';
import { CALLER_EXTENSION } from '../card/extended-card.ts';

/** The published clients, by name; each finds the service by its card alone. */
const CLIENTS: Readonly<Record<string, (served: Served) => Promise<Connected>>> = {
  '1.x': (served) => connect((fetchImpl) => newClient(served, fetchImpl)),
  '1.x in 0.3 mode': (served) => connect((fetchImpl) => modeClient(served, fetchImpl)),
  '0.3.14': (served) => connect((fetchImpl) => oldClient(served, fetchImpl)),
};

const IDLE = async (): Promise<void> => undefined;
const WHOLE_TEXT = 'one two, done';

type Step = (served: Served, id: string) => Promise<unknown>;

/** A task in steps: each is one event of the log, and of a stream; the last one ends it. */
const STEPS: readonly Step[] = [
  ({ ledger }, id) => ledger.append(id, { type: 'started', data: {} }),
  ({ ledger }, id) => ledger.append(id, { type: 'text', data: { text: 'one ' } }),
  ({ ledger }, id) => ledger.append(id, { type: 'progress', data: { message: 'step 1' } }),
  ({ ledger }, id) => ledger.append(id, { type: 'text', data: { text: 'two' } }),
  ({ ledger }, id) => finish(ledger, id, 'done', { text: WHOLE_TEXT }),
];

/** Runs the steps from the nth on. */
async function runSteps(served: Served, id: string, from: number, to = STEPS.length): Promise<void> {
  for (const step of STEPS.slice(from, to)) await step(served, id);
}

async function nextOf(events: AsyncIterator<SeenEvent>): Promise<SeenEvent> {
  const { done, value } = await events.next();
  assert.ok(!done, 'the stream ended early');
  return value;
}

async function taskOf(events: AsyncIterator<SeenEvent>) {
  const first = await nextOf(events);
  assert.ok(first.kind === 'task', `a stream begins with ${first.kind}`);
  return first.task;
}

async function restOf(events: AsyncIterator<SeenEvent>): Promise<SeenEvent[]> {
  const all: SeenEvent[] = [];
  for (let next = await events.next(); !next.done; next = await events.next()) all.push(next.value);
  return all;
}

/** The text that a client has after these events, which begin with `text`; one for each event that changes it. */
function texts(text: string, events: readonly SeenEvent[]): string[] {
  const seen = [text];
  for (const event of events) {
    if (event.kind !== 'artifact' || event.artifact.name !== 'text') continue;
    seen.push(`${event.append ? seen.at(-1) : ''}${event.artifact.text}`);
  }
  return seen;
}

for (const [name, open] of Object.entries(CLIENTS)) {
  test(`the client ${name} can send, get, list and cancel, and reads the extended card`, async (t) => {
    const script = (id: string, { text }: { text: string }) =>
      text === 'now' ? runSteps(served, id, 0) : Promise.resolve();
    const served = await serve(t, { script });
    const { client } = await open(served);
    const sent = await client.send('now');
    assert.equal(sent.state, 'completed');
    assert.deepEqual(
      sent.artifacts.map((artifact) => [artifact.name, artifact.text]),
      [
        ['task-result', undefined],
        ['text', WHOLE_TEXT],
      ],
    );
    assert.deepEqual(await client.get(sent.id), sent);
    const waiting = await client.send('later', false);
    assert.equal(waiting.state, 'submitted');
    const watched = client.resubscribe(waiting.id);
    assert.equal((await taskOf(watched)).id, waiting.id);
    assert.equal((await client.cancel(waiting.id)).state, 'canceled');
    assert.deepEqual((await restOf(watched)).at(-1), { kind: 'status', state: 'canceled' });
    if (client.list) assert.deepEqual((await client.list()).sort(), [sent.id, waiting.id].sort());
    assert.ok((await client.extensions()).includes(CALLER_EXTENSION));
    await assert.rejects(client.get('unknown'), /not known here|TaskNotFound|-32001/);
  });

  test(`the client ${name} can send a file, and gets the file that a task adds`, async (t) => {
    const script = async (id: string): Promise<void> => {
      const parts = [
        { kind: 'file', name: 'out.bin', mediaType: 'application/x-out', base64: 'AP8=' },
      ] as const;
      const limits = { artifactBytes: 1_000, taskBytes: 1_000 };
      await served.ledger.addArtifact(id, { id: 'out', place: 0, name: 'out', parts, isLast: true }, limits);
      await runSteps(served, id, 0);
    };
    const served = await serve(t, { script, inputModes: ['*/*'] });
    const { client } = await open(served);
    const sent = await client.send('take', true, {
      name: 'in.bin',
      mediaType: 'application/x-in',
      base64: 'AAE=',
    });
    const [text, file] = contentParts(served.intake.inbound[0]?.raw ?? {});
    assert.deepEqual(
      [text?.kind === 'text' && text.text, file],
      ['take', { kind: 'file', index: 1, filename: 'in.bin', mediaType: 'application/x-in', bytes: 'AAE=' }],
    );
    const added = { name: 'out.bin', mediaType: 'application/x-out', base64: 'AP8=' };
    for (const task of [sent, await client.get(sent.id)])
      assert.deepEqual(task.artifacts[0], { name: 'out', text: undefined, file: added });
  });

  test(`the client ${name} loses nothing when its stream breaks, after whatever event`, async (t) => {
    const served = await serve(t, { script: IDLE });
    for (let cut = 0; cut < STEPS.length; cut += 1) {
      const { client, drop } = await open(served);
      const stream = client.stream('go');
      const { id } = await taskOf(stream);
      await runSteps(served, id, 0, cut);
      const before: SeenEvent[] = [];
      for (let count = 0; count < cut; count += 1) before.push(await nextOf(stream));
      const broken = assert.rejects(stream.next(), `the stream did not break after event ${cut}`);
      drop();
      await broken;
      const again = client.resubscribe(id);
      const snapshot = await taskOf(again);
      const known = texts('', before).at(-1) ?? '';
      assert.equal(snapshot.artifacts[0]?.text ?? '', known, `the text after event ${cut}`);
      await runSteps(served, id, cut);
      const rest = await restOf(again);
      assert.deepEqual(rest.at(-1), { kind: 'status', state: 'completed' }, `after event ${cut}`);
      const seen = texts(known, rest);
      assert.deepEqual(seen.slice(-2), ['one two', WHOLE_TEXT], `after event ${cut}`);
    }
  });

  test(`the client ${name} that comes back after the end learns the result`, async (t) => {
    const served = await serve(t, { script: IDLE });
    const { client, drop } = await open(served);
    const stream = client.stream('go');
    const { id } = await taskOf(stream);
    const broken = assert.rejects(stream.next());
    drop();
    await broken;
    await runSteps(served, id, 0);
    if (name === '1.x') await assert.rejects(client.resubscribe(id).next(), /has ended; use GetTask/);
    else {
      const again = client.resubscribe(id);
      const last = await taskOf(again);
      assert.deepEqual([last.state, last.artifacts.at(-1)?.text], ['completed', WHOLE_TEXT]);
      assert.deepEqual(await restOf(again), []);
    }
    assert.equal((await client.get(id)).state, 'completed');
  });
}

async function oldClient({ url }: Served, fetchImpl: typeof fetch): Promise<StockClient> {
  const transports = [new OldTransportFactory({ fetchImpl })];
  const client = await new OldFactory(
    OldFactoryOptions.createFrom(OldFactoryOptions.default, { transports }),
  ).createFromUrl(url);
  const message = (text: string, file?: SeenFile): old.Message => ({
    kind: 'message',
    messageId: randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text }, ...(file ? [oldFile(file)] : [])],
  });
  return {
    async send(text, isWaiting = true, file) {
      const sent = await client.sendMessage({
        message: message(text, file),
        configuration: { blocking: isWaiting },
      });
      if (sent.kind !== 'task') throw new TypeError('it was answered with a message');
      return oldTask(sent);
    },
    stream: (text) => mapped(client.sendMessageStream({ message: message(text) }), oldEvent),
    resubscribe: (id) => mapped(client.resubscribeTask({ id }), oldEvent),
    get: async (id) => oldTask(await client.getTask({ id })),
    cancel: async (id) => oldTask(await client.cancelTask({ id })),
    async extensions() {
      const { capabilities } = await client.getAgentCard();
      return capabilities.extensions?.map(({ uri }) => uri) ?? [];
    },
  };
}

const oldFile = ({ name, mediaType, base64 }: SeenFile): old.FilePart => ({
  kind: 'file',
  file: { bytes: base64, ...(name && { name }), ...(mediaType && { mimeType: mediaType }) },
});

type OldEvent = old.Message | old.Task | old.TaskStatusUpdateEvent | old.TaskArtifactUpdateEvent;

function oldTask({ id, status, artifacts = [] }: old.Task): SeenTask {
  return { id, state: status.state, artifacts: artifacts.map(oldArtifact) };
}

function oldArtifact({ name, parts }: old.Artifact): SeenArtifact {
  const [part] = parts;
  if (part?.kind === 'file' && 'bytes' in part.file) {
    const { name: filename, mimeType, bytes } = part.file;
    return { name, text: undefined, file: { name: filename, mediaType: mimeType, base64: bytes } };
  }
  return { name, text: part?.kind === 'text' ? part.text : undefined };
}

function oldEvent(event: OldEvent): SeenEvent {
  if (event.kind === 'task') return { kind: 'task', task: oldTask(event) };
  if (event.kind === 'status-update') return { kind: 'status', state: event.status.state };
  if (event.kind === 'message') throw new TypeError('an event that is none of a task: message');
  return { kind: 'artifact', artifact: oldArtifact(event.artifact), append: event.append ?? false };
}
