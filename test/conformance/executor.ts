import type {
  AdmittedTask,
  ArtifactPart,
  Clock,
  Executor,
  RunContext,
  RunOutcome,
} from '@hermes-fleet/protocol/ports';

/** The kit subscribes again to a task that runs for twice its own limit for streams, which is two seconds. */
const LONG_TASK_MS = 4_000;

const FILE = { name: 'output.txt', mediaType: 'text/plain' };

type Behavior = (context: RunContext) => Promise<Partial<RunOutcome>>;

/** What the executor adds as the one artifact of the task, part by part. */
const PRODUCTS: readonly (readonly [prefix: string, ...parts: ArtifactPart[]])[] = [
  ['tck-artifact-file-url', { kind: 'link', url: 'https://example.com/output.txt', ...FILE }],
  ['tck-artifact-file', { kind: 'file', base64: btoa('tck'), ...FILE }],
  ['tck-artifact-data', { kind: 'data', data: { key: 'value', count: 42 } }],
  ['tck-artifact-text', { kind: 'text', text: 'Generated text content' }],
  ['tck-stream-artifact-file', { kind: 'file', base64: btoa('tck'), ...FILE }],
  ['tck-stream-artifact-text', { kind: 'text', text: 'Streamed text content' }],
  ['tck-stream-artifact-chunked', { kind: 'text', text: 'chunk-1 ' }, { kind: 'text', text: 'chunk-2' }],
  ['tck-stream-ordering-001', { kind: 'text', text: 'Ordered output' }],
  ['tck-stream-001', { kind: 'text', text: 'Stream hello from TCK' }],
  ['tck-stream-003', { kind: 'text', text: 'Stream task lifecycle' }],
];

/**
 * An executor that does what the official compatibility kit of A2A expects for the prefix of each message id, as its
 * `scenarios/*.feature` say. Any other message is completed with a text. `messageIdOf` returns the id of the message that
 * created a task.
 */
export function createConformanceExecutor(options: {
  readonly messageIdOf: (taskId: string) => string;
  readonly clock: Pick<Clock, 'sleep'>;
}): Executor {
  const behaviors: readonly (readonly [prefix: string, Behavior])[] = [
    ...PRODUCTS.map(([prefix, ...parts]) => [prefix, produce(parts)] as const),
    ['tck-complete-task', async () => ({ text: 'Hello from TCK' })],
    ['tck-input-required', question],
    ['tck-reject-task', async () => ({ status: 'blocked', blockedReason: 'rejected' })],
    [
      'test-resubscribe-message-id',
      async ({ signal }) => {
        await options.clock.sleep(LONG_TASK_MS, signal);
        return {};
      },
    ],
  ];
  return {
    model: { id: 'conformance', tier: 'sonnet', contextWindow: 1_000_000 },
    async run({ id }: AdmittedTask, context: RunContext): Promise<RunOutcome> {
      const messageId = options.messageIdOf(id);
      const [, behavior] = behaviors.find(([prefix]) => messageId.startsWith(prefix)) ?? [];
      const outcome = (await behavior?.(context)) ?? { text: `completed ${messageId}` };
      return { ...DONE, ...outcome };
    },
  };
}

/** Adds each part as a chunk of the same artifact. */
const produce =
  (parts: readonly ArtifactPart[]): Behavior =>
  async ({ artifacts }) => {
    for (const [place, part] of parts.entries())
      await artifacts?.add({ id: 'output', place, parts: [part], isLast: place === parts.length - 1 });
    return {};
  };

const DONE: RunOutcome = {
  status: 'done',
  nextSteps: [],
  blockedReason: null,
  artifacts: { pr: null, filesChanged: [] },
};

async function question(context: RunContext): Promise<Partial<RunOutcome>> {
  return { text: await context.ask('What is missing?', { key: 'missing' }) };
}
