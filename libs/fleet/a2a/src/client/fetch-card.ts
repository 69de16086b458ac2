import { AgentCard } from '@a2a-js/sdk';
import { readBounded } from '@hermes-fleet/net';
import { isJsonObject, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { createDeadline } from './deadline.ts';
import { fromLegacyCard } from './legacy.ts';
import { invalidAnswer, refusedBy } from './peer-errors.ts';
import { type CallOptions, MAX_ANSWER_BYTES, type TransportDeps, withNetworkErrors } from './transport.ts';

/** Fetches an agent card and reads it. Throws PEER_UNREACHABLE, PEER_REFUSED, or the reason of `signal`. */
export async function fetchCard(
  deps: Pick<TransportDeps, 'clock' | 'request' | 'fetch' | 'tlsKeys'>,
  url: string,
  read: (json: unknown) => AgentCard,
  { timeoutMs, signal }: CallOptions,
): Promise<AgentCard> {
  const name = new URL(url).host;
  const method = 'its agent card';
  const { tlsKeys } = deps;
  using deadline = createDeadline(deps.clock, timeoutMs, signal);
  return await withNetworkErrors({ name, url, tlsKeys, method, timeoutMs, deadline, signal }, async () => {
    const init = {
      signal: deadline.signal,
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
    };
    const response = await (deps.request ?? deps.fetch)(url, { ...init, method: 'GET' });
    const text = await readBounded(response, MAX_ANSWER_BYTES, () =>
      invalidAnswer(name, method, 'more than 4 MiB'),
    );
    if (response.status !== 200) {
      const retryAfter = response.headers.get('retry-after');
      throw refusedBy({
        peer: name,
        url,
        tlsKeys,
        method,
        status: response.status,
        retryAfter,
        error: errorIn(text),
      });
    }
    try {
      return read(JSON.parse(text));
    } catch {
      throw invalidAnswer(name, method, 'something that is not an agent card of A2A 1.0');
    }
  });
}

/** The `error` member of a body; undefined for one that is not JSON. */
function errorIn(text: string): unknown {
  const body = parseJson(text);
  return isJsonObject(body) ? body.error : undefined;
}

const Interface = z.looseObject({
  url: z.url({ protocol: /^https?$/ }),
  protocolBinding: z.string(),
  protocolVersion: z.string(),
});
const Card = z.looseObject({ name: z.string().min(1), supportedInterfaces: z.array(Interface) });

/** Reads a card of A2A 1.0; throws for anything else. */
export function readCard(json: unknown): AgentCard {
  return AgentCard.fromJSON(Card.parse(json));
}

const AnyCard = z.looseObject({ name: z.string().min(1), supportedInterfaces: z.array(z.unknown()) });

/** Reads a card of A2A 1.0 or 0.3 and keeps the interfaces that have an HTTP URL; throws for anything else. */
export function readAnyCard(json: unknown): AgentCard {
  const isLegacy = isJsonObject(json) && json.supportedInterfaces === undefined;
  const card = AnyCard.parse(isLegacy ? fromLegacyCard(json) : json);
  const supportedInterfaces = card.supportedInterfaces.flatMap(
    (each) => Interface.safeParse(each).data ?? [],
  );
  return AgentCard.fromJSON({ ...card, supportedInterfaces });
}
