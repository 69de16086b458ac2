import { isUtf8 } from 'node:buffer';
import { FleetError, isNestedDeeper, type JsonValue, MAX_NESTING } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';

/**
 * Decodes a JSON body. Throws PARSE_ERROR for invalid UTF-8 (RFC 8259, section 8.1): with replacement characters, two
 * different bodies could decode to the same text.
 */
export function bodyText(body: Buffer): string {
  if (isUtf8(body)) return body.toString('utf8');
  throw new FleetError('PARSE_ERROR', 'the body is not JSON: it is not UTF-8');
}

/** Parses the text of a body. Throws PARSE_ERROR. Its nesting is still to be checked. */
export function parseBody(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FleetError('PARSE_ERROR', 'the body is not JSON', { cause });
  }
}

/** Throws INVALID_REQUEST for a body that is nested deeper than MAX_NESTING. */
export function checkNesting(body: unknown): void {
  if (!isNestedDeeper(body)) return;
  const message = `the body is nested deeper than ${MAX_NESTING} levels; send flatter JSON`;
  throw new FleetError('INVALID_REQUEST', message);
}

/** Gives handlers in this scope the text of a JSON body as it arrived; `read` decodes it. Other types are refused. */
export function takeJsonAsText(scope: FastifyInstance, read: (body: Buffer) => string = bodyText): void {
  scope.removeAllContentTypeParsers();
  // Fastify passes on what `read` throws.
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body: Buffer, done) =>
    done(null, read(body)),
  );
}

/** Gives handlers of the app the value of a JSON body, at most MAX_NESTING levels deep, and takes no other type. */
export function takeJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    let parsed: { readonly error: Error | null; readonly value: unknown } | undefined;
    // It calls back at once, and catches what the callback throws.
    parse(request, bodyText(body), (error, value: unknown) => {
      parsed = { error, value };
    });
    checkNesting(parsed?.value);
    done(parsed?.error ?? null, parsed?.value);
  });
}

/** Leaves bodies of one type to handlers in this scope, which read `request.raw` and bound it. Other types are refused. */
export function leaveUnread(scope: FastifyInstance, type: string): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(type, (_request, _payload, done) => done(null));
}
