import { AgentCard } from '@a2a-js/sdk';
import { isJsonObject, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { createDeadline } from './deadline.ts';
import { fromLegacyCard } from './legacy.ts';
import { invalidAnswer, refusedBy } from './peer-errors.ts';
import { type CallOptions, readText, type TransportDeps } from './transport.ts';

/** Fetches an agent card and reads it. Throws PEER_UNREACHABLE, PEER_REFUSED, or the reason of `signal`. */
export async function fetchCard(
  deps: Pick<TransportDeps, 'clock' | 'request' | 'fetch' | 'tlsKeys'>,
  url: string,
  read: (json: unknown) => AgentCard,
  { timeoutMs, signal }: CallOptions,
): Promise<AgentCard> {
  const called = { name: new URL(url).host, url, method: 'its agent card', tlsKeys: deps.tlsKeys };
  using deadline = createDeadline(deps.clock, called, timeoutMs, signal);
  return await deadline.during(async () => {
    const response = await (deps.request ?? deps.fetch)(url, {
      method: 'GET',
      signal: deadline.signal,
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
    });
    const { text, status, retryAfter } = await readText(called, response);
    if (status !== 200) {
      const body = parseJson(text);
      throw refusedBy(called, { status, retryAfter }, isJsonObject(body) ? body.error : undefined);
    }
    try {
      return read(JSON.parse(text));
    } catch {
      throw invalidAnswer(called, 'something that is not an agent card of A2A 1.0');
    }
  });
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
