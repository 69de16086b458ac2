import { TaskDispatchWire } from '@hermes-fleet/protocol/handshake';
import { fastify } from 'fastify';
import { z } from 'zod';

// A Fastify route that checks a dispatch with zod and answers; it keeps nothing, and asks for no token.

const Request = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.object({
    message: z.object({
      messageId: z.string(),
      role: z.string(),
      parts: z.array(z.object({ data: TaskDispatchWire, mediaType: z.string() })),
    }),
  }),
});

const app = fastify();
app.post('/jsonrpc', async (request) => {
  const { id, params } = Request.parse(request.body);
  const task = { id: params.message.messageId, status: { state: 'TASK_STATE_REJECTED' } };
  return { jsonrpc: '2.0', id, result: { task } };
});
process.once('SIGTERM', () => process.exit());
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
