export { commitsOf } from './commits.ts';
export { freePort } from './free-port.ts';
export { type McpProfile, mcpFleet, serveMcp, tokenOf as mcpTokenOf } from './mcp-fleet.ts';
export { dispatching, inbound } from './messages.ts';
export { profile } from './profile.ts';
export { PREFERRED_FIRST, type RelayFleet, relayFleet, spending } from './relay-fleet.ts';
export { asking, CALLER, DONE, type Script, untilAborted } from './scripts.ts';
export type { ProfileOptions, TestProfile } from './test-profile.ts';
export { handshakeIn, rpc, sendHandshake, violations } from './wire.ts';
