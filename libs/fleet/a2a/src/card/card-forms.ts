import { AgentCard } from '@a2a-js/sdk';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

const TRANSPORT = 'JSONRPC';

/**
 * Returns the JSON of a card. `version` is the value of `A2A-Version`: with 1.0 or newer the JSON is the card of A2A 1.0
 * alone. Otherwise it also has the fields of A2A 0.3, because clients of 0.3 never send the version, and clients of 1.0
 * rarely do when they read a card (docs/handshake.md#agent-card).
 */
export function cardJson(card: AgentCard, version: string | undefined): JsonObject {
  // JSON.stringify alone would write security schemes in the SDK's internal form, which A2A clients cannot read.
  const json = AgentCard.toJSON(card);
  if (!isJsonObject(json)) throw new Error('the card is not a JSON object');
  return Number(/^\d+/.exec(version ?? '')?.[0] ?? 0) >= 1 ? json : { ...json, ...legacyFields(card) };
}

/** The fields that A2A 0.3 has and 1.0 lacks; each security scheme has both shapes, as clients refuse the other one. */
function legacyFields(card: AgentCard): JsonObject {
  const offered = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '0.3');
  const [main] = offered;
  if (main === undefined) return {};
  const schemes = Object.entries(card.securitySchemes).map(([name, { scheme }]): [string, JsonObject] => {
    if (scheme?.$case !== 'httpAuthSecurityScheme')
      throw new Error(`the security scheme "${name}" has no form in A2A 0.3`);
    const { scheme: http, description } = scheme.value;
    const current = { scheme: http, description };
    return [name, { type: 'http', ...current, httpAuthSecurityScheme: current }];
  });
  return {
    url: main.url,
    preferredTransport: TRANSPORT,
    protocolVersion: '0.3.0',
    supportsAuthenticatedExtendedCard: card.capabilities?.extendedAgentCard ?? false,
    additionalInterfaces: offered.map(({ url }) => ({ url, transport: TRANSPORT })),
    ...(schemes.length > 0 ? { securitySchemes: Object.fromEntries(schemes) } : {}),
    security: card.securityRequirements.map((requirement) =>
      Object.fromEntries(Object.entries(requirement.schemes).map(([name, { list }]) => [name, list])),
    ),
  };
}
