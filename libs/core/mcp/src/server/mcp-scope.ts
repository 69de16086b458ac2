import type { FleetError } from '@hermes-fleet/protocol';
import { takeJsonAsText, translateError } from '@hermes-fleet/service';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { challenge, type ProtectedResource, registerProtectedResource } from './protected-resource.ts';
import { errorText, sendText } from './wire.ts';

export interface McpScopeOptions {
  /** Answers a request with this body; an empty text for none. */
  readonly answer: (request: FastifyRequest, reply: FastifyReply, text: string) => Promise<FastifyReply>;
  /** Called before a request that was refused before `answer` gets its error. */
  readonly onRefused?: (request: FastifyRequest, error: FleetError) => Promise<void>;
  /** Awaited when the app begins to close. */
  readonly onClosing?: () => Promise<void>;
  readonly resource: ProtectedResource;
}

/**
 * Registers POST /mcp in its own Fastify scope, with JSON-RPC errors and the text of the body as received, and the
 * metadata of it. Requests of foreign web pages are refused even with a token (docs/peering.md#hosts).
 */
export function registerMcpScope(app: FastifyInstance, options: McpScopeOptions): void {
  const { resource } = options;
  registerProtectedResource(app, resource);
  app.register(async (scope) => {
    takeJsonAsText(scope);
    scope.setErrorHandler(async (thrown, request, reply) => {
      const error = translateError(thrown, request, reply);
      if (error.code === 'UNAUTHENTICATED') challenge(request, reply, resource);
      await options.onRefused?.(request, error);
      return sendText(reply, error.httpStatus, errorText(null, error));
    });
    scope.addHook('preClose', async () => options.onClosing?.());
    scope.post('/mcp', { config: { ownHostsOnly: true } }, (request, reply) =>
      options.answer(request, reply, typeof request.body === 'string' ? request.body : ''),
    );
  });
}
