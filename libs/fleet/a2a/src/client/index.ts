/** The client alone, which programs that serve nothing can load without the server. */

export { connectionFault, connectionRefusal } from '@hermes-fleet/net/tls';
export { EVENT_METADATA } from '../wire/event-metadata.ts';
export { type A2AClient, createA2AClient, jsonRpcUrl, type OutboundMessage } from './client.ts';
export type { DiscoveredAgent } from './discover.ts';
export { isAtPeer } from './fetch-file.ts';
export { peerErrorCode } from './peer-errors.ts';
export type { PeerArtifact, PeerPart } from './peer-part.ts';
export type { ListedTask, PeerReply, PeerTask } from './peer-task.ts';
export type { CallOptions, PeerEndpoint, SendRequest } from './transport.ts';
