import { type AgentCard, buildAgentCard } from '@hermes-fleet/a2a';

/** An agent card that declares this extension, with these versions in its params; none without an extension. */
export function cardOf(extension: string | undefined, versions?: readonly string[]): AgentCard {
  const params = versions && { protocol_versions: [...versions] };
  return buildAgentCard({
    identity: '# Somebody\n\nAn agent.',
    url: 'http://somebody:1/jsonrpc',
    version: '0',
    extensions: extension === undefined ? [] : [{ uri: extension, ...(params ? { params } : {}) }],
    streaming: true,
    authRequired: false,
  });
}
