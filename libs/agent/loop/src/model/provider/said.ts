import { parseJson } from '@hermes-fleet/protocol';
import { APICallError, StreamProviderError } from 'ai';
import { z } from 'zod';
import { redacted } from '../../messages/redact.ts';
import { withoutSecrets } from './secrets.ts';

const MAX_CHARS = 300;

const Nested = z.object({ error: z.union([z.string(), z.looseObject({ message: z.string() })]) });
const Flat = z.union([z.object({ message: z.string() }), z.object({ detail: z.string() })]);

/**
 * What a provider said about a call that it did not carry out: the message in its JSON, in one line of at most 300
 * characters. `secrets` are cut out, and everything that looks like one. Undefined if it said nothing in words.
 */
export function saidBy(error: unknown, secrets: readonly string[]): string | undefined {
  const said = messageOf(error)?.replace(/\s+/g, ' ').trim();
  if (!said) return undefined;
  return redacted(withoutSecrets(said, secrets), MAX_CHARS);
}

function messageOf(error: unknown): string | undefined {
  if (StreamProviderError.isInstance(error)) return error.message;
  if (!APICallError.isInstance(error) || error.responseBody === undefined) return undefined;
  // Undefined for a page of a proxy: its status says as much.
  const body = parseJson(error.responseBody);
  const nested = Nested.safeParse(Array.isArray(body) ? body[0] : body).data?.error;
  if (nested !== undefined) return typeof nested === 'string' ? nested : nested.message;
  const flat = Flat.safeParse(body).data;
  return flat && ('message' in flat ? flat.message : flat.detail);
}
