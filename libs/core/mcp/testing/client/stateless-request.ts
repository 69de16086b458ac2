import type { JsonObject } from '@hermes-fleet/protocol';

const REVISION = '2026-07-28';

/** The members of `_meta` by which a request of the revision 2026-07-28 describes its client. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
} as const;

/** A request of the revision 2026-07-28, and the headers that must agree with it; `name` is of a tool, prompt or resource. */
export function statelessRequest(id: number, method: string, params: JsonObject = {}, name?: string) {
  return [
    { jsonrpc: '2.0' as const, id, method, params: { ...params, _meta: { ...ENVELOPE } } },
    {
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
  ] as const;
}
