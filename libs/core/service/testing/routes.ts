import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { AUTHORIZATION, JSON_TYPE } from './start-app.ts';

export const MIB = 1_048_576;

export const routes = (app: FastifyInstance): void => {
  app.post('/echo', async (request) => ({ caller: request.caller.name, body: request.body }));
  app.get('/throw', async () => {
    throw new Error('password hunter2 in /etc/shadow');
  });
  app.get('/fleet', async () => {
    throw new FleetError('INVALID_PARAMS', 'task.priority is wrong', {
      fields: [{ path: 'task.priority', reason: 'must be low, normal, high or urgent' }],
    });
  });
  app.get('/busy', async () => {
    throw new FleetError('QUEUE_FULL', 'the queue is full; try later', { retryAfterS: 2.2 });
  });
  app.get('/tasks/:id', async (request) => request.params);
  app.post(
    '/strict',
    {
      schema: {
        body: {
          type: 'object',
          required: ['name'],
          additionalProperties: false,
          properties: {
            name: { type: 'string' },
            count: { type: 'integer' },
            list: { type: 'array', items: { type: 'string' } },
          },
        },
      },
    },
    async (request) => request.body,
  );
};

export const post = (
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
): RequestInit => ({
  method: 'POST',
  body,
  headers: { ...AUTHORIZATION, ...JSON_TYPE, ...headers },
});
