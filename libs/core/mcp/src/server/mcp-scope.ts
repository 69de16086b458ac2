import type { FleetError } from '@hermes-fleet/protocol';
import { takeJsonAsText, translateError } from '@hermes-fleet/service';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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

/** What clients that lack a token are told about POST /mcp. */
export interface ProtectedResource {
  /** A name to show to a person. */
  readonly name: string;
  /** The scopes of callers that its methods use. */
  readonly scopes: readonly string[];
  /** The URL at which the service is reached through a proxy; absent when clients reach it directly. */
  readonly publicUrl?: string | undefined;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/**
 * Serves the metadata of POST /mcp (OAuth 2.0 Protected Resource Metadata, RFC 9728): a bearer token is needed, which
 * the owner of the fleet hands out. There is no authorization server, so none is named.
 */
function registerProtectedResource(app: FastifyInstance, resource: ProtectedResource): void {
  const { name, scopes } = resource;
  // The host is one of the service's own, so the address that it makes leads here.
  for (const url of [WELL_KNOWN, `${WELL_KNOWN}/mcp`])
    app.get(url, { config: { public: true, ownHostsOnly: true } }, (request) => ({
      resource: `${originOf(request, resource)}/mcp`,
      resource_name: name,
      bearer_methods_supported: ['header'],
      scopes_supported: [...scopes],
    }));
}

/** Names the metadata in a 401 reply (RFC 9728, section 5.1). */
function challenge(request: FastifyRequest, reply: FastifyReply, resource: ProtectedResource): void {
  const metadata = `${originOf(request, resource)}${WELL_KNOWN}/mcp`;
  reply.header('www-authenticate', `Bearer resource_metadata="${metadata}"`);
}

/** The origin that the client used: a proxy may have ended its TLS. */
function originOf({ protocol, host }: FastifyRequest, { publicUrl }: ProtectedResource): string {
  const url = publicUrl === undefined ? undefined : new URL(publicUrl);
  return url?.host === host ? url.origin : `${protocol}://${host}`;
}
