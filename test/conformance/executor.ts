import {
  type AdmittedTask,
  type Clock,
  type Executor,
  FleetError,
  type RunContext,
  type RunOutcome,
} from '@hermes-fleet/protocol';

/** The kit subscribes again to a task that runs for twice its own limit for streams, which is two seconds. */
const LONG_TASK_MS = 4_000;

type Behavior = (context: RunContext) => Promise<Partial<RunOutcome>>;

/** Texts that are also the artifact `text` of the task. */
const TEXTS: Readonly<Record<string, string>> = {
  'tck-complete-task': 'Hello from TCK',
  'tck-artifact-text': 'Generated text content',
  'tck-stream-artifact-text': 'Streamed text content',
  'tck-stream-ordering-001': 'Ordered output',
  'tck-stream-001': 'Stream hello from TCK',
  'tck-stream-003': 'Stream task lifecycle',
};

/** Behaviors that need artifacts of an executor's own, which RunContext does not offer. */
const NEEDS_ARTIFACTS = [
  'tck-artifact-file-url',
  'tck-artifact-file',
  'tck-artifact-data',
  'tck-stream-artifact-file',
];

/**
 * An executor that does what the official compatibility kit of A2A expects for the prefix of each message id, as its
 * `scenarios/*.feature` say. Any other message is completed with a text. `messageIdOf` returns the id of the message that
 * created a task. A behavior that an executor cannot have yet fails with UNSUPPORTED_OPERATION.
 */
export function createConformanceExecutor(options: {
  readonly messageIdOf: (taskId: string) => string;
  readonly clock: Pick<Clock, 'sleep'>;
}): Executor {
  const behaviors: readonly (readonly [prefix: string, Behavior])[] = [
    ...NEEDS_ARTIFACTS.map((prefix) => [prefix, () => Promise.reject(withoutArtifacts(prefix))] as const),
    ['tck-stream-artifact-chunked', say('chunk-1 ', 'chunk-2')],
    ...Object.entries(TEXTS).map(([prefix, text]) => [prefix, say(text)] as const),
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

/** Reports each text as it comes; together they are the text of the result. */
const say =
  (...texts: string[]): Behavior =>
  async (context) => {
    for (const text of texts) await context.report({ type: 'text', text });
    return { text: texts.join('') };
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

function withoutArtifacts(prefix: string): FleetError {
  return new FleetError(
    'UNSUPPORTED_OPERATION',
    `${prefix} needs artifacts of an executor's own; RunContext does not offer them`,
  );
}
