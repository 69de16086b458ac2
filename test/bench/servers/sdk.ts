import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { buildAgentCard } from '@hermes-fleet/a2a';
import express from 'express';

// The official SDK's Express server with its task store in memory. Every message becomes a completed Task with a result;
// there is no authentication, no log and no trace.

const card = buildAgentCard({
  identity: '# sdk\n\nbench',
  url: 'http://127.0.0.1/jsonrpc',
  version: '0',
  streaming: true,
  authRequired: false,
  extensions: [],
});
const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const value = { type: 'TASK_RESULT', status: 'done' };
    const part = {
      content: { $case: 'data', value },
      mediaType: '',
      filename: '',
      metadata: undefined,
    } as const;
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: {
          state: TaskState.TASK_STATE_COMPLETED,
          message: undefined,
          timestamp: new Date().toISOString(),
        },
        artifacts: [
          {
            artifactId: 'a',
            name: 'task-result',
            description: '',
            parts: [part],
            metadata: undefined,
            extensions: [],
          },
        ],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    bus.finished();
  },
  async cancelTask() {},
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use('/jsonrpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
process.once('SIGTERM', () => process.exit());
app.listen(Number(process.env.PORT), '127.0.0.1');
