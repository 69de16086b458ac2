/**
 * Sends a dispatch to switch with the A2A SDK's own client, follows its stream of events, and prints the result.
 *
 *   FLEET_TOKEN=$(make -s token) npx node examples/typescript/dispatch.ts
 */
import { randomUUID } from 'node:crypto';
import { type Artifact, Role, type SendMessageRequest, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';

const url = process.env.FLEET_URL ?? 'http://127.0.0.1:9219';
const token = process.env.FLEET_TOKEN;
if (!token) throw new Error('FLEET_TOKEN is not set: FLEET_TOKEN=$(make -s token)');
const requiredMcp = process.argv.slice(2);

const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${token}` }),
  shouldRetryWithHeaders: async () => undefined,
});
const transports = [new JsonRpcTransportFactory({ fetchImpl })];
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }),
);
const client = await factory.createFromUrl(url);

const contract = {
  type: 'TASK_DISPATCH',
  protocol_version: '2.0',
  // The same task_id with the same contract is the same task, however often it is sent.
  task: { task_id: `typescript-${randomUUID()}`, reply_schema: 'structured', token_budget: 20_000 },
  requirements: { required_mcp: requiredMcp, required_capabilities: ['terminal', 'file'] },
  routing: { target: 'auto' },
  brief: '```hello.txt\nHello from TypeScript.\n```\n\n```sh\ngrep -c TypeScript hello.txt\n```',
};
const request: SendMessageRequest = {
  tenant: '',
  metadata: undefined,
  configuration: undefined,
  message: {
    messageId: randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    metadata: undefined,
    extensions: ['urn:hermes-fleet:handshake:2'],
    referenceTaskIds: [],
    parts: [
      {
        content: { $case: 'data', value: contract },
        mediaType: 'application/vnd.hermes.handshake+json',
        metadata: undefined,
        filename: '',
      },
    ],
  },
};

/** The TASK_RESULT among the artifacts. */
const resultIn = (artifacts: readonly (Artifact | undefined)[]) =>
  artifacts
    .filter((artifact) => artifact?.name === 'task-result')
    .flatMap((artifact) => artifact?.parts ?? [])
    .map(({ content }) => (content?.$case === 'data' ? content.value : undefined))
    .find((data) => data !== undefined);

let result: ReturnType<typeof resultIn>;
for await (const { payload } of client.sendMessageStream(request)) {
  if (payload?.$case === 'task' || payload?.$case === 'statusUpdate')
    process.stdout.write(`state: ${TaskState[payload.value.status?.state ?? TaskState.UNRECOGNIZED]}\n`);
  if (payload?.$case === 'task') result ??= resultIn(payload.value.artifacts);
  if (payload?.$case === 'artifactUpdate') result ??= resultIn([payload.value.artifact]);
}
if (!result) throw new Error('the stream ended before the task: send the same dispatch again');
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.exitCode = result.status === 'done' ? 0 : 1;
