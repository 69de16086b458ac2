import { randomUUID } from 'node:crypto';
import type { ApiClient, Service } from '@hermes-fleet/net/api';
import {
  FleetError,
  HANDSHAKE_EXTENSION,
  HANDSHAKE_MEDIA_TYPE,
  type JsonObject,
} from '@hermes-fleet/protocol';
import { FLEET } from '@hermes-fleet/protocol/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { tokenOf } from '../session/guard.ts';
import type { ApiOptions } from './options.ts';
import { readInput } from './query.ts';
import type { TaskParams } from './task-page.ts';

const DispatchBody = z.strictObject({ dispatch: z.record(z.string(), z.json()) });
const SEND_MESSAGE = {
  method: 'SendMessage',
  answer: z.object({ task: z.object({ id: z.string() }).optional() }),
};
const CANCEL_TASK = { method: 'CancelTask', answer: z.object({}) };
const AnswerBody = z.strictObject({ text: z.string().min(1, 'must not be empty').max(100_000) });

/** What a person does through the console, with the token of the session; the profiles decide what it may do. */
export function registerActions(scope: FastifyInstance, options: ApiOptions): void {
  const { client, entry } = options;
  scope.post('/api/route', async (request) => {
    const token = tokenOf(request);
    const { dispatch } = readInput(DispatchBody, request.body);
    return await client.call({ ...entry, token }, FLEET.route, { body: dispatch });
  });
  scope.post('/api/send', async (request, reply) => {
    const token = tokenOf(request);
    const { dispatch } = readInput(DispatchBody, request.body);
    const data = { mediaType: HANDSHAKE_MEDIA_TYPE, data: dispatch };
    const message = { parts: [data], extensions: [HANDSHAKE_EXTENSION] };
    const { task } = await send(client, { ...entry, token }, message);
    if (task === undefined)
      throw new FleetError('PEER_REFUSED', 'the profile has answered without a task: send a TASK_DISPATCH');
    return await reply.code(202).send({ profile: entry.name, id: task.id });
  });
  scope.post<{ Params: TaskParams }>('/api/tasks/:profile/:id/answer', async (request, reply) => {
    const { profile, id } = request.params;
    const service = serviceFor(request, profile, options);
    const { text } = readInput(AnswerBody, request.body);
    await send(client, service, { taskId: id, parts: [{ text, mediaType: 'text/plain' }] });
    return await reply.code(202).send({ profile, id });
  });
  scope.post<{ Params: TaskParams }>('/api/tasks/:profile/:id/cancel', async (request, reply) => {
    const { profile, id } = request.params;
    await client.rpc(serviceFor(request, profile, options), CANCEL_TASK, { id });
    return await reply.code(202).send({ profile, id });
  });
}

/** A profile with the token of the session. Throws TOKEN_NEEDED, and NOT_FOUND for one that console.yaml does not name. */
export function serviceFor(request: FastifyRequest, profile: string, { addresses }: ApiOptions): Service {
  const token = tokenOf(request);
  const address = addresses.get(profile);
  if (address) return { ...address, token };
  throw new FleetError('NOT_FOUND', `the console does not reach ${profile}: add it to console.profiles`);
}

const send = (client: ApiClient, profile: Service, message: JsonObject) =>
  client.rpc(profile, SEND_MESSAGE, {
    message: { messageId: randomUUID(), role: 'ROLE_USER', ...message },
    configuration: { returnImmediately: true },
  });
